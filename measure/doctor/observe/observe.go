package observe

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/prometheus/procfs"

	"hemera/measure/doctor"
	"hemera/measure/host"
	"hemera/measure/result"
)

// Options selects what to observe.
type Options struct {
	Root     string          // where /proc and /sys are; "/" for this machine
	Dirs     []string        // directories whose file systems are measured; none: all on local disks
	Size     int64           // bytes of the temporary file, at most
	For      time.Duration   // of each measurement
	Version  string          // of this program
	Cluster  *Cluster        // nil: no cluster
	Progress result.Progress // may be nil
}

// Defaults of Options. With them a machine with one disk takes about 20 s, one with four disks about a minute.
const (
	SizeDefault = 256 << 20
	ForDefault  = 1500 * time.Millisecond
)

// budget bounds the time of all file systems together. With many disks each gets less.
const budget = 75 * time.Second

// observer takes one snapshot. Only the goroutine of Take uses it: measurements have goroutines of their own, and return
// values.
type observer struct {
	Options
	s     *doctor.Snapshot // the snapshot so far
	total int              // steps, for the progress
	done  int              // finished steps
}

// Take takes a snapshot. Information that is not available is listed in Snapshot.Unseen; Take fails only when ctx ends.
func Take(ctx context.Context, o Options) (*doctor.Snapshot, error) {
	if o.Progress == nil {
		o.Progress = func(string, int, int, string) {}
	}
	// First the information that rules and measurements of all levels need.
	m := host.Describe(o.Root, "local")
	v := &observer{Options: o, s: &doctor.Snapshot{Schema: doctor.Schema, Taken: time.Now().UTC().Truncate(time.Second), Version: o.Version, Machine: m}}
	// A recorded tree has no devices: values of this machine do not belong to it.
	live := o.Root == "/"
	v.filesystems()
	v.total = len(v.s.Filesystems) + 4
	if _, ok := v.proc(); !ok {
		v.unseen("processor, memory, limits and interfaces", "nothing is mounted at "+v.Root+"proc", "mount -t proc proc /proc, and sysfs at /sys; or give the container both")
	}
	// Counters of the network are read before and after everything else.
	v.links()
	before := v.segments()
	v.processor()
	v.memory()
	v.limits()
	if live {
		v.clock()
		v.step("processor and memory")
		v.cores(ctx)
		v.files(ctx)
		v.together(ctx)
		v.step("TCP of this machine")
		v.local(ctx)
		v.coalescing(ctx)
		v.smart(ctx)
		if o.Cluster != nil {
			v.step("path to the cluster")
			v.s.Cluster = o.Cluster.probe(ctx)
		}
	}
	v.linksAgain()
	// Retransmissions of all programs: a lossy link shows even without a test of the cluster.
	after := v.segments()
	v.s.Network.Segments, v.s.Network.Retransmits = after[0]-before[0], after[1]-before[1]
	return v.s, ctx.Err()
}

// step reports the progress.
func (v *observer) step(format string, args ...any) {
	v.Progress("doctor", v.done, v.total, fmt.Sprintf(format, args...))
	v.done++
}

// unseen records missing information.
func (v *observer) unseen(what, why, remedy string) {
	v.s.Unseen = append(v.s.Unseen, doctor.Unseen{What: what, Why: why, Remedy: remedy})
}

// proc returns the tree of /proc; false if there is none.
func (v *observer) proc() (procfs.FS, bool) {
	fs, err := procfs.NewFS(v.Root + "/proc")
	return fs, err == nil
}

// segments returns the TCP segments that this machine has sent, and sent again, since the start.
func (v *observer) segments() (n [2]uint64) {
	fs, ok := v.proc()
	if !ok {
		return n
	}
	// Losses of received segments are counted by the other side.
	p, err := fs.Proc(1) // the counters are those of the network namespace, and the first process is in every tree
	if v.Root == "/" {
		p, err = fs.Self()
	}
	if err != nil {
		return n
	}
	if c, err := p.Snmp(); err == nil && c.OutSegs != nil && c.RetransSegs != nil {
		n = [2]uint64{uint64(*c.OutSegs), uint64(*c.RetransSegs)}
	}
	return n
}

// program runs a program for at most ten seconds and returns its output, also if it failed: smartctl reports findings by
// its exit code. missing is true if it is not installed.
func program(ctx context.Context, name string, args ...string) (out []byte, missing bool) {
	if _, err := exec.LookPath(name); err != nil {
		return nil, true
	}
	// With a failing disk smartctl may wait for minutes.
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, _ = exec.CommandContext(ctx, name, args...).Output() // #nosec G204 -- the names are fixed
	return out, false
}
