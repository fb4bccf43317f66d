package adminapi

import (
	"context"
	"time"

	"hemera/words/hemera"
)

// Benchmarker measures the namespace from within the manager (EOS: ns benchmark). Calls block for as long as the work
// takes, until ctx ends.
type Benchmarker interface {
	// Benchmark runs the phases in their order and tells about them through visit: the set-up first,
	// then how a phase goes, several times a second, and what came of it. It ends with visit's error,
	// if any; whatever it ends with, it has removed what it made, unless asked to keep it. Operations
	// that fail are counted and no error of its own. Exists when there is a benchmark's tree already,
	// Busy kinds (Overloaded) while another runs, Invalid when a number of the request makes no sense.
	Benchmark(ctx context.Context, who hemera.Identity, r BenchmarkRequest, visit func(BenchmarkUpdate) error) error
	// CleanBenchmark removes what an interrupted run left below the prefix, after waiting for one that
	// is under way. Only entries of a benchmark's shape are touched; NotEmpty if others are among them.
	CleanBenchmark(ctx context.Context, who hemera.Identity, prefix string) error
}

// BenchmarkRequest is the shape of a run: Threads workers, each with Subdirs directories of Files
// empty files of its own, below Prefix/benchmark.
type BenchmarkRequest struct {
	Threads, Subdirs, Files int
	Prefix                  string
	// Relaxed has answers not wait for the disk. For measuring only.
	Relaxed bool `json:",omitempty"`
	// Keep leaves the tree of a run that was interrupted.
	Keep bool `json:",omitempty"`
	// Series asks for latencies over time.
	Series bool `json:",omitempty"`
}

// BenchmarkUpdate is one thing to tell: exactly one of the fields is set.
type BenchmarkUpdate struct {
	Setup    *BenchmarkSetup    `json:",omitempty"`
	Progress *BenchmarkProgress `json:",omitempty"`
	Result   *BenchmarkResult   `json:",omitempty"`
}

// BenchmarkSetup has the conditions of the figures besides the shape.
type BenchmarkSetup struct {
	Cores  int // that the manager may use
	Disks  int // that take new files
	Nodes  int
	Layout hemera.Layout // of new files in the default space
}

// BenchmarkProgress is the progress of a phase.
type BenchmarkProgress struct {
	Phase       string
	Done, Total int64
	Rate        float64 // operations per second, lately
}

// BenchmarkResult is the result of a phase: mkdir, create, exists, read, write, deletion. Main is about files (mkdir:
// directories); phases that do both have Dirs too, over the same time.
type BenchmarkResult struct {
	Phase   string
	Started time.Duration // since the run began
	Time    time.Duration // from the start of all workers to the end of the last
	// CPU is the time that the manager's process spent meanwhile, on all its threads, for all its work; zero when it was
	// measured from outside.
	CPU      time.Duration `json:",omitempty"`
	Main     BenchmarkOps
	Dirs     *BenchmarkOps      `json:",omitempty"`
	Failures []BenchmarkFailure `json:",omitempty"` // the first distinct ones
	Series   []BenchmarkPoint   `json:",omitempty"`
}

// BenchmarkOps counts operations of one kind. Latencies are of those that succeeded.
type BenchmarkOps struct {
	Ops                 int64 // that succeeded
	Errors              int64
	P50, P99, P999, Max time.Duration
}

// BenchmarkFailure is one way in which operations failed.
type BenchmarkFailure struct {
	Text, Remedy string
}

// BenchmarkPoint is the latencies of one stretch of a phase.
type BenchmarkPoint struct {
	At, Width     time.Duration // At is since the phase began
	Ops           int64
	P50, P99, Max time.Duration
}
