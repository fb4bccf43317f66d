package host

import (
	"path/filepath"
	"time"

	"github.com/prometheus/procfs"

	"hemera/words/errs"
)

// Process has the resources that a process has used since its start.
type Process struct {
	User, System time.Duration // with ended threads, without children
	Resident     int64         // bytes in memory now
	Peak         int64         // bytes in memory at most
	Threads      int
}

// ReadProcess reads /proc/PID below root. It fails with NotFound if the process has ended.
func ReadProcess(root string, pid int) (Process, error) {
	fs, err := procfs.NewFS(filepath.Join(root, "proc"))
	var p procfs.Proc
	var stat procfs.ProcStat
	var status procfs.ProcStatus
	if err == nil {
		p, err = fs.Proc(pid)
	}
	if err == nil {
		stat, err = p.Stat()
	}
	if err == nil {
		status, err = p.NewStatus()
	}
	if err != nil {
		return Process{}, errs.Wrap(err, "host.ReadProcess", root)
	}
	return Process{
		User: ticks(stat.UTime), System: ticks(stat.STime), Threads: stat.NumThreads,
		Resident: int64(status.VmRSS), Peak: int64(status.VmHWM), // #nosec G115 -- of memory
	}, nil
}

// ticks returns the duration of a number of ticks.
func ticks(n uint) time.Duration { return time.Duration(n) * (time.Second / TickRate) } // #nosec G115 -- of one process
