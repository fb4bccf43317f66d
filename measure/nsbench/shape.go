package nsbench

import (
	"path"
	"strconv"
	"strings"

	"hemera/words/adminapi"
	"hemera/words/errs"
)

// Bounds of a shape. ThreadsMax is CERN's; the others prevent runs of days after a typing error.
const (
	ThreadsMax = 1024
	filesMax   = 100_000_000
	lanesMax   = 1 << 12
)

// Shape is the size of a run and where its tree is: Base/worker.<i>/d.<j>/f.<k>.
type Shape struct {
	Threads, Subdirs, Files int    // directories of each thread, files of each directory
	Base                    string // removed at the end
	// Depth is the number of concurrent operations of a worker; zero means one.
	Depth int
}

// ShapeOf returns the shape of a request. It fails with Invalid for unusable numbers.
func ShapeOf(r adminapi.BenchmarkRequest) (Shape, error) {
	s := Shape{Threads: r.Threads, Subdirs: r.Subdirs, Files: r.Files, Depth: 1}
	var err error
	if s.Base, err = BaseOf(r.Prefix); err != nil {
		return s, err
	}
	return s, s.Check()
}

// BaseOf returns the directory of a run with the prefix; an empty prefix is the root.
func BaseOf(prefix string) (string, error) {
	if prefix == "" {
		prefix = "/"
	}
	if !strings.HasPrefix(prefix, "/") {
		return "", invalid(prefix, "the prefix is no absolute path")
	}
	return path.Join(prefix, "benchmark"), nil
}

// Check fails with Invalid for numbers that are not usable or probably typing errors.
func (s Shape) Check() error {
	of := func(n int, what string) string { return strconv.Itoa(n) + " " + what }
	switch {
	case s.Threads < 1 || s.Threads > ThreadsMax:
		return invalid(of(s.Threads, "threads"), "want 1 to 1024")
	case s.Subdirs < 1 || s.Subdirs > filesMax:
		return invalid(of(s.Subdirs, "subdirectories"), "want 1 or more, and at most 100,000,000 files in all")
	case s.Files < 1 || s.Files > filesMax/s.Subdirs/s.Threads:
		return invalid(of(s.Files, "files"), "want 1 or more, and at most 100,000,000 in all")
	case s.Depth < 1 || s.Depth > 256 || s.Depth*s.Threads > lanesMax:
		return invalid("depth "+strconv.Itoa(s.Depth), "want 1 to 256, and at most 4096 for all threads")
	}
	return nil
}

// invalid makes the error about a number or a prefix.
func invalid(subject, text string) error {
	return errs.New(errs.Invalid, "nsbench.Benchmark", subject, text)
}

// Paths are by worker and by the number of the item within the worker.

// worker returns the directory of a worker. The second argument is ignored: paths have the signature of step.path.
func (s Shape) worker(w, _ int) string { return s.Base + "/worker." + strconv.Itoa(w) }

// dir returns a directory of a worker.
func (s Shape) dir(w, j int) string { return s.worker(w, 0) + "/d." + strconv.Itoa(j) }

// file returns a file of a worker; files fill one directory after the other.
func (s Shape) file(w, n int) string {
	return s.dir(w, n/s.Files) + "/f." + strconv.Itoa(n%s.Files)
}
