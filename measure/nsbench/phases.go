package nsbench

import (
	"context"
	"errors"
	"path"

	"hemera/words/errs"
)

// Target is the object of a run for one worker. Calls of one worker come one after the other, or up to its depth at once,
// from different goroutines. An operation returns nil when its effect is visible and durable, and not before.
type Target interface {
	// Mkdir makes a directory. It fails with Exists if the name exists.
	Mkdir(ctx context.Context, path string) error
	// Create creates an empty file. It fails with Exists if the name exists.
	Create(ctx context.Context, path string) error
	// Read opens a file for reading, and Write for changing; neither leaves anything open. Only the Write of a [Releaser]
	// leaves a lock.
	Read(ctx context.Context, path string) error
	Write(ctx context.Context, path string) error
	// Remove removes a file, Rmdir an empty directory.
	Remove(ctx context.Context, path string) error
	Rmdir(ctx context.Context, path string) error
	Close() error
}

// Releaser is a target whose Write leaves the file locked. Release frees the lock; it is called for each file when the
// phase has been measured. A missing lock is no error.
type Releaser interface {
	Release(ctx context.Context, path string) error
}

// phase is the work of all workers between two readings of the clock. All workers end a phase before any begins the next.
type phase struct {
	name  string // name in CERN's tool
	steps []step
}

// step is one operation on each of a worker's items. The steps of a worker follow one another; the items of a step may
// overlap, up to the depth.
type step struct {
	items int                                         // of each worker
	path  func(worker, item int) string               // path of the operation
	do    func(Target, context.Context, string) error // the operation
	count counted                                     // the count to which it belongs
}

// counted selects the count of the result for an operation.
type counted uint8

const (
	asMain    counted = iota // the main operations of the phase
	asDirs                   // operations on directories beside it
	uncounted                // only part of the phase's time and failures
	counts
)

// writePhase is the phase after which locks may be freed.
const writePhase = "write"

// phases returns CERN's phases, in their order. The base directory is made before the workers start, and removed after
// them.
func (s Shape) phases() []phase {
	files := s.Subdirs * s.Files
	return []phase{
		{"mkdir", []step{{1, s.worker, Target.Mkdir, uncounted}, {s.Subdirs, s.dir, Target.Mkdir, asMain}}},
		{"create", []step{{files, s.file, Target.Create, asMain}}},
		{"exists", []step{{s.Subdirs, s.dir, refused(Target.Mkdir), asDirs}, {files, s.file, refused(Target.Create), asMain}}},
		{"read", []step{{files, s.file, Target.Read, asMain}}},
		{writePhase, []step{{files, s.file, Target.Write, asMain}}},
		{"deletion", []step{{files, s.file, Target.Remove, asMain}, {s.Subdirs, s.dir, Target.Rmdir, asDirs}, {1, s.worker, Target.Rmdir, asDirs}}},
	}
}

// Phases returns the names of the phases in their order.
func Phases() (names []string) {
	for _, p := range (Shape{}).phases() {
		names = append(names, p.name)
	}
	return names
}

// refused repeats an operation that has been done: it succeeds if the target fails with Exists.
func refused(do func(Target, context.Context, string) error) func(Target, context.Context, string) error {
	return func(t Target, ctx context.Context, name string) error {
		err := do(t, ctx, name)
		switch {
		case errors.Is(err, errs.Exists):
			return nil
		case err == nil:
			return errs.New(errs.Internal, "nsbench.Benchmark", name, "was made a second time")
		}
		return err
	}
}

// total returns the number of counted operations in the phase, of all threads.
func (p phase) total(threads int) (n int64) {
	for _, st := range p.steps {
		if st.count != uncounted {
			n += int64(st.items)
		}
	}
	return n * int64(threads)
}

// has reports whether the phase counts directories beside its main count.
func (p phase) has(c counted) bool {
	for _, st := range p.steps {
		if st.count == c {
			return true
		}
	}
	return false
}

// taken returns the error for a base that exists already. A benchmark never removes the files of another one.
func taken(base string, cause error) error {
	return &errs.Error{
		Kind: errs.Exists, Op: "nsbench.Benchmark", Subject: base, Cause: cause, Text: "it is there already",
		Remedy: "if an interrupted run left it, remove it with `" + cleanCommand(base) + "`; else choose another prefix",
	}
}

// cleanCommand returns the command that removes a run's tree.
func cleanCommand(base string) string {
	command := "hemera ns benchmark --clean"
	if prefix := path.Dir(base); prefix != "/" {
		command += " " + prefix
	}
	return command
}
