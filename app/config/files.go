package config

import "golang.org/x/sys/unix"

// OpenFilesMax is the number of files that this process may have open at a time. At its start the Go runtime raises
// the soft limit to the hard one.
func OpenFilesMax() int64 {
	const unknown, most = 1024, 1 << 30
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return unknown
	}
	return int64(min(limit.Cur, most))
}
