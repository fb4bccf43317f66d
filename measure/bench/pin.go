package bench

import (
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cores are the processors that something may run on; empty for all.
type cores []int

// split gives servers and clients processors of their own, if there are enough.
func split() (servers, clients cores) {
	var have unix.CPUSet
	if unix.SchedGetaffinity(0, &have) != nil {
		return nil, nil
	}
	var list cores
	for i := range 1024 {
		if have.IsSet(i) {
			list = append(list, i)
		}
	}
	if len(list) < 4 {
		return nil, nil
	}
	return list[:2], list[2:4]
}

// set is the set for sched_setaffinity.
func (c cores) set() *unix.CPUSet {
	var s unix.CPUSet
	for _, i := range c {
		s.Set(i)
	}
	return &s
}

// String is the list as taskset takes it.
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
func (c cores) command(argv ...string) []string {
	if len(c) == 0 {
		return argv
	}
	return append([]string{"taskset", "-c", c.String()}, argv...)
}

// hold binds the calling goroutine to a thread on the cores for the rest of its life.
func (c cores) hold() {
	runtime.LockOSThread()
	if len(c) > 0 {
		_ = unix.SchedSetaffinity(0, c.set())
	}
}

// cpuTime is the CPU clock of a process: nanoseconds of all its threads, also those that ended.
func cpuTime(pid int) (time.Duration, error) {
	const schedClock = 2 // CPUCLOCK_SCHED
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedClock), &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
