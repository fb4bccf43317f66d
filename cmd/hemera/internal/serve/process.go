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

// stopPatience is how long a node that is stopping waits for writes under way. systemd kills what has not ended after 90
// s.
// The rest of the 90 s is for closing the disks.
const stopPatience = time.Minute

// heapFloor is the size in bytes of an allocation that is never touched, so it takes no memory. It makes Go's collector
// wait until as much garbage has come. Without it a server with a small heap collects after every few megabytes, which
// takes a quarter of the CPU time of opens. The size is the one of 32 to 80 MiB with the least memory under load: with less
// the collector runs in the middle of a burst, when most is in use, and the heap grows from there.
const heapFloor = 80 << 20

// limitMemory sets the soft memory limit of the runtime by the manager's cache, unless GOMEMLIMIT is set.
// The limit is soft: the collector works harder near it, and nothing fails. package resources has the arithmetic.
func limitMemory(l *config.Loaded) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(resources.MemoryLimit(int64(l.Cache.Namespace)))
	}
}

// addProcessors doubles GOMAXPROCS, unless the environment sets it. Half of the processors stay with pollers even while
// these wait in the kernel (package poll). Without the other half, a goroutine that a disk wakes would wait for one of
// these. Without the event loop there are no pollers.
func addProcessors(l *config.Loaded) {
	if l.Connections.EventLoop && os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
	}
}

// keepPrivate gives the files of a server to its own user alone: pieces hold the data of users whose modes may forbid
// others to read it.
// It is process-wide and comes before the first file is made.
func keepPrivate() { syscall.Umask(0o077) }

// serve runs a server until it ends, and logs why. Meanwhile SIGHUP has it read its settings again.
// It blocks until run returns. Its error is that of run.
func (v *live) serve(ctx context.Context, run func() error) error {
	log := v.log
	defer v.followHangups(ctx)()
	// Never read or written, so the kernel gives it no pages.
	floor := make([]byte, heapFloor)
	defer runtime.KeepAlive(floor)
	defer context.AfterFunc(ctx, func() { log.Info("stopping", "why", context.Cause(ctx)) })()
	// The error is printed by the command, so it is not logged twice.
	err := run()
	log.Info("stopped")
	return err
}
