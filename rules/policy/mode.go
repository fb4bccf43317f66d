package policy

import (
	"fmt"
	"strconv"

	"hemera/words/errs"
)

// AttrMode is the mode of new entries below a directory, in octal, whatever their clients ask for. Directories get this
// mode; files get it without the bits to execute.
const AttrMode = "sys.forced.mode"

// usualMode is the largest mode of an entry whose client names none.
const usualMode = 0o755

// Mode returns the mode of a new entry. wished is the client's, ok says whether it has one; parent is the mode of the
// directory that gets the entry. Without a wish and an attribute, all users may read the entry as far as they may read
// the directory; the owner may read and write, and search a directory. It fails with Invalid.
func Mode(sys map[string][]byte, wished uint32, ok bool, parent uint32, directory bool) (uint32, error) {
	var mode uint32
	most, least := uint32(0o666), uint32(0o600)
	if directory {
		most, least = 0o777, 0o700
	}
	forced := string(sys[AttrMode])
	switch {
	case forced != "":
		n, err := parseMode(AttrMode, forced)
		if err != nil {
			return 0, err
		}
		mode = n & most
	case ok:
		return wished, nil
	default:
		mode = usualMode & parent & most
	}
	return mode | least, nil
}

// parseMode reads permission bits in octal; name is the attribute that has them.
func parseMode(name, text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 8, 32) // 0o and 0x are not octal digits, so they are refused
	if err != nil || n > 0o777 {
		return 0, errs.New(errs.Invalid, "policy.Mode", name, fmt.Sprintf("%q is no mode", text)).WithRemedy("write it in octal, from 700 to 777")
	}
	return uint32(n), nil
}
