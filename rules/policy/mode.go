package policy

import (
	"fmt"
	"strconv"

	"hemera/words/errs"
)

// AttrMode is the mode of new entries below a directory, in octal and whatever their clients ask for: a
// directory's; files get it without the bits to execute.
const AttrMode = "sys.forced.mode"

// usualMode is what an entry gets at most whose client gives no mode.
const usualMode = 0o755

// Mode is the mode of a new entry. wished is the client's, ok whether it has one; parent is the mode of the
// directory that the entry is made in. Without a wish and an attribute all may read, as far as they may read the
// directory, and the owner may read and write, and search a directory. Invalid.
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
	n, err := strconv.ParseUint(text, 8, 32) // 0o and 0x are not octal digits, and refused
	if err != nil || n > 0o777 {
		return 0, errs.New(errs.Invalid, "policy.Mode", name, fmt.Sprintf("%q is no mode", text)).WithRemedy("write it in octal, from 700 to 777")
	}
	return uint32(n), nil
}
