package serve

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"hemera/process/config"
	"hemera/process/resources"
)

// stopPatience bounds the wait of a stopping node for writes that have begun. systemd kills a process 90 s after it asked
// it to stop; the rest of this time is for closing the disks.
const stopPatience = time.Minute

// heapFloor is the size in bytes of an allocation that is never touched, so it takes no memory. It makes Go's collector
// wait until as much garbage has come. Without it a server with a small heap collects after every few megabytes, which
// takes a quarter of the CPU time of opens. Of 32 to 80 MiB, this size needs the least memory under load: with less, the
// collector runs during a burst, when most memory is in use, and the heap grows from there.
const heapFloor = 80 << 20

// limitMemory sets the soft memory limit of the Go runtime from the size of the manager's cache, unless GOMEMLIMIT is
// set. Near a soft limit the collector works harder; no allocation fails. Package resources computes the limit.
func limitMemory(l *config.Loaded) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(resources.MemoryLimit(int64(l.Cache.Namespace)))
	}
}

// addProcessors doubles GOMAXPROCS, unless the environment sets it. Pollers (package poll) keep half of the processors
// even while they wait in the kernel; without the other half, a goroutine that a disk wakes would wait for a poller.
// Without the event loop there are no pollers, and addProcessors does nothing.
func addProcessors(l *config.Loaded) {
	if l.Connections.EventLoop && os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
	}
}

// keepPrivate sets the umask of the process so that only the server's user can read its files: pieces hold data of users
// whose modes may forbid others to read it. It is called before the first file is made.
func keepPrivate() { syscall.Umask(0o077) }

// serve runs a server, logs why it ended, and returns the error of run. Until then it reads the settings again on each
// SIGHUP.
func (v *live) serve(ctx context.Context, run func() error) error {
	log := v.log
	defer v.followHangups(ctx)()
	// The allocation is never read or written, so the kernel gives it no pages.
	floor := make([]byte, heapFloor)
	defer runtime.KeepAlive(floor)
	defer context.AfterFunc(ctx, func() { log.Info("stopping", "why", context.Cause(ctx)) })()
	// The command prints the error, so it is not logged here.
	err := run()
	log.Info("stopped")
	return err
}
