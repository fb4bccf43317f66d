package host

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Process is what a process has used since its start. The difference of two readings is what it used between them.
type Process struct {
	User, System time.Duration // with the threads that ended, without children
	Resident     int64         // bytes in memory now
	Peak         int64         // bytes in memory at most
	Threads      int
}

// ReadProcess reads /proc/PID below root. NotFound if the process has ended.
func ReadProcess(root string, pid int) (Process, error) {
	dir := fmt.Sprintf("proc/%d/", pid)
	stat, err := read(root, dir+"stat")
	if err != nil {
		return Process{}, err
	}
	p, err := ParseProcess(stat)
	if err != nil {
		return Process{}, err
	}
	status, err := read(root, dir+"status")
	if err != nil {
		return Process{}, err
	}
	p.Resident, _ = kilobytes(status, "VmRSS") // a thread of the kernel has none
	p.Peak, _ = kilobytes(status, "VmHWM")
	return p, nil
}

// ParseProcess parses the text of /proc/PID/stat: the times and the threads.
func ParseProcess(text string) (Process, error) {
	// The name of the program is in brackets, and may have brackets and spaces.
	end := strings.LastIndexByte(text, ')')
	fields := strings.Fields(text[end+1:])
	const state = 3 // the number of the first field behind the name, in proc(5)
	if end < 0 || len(fields) <= 20-state {
		return Process{}, malformed("host.ParseProcess", text)
	}
	var v [3]uint64
	for i, field := range []int{14, 15, 20} { // utime, stime, num_threads
		n, err := strconv.ParseUint(fields[field-state], 10, 32)
		if err != nil {
			return Process{}, malformed("host.ParseProcess", text)
		}
		v[i] = n
	}
	return Process{User: ticks(v[0]), System: ticks(v[1]), Threads: int(v[2])}, nil // #nosec G115 -- 32 bits
}

// ticks is the duration of a number of ticks.
func ticks(n uint64) time.Duration { return time.Duration(n) * (time.Second / TickRate) } // #nosec G115 -- 32 bits
