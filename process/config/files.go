package config

import "golang.org/x/sys/unix"

// OpenFilesMax is the number of files that this process may have open at a time. At its start the Go runtime raises
// the soft limit to the hard one.
// Bounds of connections and of open pieces are parts of it. A kernel that does not
// tell is taken to allow 1024, and no more than 2^30 is believed, so that sums cannot overflow.
func OpenFilesMax() int64 {
	const unknown, most = 1024, 1 << 30
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return unknown
	}
	return int64(min(limit.Cur, most))
}
