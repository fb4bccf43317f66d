package hemera

import (
	"fmt"
	"strings"
)

// PartPrefix and PartSuffix are around the name of a file that a copy has not finished: .NAME.hemera-part, beside the file.
const (
	PartPrefix = "."
	PartSuffix = ".hemera-part"
)

// WholeName returns the name that a copy is for, by the name of its part. ok is false if the name is not that of a part, or if
// it may be a shortened one: then nobody knows the whole name.
func WholeName(part string) (name string, ok bool) {
	name, first := strings.CutPrefix(part, PartPrefix)
	name, last := strings.CutSuffix(name, PartSuffix)
	return name, first && last && name != "" && len(part) < NameMax-2
}

// OfDirectory reports whether a clean path ends in a slash, which says that it is of a directory; see [Names]. The root is
// one anyway.
func OfDirectory(path string) bool { return len(path) > 1 && strings.HasSuffix(path, "/") }

// PlainPath returns a clean path without the slash at its end: the form in which paths are kept and compared.
func PlainPath(path string) string {
	if OfDirectory(path) {
		return path[:len(path)-1]
	}
	return path
}

// CheckName refuses what is no name of an entry: one rule, whichever door a name comes through. A name has 1 to
// [NameMax] bytes, is neither "." nor "..", and holds no slash, no question mark and no control character, with
// which a listing would show what is not there.
func CheckName(name string) error {
	switch {
	case name == "" || name == "." || name == "..":
		return fmt.Errorf("%q is no name", name)
	case len(name) > NameMax:
		return fmt.Errorf("a name has at most %d bytes, not %d", NameMax, len(name))
	}
	for i := range len(name) {
		if name[i] == '/' {
			return fmt.Errorf("%.60q: a name holds no slash", name)
		}
		if name[i] == '?' {
			return fmt.Errorf("%.60q: a name holds no question mark, which ends the path in a URL", name)
		}
		if name[i] < ' ' || name[i] == 0x7f || name[i] == 0xc2 && i+1 < len(name) && name[i+1] < 0xa0 { // the last: U+0080 to U+009F
			return fmt.Errorf("%.60q: a name may not have control characters, such as tabs and newlines", name)
		}
	}
	return nil
}
