package host

import (
	"slices"
	"strings"
)

// Mount is a line of mountinfo.
type Mount struct {
	At, Kind, Source string   // where, which file system, from which device
	Device           string   // MAJOR:MINOR
	Options          []string // of the mount and of the file system, sorted
}

// ParseMounts parses the text of /proc/self/mountinfo. It skips malformed lines. The later of two mounts at one place hides the
// earlier.
func ParseMounts(text string) (list []Mount) {
	for l := range strings.Lines(text) {
		head, tail, ok := strings.Cut(l, " - ")
		h, t := strings.Fields(head), strings.Fields(tail)
		if !ok || len(h) < 6 || len(t) < 3 {
			continue
		}
		// ID parent device root at options… - kind source options
		m := Mount{At: unescape(h[4]), Device: h[2], Kind: t[0], Source: unescape(t[1]), Options: slices.Concat(strings.Split(h[5], ","), strings.Split(t[2], ","))}
		// Options of the mount and of the file system repeat each other.
		slices.Sort(m.Options)
		m.Options = slices.Compact(m.Options)
		list = slices.DeleteFunc(list, func(o Mount) bool { return o.At == m.At })
		list = append(list, m)
	}
	return list
}

// unescape replaces the octal escapes of mountinfo: space, tab, newline and backslash.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// Holding returns the mount that an absolute path is in.
func Holding(list []Mount, path string) (best Mount, ok bool) {
	for _, m := range list {
		inside := path == m.At || strings.HasPrefix(path, strings.TrimSuffix(m.At, "/")+"/")
		// The longest is the innermost; the later of equals hides the earlier.
		if inside && len(m.At) >= len(best.At) {
			best, ok = m, true
		}
	}
	return best, ok
}
