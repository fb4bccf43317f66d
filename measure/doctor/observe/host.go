package observe

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hemera/measure/doctor"
	"hemera/measure/host"
)

// memory reads the memory of the machine.
func (v *observer) memory() {
	// The memory that programs can get without swapping matters, not the free memory.
	if m, err := host.ReadMemory(v.Root); err == nil {
		v.s.Memory.Total, v.s.Memory.Available = m.Total, m.Available
	}
	fs, ok := v.proc()
	if !ok {
		return
	}
	if m, err := fs.Meminfo(); err == nil && m.SwapTotalBytes != nil && m.SwapFreeBytes != nil {
		v.s.Memory.SwapUsed = int64(*m.SwapTotalBytes - min(*m.SwapFreeBytes, *m.SwapTotalBytes)) // #nosec G115 -- sizes of memory
	}
}

// clock asks the kernel whether its clock is synchronised.
func (v *observer) clock() {
	// A request that changes nothing: Modes is 0.
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		v.unseen("state of the clock", err.Error(), "")
		return
	}
	// The kernel keeps the error that the service reported last, and increases it.
	v.s.Clock = doctor.Clock{Synchronised: state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0, Error: time.Duration(t.Maxerror) * time.Microsecond}
	if !v.s.Clock.Synchronised {
		v.unseen("accuracy of the clock", "no NTP service told the kernel", "systemctl enable --now chronyd; with a cluster at --url its clock is compared")
	}
}

// limits reads the limits of processes: this one, its control group, and the servers of Hemera that run here.
func (v *observer) limits() {
	fs, ok := v.proc()
	if !ok {
		return
	}
	l := &v.s.Limits
	// In a recorded tree the first process stands for all.
	self, err := fs.Self()
	if v.Root != "/" {
		self, err = fs.Proc(1)
	}
	if err == nil {
		if have, err := self.Limits(); err == nil {
			l.Files = bounded(have.OpenFiles)
		}
		if v.Root == "/" {
			var own unix.Rlimit
			if unix.Getrlimit(unix.RLIMIT_NOFILE, &own) == nil { // the hard limit: Go programs raise the soft one to it
				l.Files = bounded(own.Max)
			}
		}
	}
	v.group()
	// Servers of Hemera that run here; their descriptors are visible to their user and to root.
	all, err := fs.AllProcs()
	if err != nil {
		return
	}
	for _, p := range all {
		// A command of a user, such as this one, is not a server.
		name, _ := p.Comm()
		line, _ := p.CmdLine()
		server := len(line) > 1 && slices.ContainsFunc(line[1:], func(w string) bool { return w == "up" || w == "manager" || w == "node" })
		if name != "hemera" || !server || len(l.Processes) == 64 {
			continue
		}
		// Processes may end meanwhile.
		open, err := p.FileDescriptorsLen()
		have, cause := p.Limits()
		if err == nil && cause == nil {
			l.Processes = append(l.Processes, doctor.Process{PID: p.PID, Open: open, FilesMax: bounded(have.OpenFiles)})
		}
	}
}

// bounded converts a limit to a signed number.
func bounded(n uint64) int64 { return int64(min(n, math.MaxInt64)) } // #nosec G115 -- bounded

// group reads the memory of this control group, of version 2 or else 1.
func (v *observer) group() {
	text, _ := host.Text(v.Root, "proc/self/cgroup")
	// Hybrid systems list both versions; the one with the memory controller counts.
	l := &v.s.Limits
	for line := range strings.Lines(text) {
		// number:controllers:path
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[1] == "memory": // version 1
			at := path.Join("sys/fs/cgroup/memory", parts[2])
			v.groupMemory(at+"/memory.limit_in_bytes", at+"/memory.usage_in_bytes", at+"/memory.stat", "total_cache")
			l.Killed = v.killed(at + "/memory.oom_control")
		case parts[0] == "0" && l.MemoryMax == 0: // version 2
			at := path.Join("sys/fs/cgroup", parts[2])
			v.groupMemory(at+"/memory.max", at+"/memory.current", at+"/memory.stat", "file")
			l.Killed = max(l.Killed, v.killed(at+"/memory.events"))
		}
	}
}

// groupMemory reads a limit, and the use without the page cache, which the kernel can reclaim.
func (v *observer) groupMemory(limit, used, stat, cache string) {
	// The root group has no such files, and only the machine's bound.
	most, ok := host.Number(v.Root, limit)
	now, known := host.Number(v.Root, used)
	if !ok || !known || most <= 0 || v.s.Memory.Total > 0 && most > v.s.Memory.Total {
		return // "max", or a number beyond the machine's memory
	}
	text, _ := host.Text(v.Root, stat)
	v.s.Limits.MemoryMax, v.s.Limits.MemoryUsed = most, max(0, now-value(text, cache))
}

// killed returns the number of processes of a group that were killed for lack of memory.
func (v *observer) killed(file string) int64 {
	// Kernels before 4.19 do not count it.
	text, _ := host.Text(v.Root, file)
	return value(text, "oom_kill")
}

// value returns the number in the line "key number", or 0.
func value(text, key string) int64 {
	for l := range strings.Lines(text) {
		if f := strings.Fields(l); len(f) == 2 && f[0] == key {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n
		}
	}
	return 0
}
