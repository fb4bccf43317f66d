package serve

import (
	"context"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"hemera/app/config"
	"hemera/app/resources"
)

// stopPatience is how long a node that is stopped waits for the writes under way to end: less than the 90 s after
// which systemd kills what it stops.
const stopPatience = time.Minute

// heapFloor is memory that is never touched and so never there; it makes the collector wait until as
// much garbage has come. A server with a small heap would collect after every few megabytes otherwise,
// which is a quarter of the CPU of opens.
const heapFloor = 64 << 20

// limitMemory bounds the heap by the manager's cache, unless the environment has set a limit.
func limitMemory(l *config.Loaded) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(resources.MemoryLimit(int64(l.Cache.Namespace)))
	}
}

// addProcessors doubles what Go's scheduler takes for processors, unless the environment says how many
// there are. Half of them stay with pollers, also while these wait in the kernel (package link); with
// none besides, who waits for a disk has to wait for one of these too.
func addProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
	}
}

// keepPrivate has all files of a server made for its own user alone: pieces are users' files, whatever their modes say.
func keepPrivate() { syscall.Umask(0o077) }

// serve runs a server until it ends, and leaves in the log why it did.
func serve(ctx context.Context, log *slog.Logger, run func() error) error {
	floor := make([]byte, heapFloor)
	defer runtime.KeepAlive(floor)
	defer context.AfterFunc(ctx, func() { log.Info("stopping", "why", context.Cause(ctx)) })()
	err := run()
	log.Info("stopped")
	return err
}
