package cluster

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// Setting documents one key of SetDisk, SetNode or SetSpace.
type Setting struct{ Of, Key, Values, Help string }

// Settings lists every key an admin can set, for help texts. Keys of spaces are also taken with
// EOS's prefix "space.".
func Settings() []Setting {
	return append([]Setting{
		{"fs", "configstatus", "rw|ro|drain|off", "use fully; read only; move every piece elsewhere; not at all"},
		{"fs", "space", "<name>", "the space the disk belongs to; pieces it holds stay"},
		{"fs", "zone", "<name>|-", "failure domain of this disk; - for its node's"},
		{"fs", "errors", "0", "forget the checksum and I/O errors counted so far"},
		{"node", "status", "on|off", "off takes the node's disks out of use without repairing around them"},
		{"node", "zone", "<name>|-", "failure domain of the node; - for what the node says"},
		{"space", "define", "on", "make the space"},
		{"space", "policy.layout", "plain|replica:<n>|rs:<k>+<m>|stripe:<n>|lrc:<k>+<l>+<g>|raid5|raid6|raiddp|archive|qrain", "layout of new files; a name without numbers takes policy.nstripes next"},
		{"space", "policy.nstripes", "1..32", "all pieces of new files together: copies, or data and parity"},
		{"space", "policy.blocksize", "auto|64k..16M", "block size of new files in coded layouts; auto: 1M"},
		{"space", "policy.checksum", "none|adler32|crc32c|…", "checksum of new files"},
		{"space", "policy.minpieces", "auto|1..32", "sealed pieces an acknowledged close needs; auto: all while a spare disk exists, else one fewer than there are disks, at least one"},
		{"space", "policy.sync", "on|off", "fdatasync each piece before it counts as sealed"},
		{"space", "policy.recycle", "<time>[,<size>]|off", "how long and how much of removed and replaced files is kept, as in 30d,10T; sys.recycle of a directory overrides it"},
		{"space", "headroom", "auto|<bytes>[K|M|G|T]", "kept free on every disk; auto: 1 % of the disk, at most 1 GiB"},
	}, balancerSettings...)
}

// balancerSettings are the keys of [Settings] about the balancing of a space. EOS has the first two, with the prefix "space.",
// which all keys of spaces may have.
var balancerSettings = []Setting{
	{"space", "balancer", "on|off", "move pieces from disks that are too full to others, and pieces of a file apart that share a node or a zone"},
	{"space", "balancer.threshold", "auto|1..50", "percent by which a disk's filling may differ from the space's mean; auto: 5"},
	{"space", "balancer.rate", "auto|<bytes>[K|M|G|T]", "bytes per second that balancing moves from a disk, and to one; auto: 50M"},
}

// validName reports whether s may name a space or be part of a zone: 1 to 64 letters, digits, dots, dashes and
// underscores.
func validName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, r := range s {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_", r) {
			return false
		}
	}
	return true
}

// settings returns all keys of one noun, for error texts.
func settings(of string) (keys []string) {
	for _, s := range Settings() {
		if s.Of == of {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// unknownKey refuses a key of a noun (fs, node, space) and lists those that there are.
func unknownKey(of, key string) *errs.Error {
	return errs.New(errs.Invalid, "cluster.Set", key, "no such key; known are "+strings.Join(settings(of), ", "))
}

// invalid refuses a value and says which ones the key takes.
func invalid(of, key, value string) *errs.Error {
	for _, s := range Settings() {
		if s.Of == of && s.Key == key {
			e := errs.New(errs.Invalid, "cluster.Set", key, fmt.Sprintf("%q is not one of %s", value, s.Values))
			if value == "" && strings.HasSuffix(s.Values, "|-") {
				return e.WithRemedy("for none: " + key + "=-")
			}
			return e
		}
	}
	return unknownKey(of, key)
}

// noSuchSpace returns the error for a space that does not exist. It names the command that makes one.
func noSuchSpace(op string, name hemera.SpaceName) *errs.Error {
	return errs.New(errs.NotFound, op, "space "+string(name), "no such space").
		WithRemedy("see `hemera space ls`, or make it with `hemera space set " + string(name) + " define=on`")
}

// onOff reads a switch.
func onOff(of, key, value string) (bool, error) {
	switch value {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, invalid(of, key, value)
}

// number reads a count of 1 to most.
func number(of, key, value string, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > most {
		return 0, invalid(of, key, value)
	}
	return n, nil
}

// zoneValue reads a zone, parts with "::" between them from the largest to the smallest. "-" is no zone of its own.
func zoneValue(of, value string) (string, error) {
	// The empty string would be hard to tell from a value that was forgotten.
	if value == "-" {
		return "", nil
	}
	for _, part := range strings.Split(value, "::") {
		if !validName(part) {
			return "", invalid(of, "zone", value)
		}
	}
	return value, nil
}

// size reads bytes with an optional decimal suffix; auto is zero.
func size(key, value string) (int64, error) {
	if value == "auto" {
		return 0, nil
	}
	digits := strings.TrimRight(value, "KMGT")
	unit := map[string]int64{"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[value[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 64)
	// unit is 0 for a suffix of two letters, such as KM, which trimming took off as a whole.
	if err != nil || n < 0 || unit == 0 || n > math.MaxInt64/unit {
		return 0, invalid("space", key, value)
	}
	return n * unit, nil
}
