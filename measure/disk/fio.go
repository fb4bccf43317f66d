package disk

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hemera/measure/tool"
	"hemera/words/errs"
)

// readFile is the file of a place that is read. It is written before the first step.
const readFile = "read"

// args returns the arguments of fio for a step. fio runs all sections at once, and reports them as one.
func (s step) args(size int64, longest time.Duration) []string {
	list := append(common(), "--invalidate=1", fmt.Sprintf("--runtime=%dms", longest.Milliseconds()), "--direct="+strconv.Itoa(truth(s.mode == direct)))
	// Data in the page cache are read once and written once: see the package's doc.
	if s.mode == direct || s.load == RandRead || s.load == RandWrite {
		list = append(list, "--time_based")
	}
	if !s.writes() {
		list = append(list, "--readonly")
	}
	// Sections inherit all of the above.
	for _, p := range s.places {
		list = append(list, s.sections(p, min(size, p.size))...)
	}
	return list
}

// common returns the arguments of every run.
func common() []string {
	return []string{
		"--output-format=json", "--eta=never", "--group_reporting", "--percentile_list=50:99",
		// Threads start faster than processes, and a clock that needs no calibration saves 0.1 s a run.
		"--thread", "--clocksource=clock_gettime",
		// One plain system call for each request, and random places that differ from run to run.
		"--ioengine=psync", "--randrepeat=0", "--norandommap",
		// Blocks are allocated when they are written, as in a copy.
		"--fallocate=none",
	}
}

// truth returns the value of a switch of fio.
func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// writes reports whether the step changes anything.
func (s step) writes() bool { return s.load != Read && s.load != RandRead }

// sections returns the jobs of one place. size is the size of all streams together.
func (s step) sections(p place, size int64) (list []string) {
	jobs := fmt.Sprintf("--numjobs=%d", s.streams)
	// Streams of one file each have a part of it, in whole requests.
	part := size / int64(s.streams) / blockSequential * blockSequential
	// A thread requests one block after the other.
	block := blockSequential
	if s.test == testReadAhead {
		block = blockSweep
	}
	parts := []string{jobs, fmt.Sprintf("--bs=%d", block), fmt.Sprintf("--size=%d", part)}
	spread := fmt.Sprintf("--offset_increment=%d", part)
	place := "--filename=" + escaped(p.file())
	if s.load == Read || s.load == Both {
		list = append(list, "--name=read", "--rw=read", place, spread)
		list = append(list, parts...)
	}
	// A device has no files, so its streams write where others read.
	switch {
	case (s.load == Write || s.load == Both) && p.isDevice():
		list = append(list, "--name=write", "--rw=write", place, spread, "--end_fsync=1")
		list = append(list, parts...)
	case s.load == Write || s.load == Both:
		// A new file for each stream, removed after its fsync.
		list = append(list, "--name=write", "--rw=write", "--directory="+escaped(p.dir), "--filename_format=write.$jobnum", "--unlink=1", "--end_fsync=1")
		list = append(list, parts...)
	case s.load == RandRead || s.load == RandWrite:
		list = append(list, "--name=random", "--rw="+s.load, place, jobs, fmt.Sprintf("--bs=%d", blockRandom), fmt.Sprintf("--size=%d", size/blockSequential*blockSequential))
		if s.load == RandWrite {
			list = append(list, "--end_fsync=1")
		}
	}
	return list
}

// layOut returns the arguments that write the file to read in a directory, with data that does not compress.
func layOut(dir string, size int64) []string {
	return append(common(), "--name=layout", "--rw=write", "--filename="+escaped(filepath.Join(dir, readFile)), fmt.Sprintf("--bs=%d", blockSequential),
		fmt.Sprintf("--size=%d", size), "--refill_buffers", "--end_fsync=1")
}

// escaped escapes a path for fio, where a colon separates two files.
func escaped(path string) string { return strings.ReplaceAll(path, ":", `\:`) }

// outcome has the values of a report of fio.
type outcome struct {
	read, written flow
	took          time.Duration // of the longer direction
	cpu           time.Duration // user and system time of all threads
}

// flow is one direction.
type flow struct {
	bytes, ops int64
	rate       float64 // B/s
	opRate     float64 // 1/s
	p50, p99   float64 // s, of one request from its submission to its end
}

// flowJSON is the report of fio 3 for a direction. Latencies are in nanoseconds.
type flowJSON struct {
	Bytes   int64   `json:"io_bytes"`
	Rate    float64 `json:"bw_bytes"`
	OpRate  float64 `json:"iops"`
	Ops     int64   `json:"total_ios"`
	Runtime int64   `json:"runtime"` // ms
	Latency struct {
		Percentile map[string]float64 `json:"percentile"`
	} `json:"clat_ns"`
}

// parse parses the output of a run of a load with --group_reporting; version is the program's version, for errors. It
// skips notes that fio writes before or after the report. It fails with Invalid if there is no report of fio 3, or no
// values of a direction of the load, and with IO if requests failed.
func parse(out []byte, version, load string) (outcome, error) {
	var report struct {
		Version string `json:"fio version"`
		Jobs    []struct {
			Error   int      `json:"error"`
			Read    flowJSON `json:"read"`
			Write   flowJSON `json:"write"`
			User    float64  `json:"usr_cpu"`     // % of Runtime
			System  float64  `json:"sys_cpu"`     // % of Runtime
			Runtime float64  `json:"job_runtime"` // ms, of all threads together
		} `json:"jobs"`
	}
	invalid := func(why string) error { return errs.New(errs.Invalid, "disk.Parse", "fio "+version, why) }
	if err := tool.Report(out, "fio version", &report); err != nil {
		return outcome{}, invalid("it wrote no report that can be read")
	}
	version = strings.TrimPrefix(report.Version, "fio-")
	// Earlier versions have other units under the same names.
	if major, _, _ := strings.Cut(version, "."); major < "3" && len(major) == 1 || len(report.Jobs) != 1 {
		return outcome{}, invalid("its report is not that of fio 3 with one group")
	}
	// errno of the first request that failed.
	j := report.Jobs[0]
	if j.Error != 0 {
		return outcome{}, errs.New(errs.IO, "disk.Parse", "fio", fmt.Sprintf("requests failed, errno %d", j.Error))
	}
	reads, writes := load == Read || load == RandRead || load == Both, load == Write || load == RandWrite || load == Both
	if reads && j.Read.Rate <= 0 || writes && j.Write.Rate <= 0 {
		return outcome{}, invalid("its report does not tell the rate of load " + load)
	}
	return outcome{
		read: j.Read.flow(), written: j.Write.flow(),
		took: time.Duration(max(j.Read.Runtime, j.Write.Runtime)) * time.Millisecond,
		cpu:  time.Duration((j.User + j.System) / 100 * j.Runtime * float64(time.Millisecond)),
	}, nil
}

// flow converts the direction to the units of a result.
func (f flowJSON) flow() flow {
	return flow{bytes: f.Bytes, ops: f.Ops, rate: f.Rate, opRate: f.OpRate, p50: f.Latency.Percentile["50.000000"] / 1e9, p99: f.Latency.Percentile["99.000000"] / 1e9}
}
