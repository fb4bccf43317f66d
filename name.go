package hemera

import "fmt"

// CheckName refuses what is no name of an entry: one rule, whichever door a name comes through. A name has 1 to
// [NameMax] bytes, is neither "." nor "..", and holds no slash and no control character, with which a listing
// would show what is not there.
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
		if name[i] < ' ' || name[i] == 0x7f {
			return fmt.Errorf("%.60q: a name may not have control characters, such as tabs and newlines", name)
		}
	}
	return nil
}
