package load

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"hemera/measure/host"
	"hemera/words/errs"
)

// clientCPU returns the processor time of this process and of the drivers that have ended.
func clientCPU() (total time.Duration) {
	// Children count when they have been waited for.
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			total += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return total
}

// serverCPU returns the processor time of the processes. It fails with NotFound if one does not run.
func serverCPU(pids []int) (total time.Duration, err error) {
	for _, pid := range pids {
		p, err := host.ReadProcess("/", pid)
		if err != nil {
			return 0, errs.Wrap(err, "load.CPU", strconv.Itoa(pid))
		}
		total += p.User + p.System
	}
	return total, nil
}

// dropCaches drops the page cache of this machine. It fails with Denied without root.
func dropCaches() error {
	unix.Sync() // only clean pages are dropped
	return errs.Wrap(os.WriteFile("/proc/sys/vm/drop_caches", []byte("1\n"), 0), "load.DropCaches", "/proc/sys/vm/drop_caches")
}
