package config

import "golang.org/x/sys/unix"

// OpenFilesMax returns the number of files that this process may have open at a time. At its start the Go runtime raises
// the soft limit to the hard one. Bounds of connections and of open pieces are parts of it. If the kernel does not report
// a limit, it returns 1024. It returns at most 2^30, so that sums cannot overflow.
func OpenFilesMax() int64 {
	const unknown, most = 1024, 1 << 30
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return unknown
	}
	return int64(min(limit.Cur, most))
}
