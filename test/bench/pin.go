package bench

import (
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cores are the processors that something may run on; empty for all.
// Servers and clients that share cores take time from each other, and the faster server pays for its client.
type cores []int

// split gives servers and clients processors of their own, if there are enough.
// With fewer than four cores all share all of them.
func split() (servers, clients cores) {
	var have unix.CPUSet
	// The process may itself be confined, by taskset or a container.
	if unix.SchedGetaffinity(0, &have) != nil {
		return nil, nil
	}
	var list cores
	for i := range 1024 { // the size of a CPUSet
		if have.IsSet(i) {
			list = append(list, i)
		}
	}
	if len(list) < 4 {
		return nil, nil
	}
	return list[:2], list[2:4]
}

// set returns the set for sched_setaffinity.
func (c cores) set() *unix.CPUSet {
	var s unix.CPUSet
	for _, i := range c {
		s.Set(i)
	}
	return &s
}

// String returns the list as taskset takes it.
func (c cores) String() string {
	if len(c) == 0 {
		return "any"
	}
	var b strings.Builder
	for i, n := range c {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// command puts taskset before a command.
// Children inherit it, so all threads of a server are bound.
func (c cores) command(argv ...string) []string {
	if len(c) == 0 {
		return argv
	}
	return append([]string{"taskset", "-c", c.String()}, argv...)
}

// hold binds the calling goroutine to a thread on the cores for the rest of its life.
// The thread ends with its goroutine, because it is never unlocked.
func (c cores) hold() {
	runtime.LockOSThread()
	if len(c) > 0 {
		// A failure leaves the thread where it was: the figures are noisier, not wrong.
		_ = unix.SchedSetaffinity(0, c.set())
	}
}

// cpuTime returns the CPU clock of a process: nanoseconds of all its threads, also those that ended.
// Clocks of processes are made of the pid: the complement of it, shifted by three, and the kind of clock
// (clock_getcpuclockid in the C library).
func cpuTime(pid int) (time.Duration, error) {
	const schedClock = 2 // CPUCLOCK_SCHED
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedClock), &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
