package host

import (
	"strconv"
	"strings"
)

// Memory is a reading of /proc/meminfo, in bytes.
type Memory struct {
	Total     int64
	Available int64 // what programs can get without swapping
	Cached    int64 // the page cache
	Dirty     int64 // of it, not yet on disks
}

// ReadMemory reads /proc/meminfo below root.
func ReadMemory(root string) (Memory, error) {
	text, err := read(root, "proc/meminfo")
	if err != nil {
		return Memory{}, err
	}
	return ParseMemory(text)
}

// ParseMemory parses the text of /proc/meminfo. Invalid if it does not say MemTotal.
func ParseMemory(text string) (Memory, error) {
	m := Memory{Total: -1}
	// Old kernels lack MemAvailable; 0 then.
	for key, field := range map[string]*int64{"MemTotal": &m.Total, "MemAvailable": &m.Available, "Cached": &m.Cached, "Dirty": &m.Dirty} {
		if n, ok := kilobytes(text, key); ok {
			*field = n
		}
	}
	if m.Total < 0 {
		return Memory{}, malformed("host.ParseMemory", "/proc/meminfo")
	}
	return m, nil
}

// kilobytes finds the line "key:  n kB" and returns n in bytes.
func kilobytes(text, key string) (int64, bool) {
	for l := range strings.Lines(text) {
		name, value, ok := strings.Cut(l, ":")
		if !ok || name != key {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 53)
		return n << 10, err == nil && n >= 0
	}
	return 0, false
}
