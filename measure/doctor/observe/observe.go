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

// Options are what to observe.
type Options struct {
	Root     string          // where /proc and /sys are; "/" for this machine
	Dirs     []string        // directories whose file systems are measured; none: all on local disks
	Size     int64           // bytes of the temporary file, at most
	For      time.Duration   // of each measurement
	Version  string          // of this program
	Cluster  *Cluster        // nil to ask no cluster
	Progress result.Progress // may be nil
}

// Defaults of Options: with them a machine with one disk takes about 20 s, one with four disks about a minute.
const (
	SizeDefault = 256 << 20
	ForDefault  = 1500 * time.Millisecond
)

// budget bounds the time of all file systems together. With many disks each gets less.
const budget = 75 * time.Second

// observer takes one snapshot. Its own methods see the processor, memory, clock and limits. Only the goroutine of Take uses it: measurements
// have goroutines of their own, and return figures.
type observer struct {
	Options
	s     *doctor.Snapshot // what is seen so far
	total int              // steps, for the progress
	done  int              // of them
}

// Take takes a snapshot. What cannot be seen is in Snapshot.Unseen; Take fails only when ctx ends.
func Take(ctx context.Context, o Options) (*doctor.Snapshot, error) {
	if o.Progress == nil {
		o.Progress = func(string, int, int, string) {}
	}
	// What is the same for all levels comes first, because rules and measurements ask for it.
	m := host.Describe(o.Root, "local")
	v := &observer{Options: o, s: &doctor.Snapshot{Schema: doctor.Schema, Taken: time.Now().UTC().Truncate(time.Second), Version: o.Version, Machine: m}}
	// A recorded tree has no devices: figures of this machine do not belong to it.
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
	// Retransmits of all programs: a lossy link shows even if the cluster was not asked.
	after := v.segments()
	v.s.Network.Segments, v.s.Network.Retransmits = after[0]-before[0], after[1]-before[1]
	return v.s, ctx.Err()
}

// step tells the progress.
func (v *observer) step(format string, args ...any) {
	v.Progress("doctor", v.done, v.total, fmt.Sprintf(format, args...))
	v.done++
}

// unseen notes what could not be seen.
func (v *observer) unseen(what, why, remedy string) {
	v.s.Unseen = append(v.s.Unseen, doctor.Unseen{What: what, Why: why, Remedy: remedy})
}

// proc is the tree of /proc; false if there is none.
func (v *observer) proc() (procfs.FS, bool) {
	fs, err := procfs.NewFS(v.Root + "/proc")
	return fs, err == nil
}

// segments are the segments that TCP of this machine has sent, and sent again, since the start.
func (v *observer) segments() (n [2]uint64) {
	fs, ok := v.proc()
	if !ok {
		return n
	}
	// Received segments tell of the other side's losses, which it sees itself.
	p, err := fs.Proc(1) // the counters are of the network namespace, and the first process is in every tree
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

// program runs a program of the machine for at most ten seconds and returns what it printed, also if it failed: smartctl says by its exit code
// what it found. missing is true if it is not installed.
func program(ctx context.Context, name string, args ...string) (out []byte, missing bool) {
	if _, err := exec.LookPath(name); err != nil {
		return nil, true
	}
	// A disk that fails may let smartctl wait for minutes.
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, _ = exec.CommandContext(ctx, name, args...).Output() // #nosec G204 -- the names are fixed
	return out, false
}
