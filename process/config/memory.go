package config

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// CacheLeast is the smallest cache.namespace with which a manager of 100 million files works well: it then has a few
// hundred MiB of indexes in memory at a time, and the process stays below 2 GiB.
const CacheLeast = 256 << 20

// cacheShare is the divisor of the machine's memory for the default of cache.namespace. The rest is for the kernel, which
// caches the files of the store, and for other processes.
const cacheShare = 4

// cacheDefault returns the default for a machine with that much memory, in bytes. It is in whole MiB so that it reads
// well. On a machine with less than 1 GiB it is more than a quarter.
func cacheDefault(memory int64) Bytes {
	return Bytes(max(CacheLeast, memory/cacheShare>>20<<20))
}

// MachineMemory returns the machine's memory or, if that is less, the limit of the process's control group. If the kernel
// does not report it, it is 1 GiB. Swap does not count.
func MachineMemory() int64 {
	total := int64(1 << 30)
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		total = int64(info.Totalram) * int64(info.Unit)
	}
	return groupLimit("/", total)
}

// groupLimit returns the smallest memory limit of the process's control groups and those around them, or total if that is
// smaller. /proc and /sys are below root (cgroups(7), both versions).
func groupLimit(root string, total int64) int64 {
	groups, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		// Version 2 has one hierarchy, whose line has no controllers; version 1 has one for memory. A group without
		// a limit has the word max, which is not a number, or in version 1 a number that is larger than any memory.
		mount, file := "sys/fs/cgroup", "memory.max"
		if controllers := strings.Split(parts[1], ","); parts[1] != "" {
			if !slices.Contains(controllers, "memory") {
				continue
			}
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for group := filepath.Clean("/" + parts[2]); ; group = filepath.Dir(group) {
			text, err := os.ReadFile(filepath.Join(root, mount, group, file))
			if err == nil {
				if limit, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil && limit > 0 {
					total = min(total, limit)
				}
			}
			// Groups around it count as well: any of them may have the smallest limit. In a container the path may not
			// exist; then only the existing ones are read.
			if group == "/" {
				break
			}
		}
	}
	return total
}
