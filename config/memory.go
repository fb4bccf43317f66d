package config

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// CacheLeast is the smallest cache.namespace with which a manager of 100 million files works well: a
// few hundred MiB of indexes are in it then at a time, and the process stays below 2 GiB.
const CacheLeast = 256 << 20

// cacheShare is the part of the machine's memory that cache.namespace is by default.
const cacheShare = 4

// cacheDefault follows the memory of the machine, in whole MiB so that it reads well.
func cacheDefault(memory int64) Bytes {
	return Bytes(max(CacheLeast, memory/cacheShare>>20<<20))
}

// MachineMemory is the machine's memory or, if that is less, what the process's control group allows.
func MachineMemory() int64 {
	total := int64(1 << 30)
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		total = int64(info.Totalram) * int64(info.Unit)
	}
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if limit, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil && limit > 0 {
			total = min(total, limit)
		}
	}
	return total
}
