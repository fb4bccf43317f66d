package nsbench

import (
	"context"
	"errors"
	"path"

	"hemera/words/errs"
)

// Target is what a run is made against, for one worker. Calls of one worker come one after the other, or up to its
// depth at once, from different goroutines. An operation returns nil when it has happened, and not before: what is
// visible and durable counts, not what was asked for.
type Target interface {
	// Mkdir makes a directory. Exists.
	Mkdir(ctx context.Context, path string) error
	// Create makes an empty file that was not there. Exists.
	Create(ctx context.Context, path string) error
	// Read opens a file to read, and Write to change it; neither leaves anything open. A lock is left
	// by the Write of a [Releaser] only.
	Read(ctx context.Context, path string) error
	Write(ctx context.Context, path string) error
	// Remove removes a file, Rmdir an empty directory.
	Remove(ctx context.Context, path string) error
	Rmdir(ctx context.Context, path string) error
	Close() error
}

// Releaser is a target whose Write leaves the file locked. Release, which is called for each file when
// the phase has been measured, gives the lock back; it is no error when there is none.
type Releaser interface {
	Release(ctx context.Context, path string) error
}

// phase is what all workers do between two readings of the clock. No worker begins a phase before all have ended
// the one before.
type phase struct {
	name  string // as CERN's tool calls it
	steps []step
}

// step is one operation on each of a worker's items. The steps of a worker follow one another; the items of a step
// may overlap, up to the depth.
type step struct {
	items int                                         // of each worker
	path  func(worker, item int) string               // that the operation is about
	do    func(Target, context.Context, string) error // the operation
	count counted                                     // what it counts as
}

// counted is which count of the result an operation belongs to.
type counted uint8

const (
	asMain    counted = iota // what the phase is about
	asDirs                   // directories beside it
	uncounted                // part of the phase's time, and of its failures, only
	counts
)

// writePhase is the one after which locks may be given back.
const writePhase = "write"

// phases are CERN's, in their order. The base directory is made before and removed after the workers.
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

// refused repeats an operation that has been done: it succeeds if the target refuses with Exists.
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

// total is the number of counted operations in the phase, of all threads.
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

// taken is the refusal to run where a tree exists already. A benchmark never removes what another one made.
func taken(base string, cause error) error {
	return &errs.Error{
		Kind: errs.Exists, Op: "nsbench.Benchmark", Subject: base, Cause: cause, Text: "it is there already",
		Remedy: "if an interrupted run left it, remove it with `" + cleanCommand(base) + "`; else choose another prefix",
	}
}

// cleanCommand is the command that removes a run's tree.
func cleanCommand(base string) string {
	command := "hemera ns benchmark --clean"
	if prefix := path.Dir(base); prefix != "/" {
		command += " " + prefix
	}
	return command
}
