package nsbench

import (
	"context"
	"errors"
	"path"
	"runtime"
	"strings"
	"syscall"
	"time"

	"hemera/platform/turn"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Inside the manager a run calls the same services as the doors, with the identity of the admin that started it. Network
// and protocol are left out: clients measure them with a Target that is a session.

// ServiceOptions has the manager's services that a run calls. All are required.
type ServiceOptions struct {
	Names   hemera.Names
	Files   hemera.Files
	Control hemera.Control
	View    func(context.Context) (*hemera.View, error)
	// Relaxed returns a context whose calls do not wait for the disk.
	Relaxed func(context.Context) context.Context
}

// Service implements adminapi.Benchmarker in the manager's process. It makes the same calls as doors for clients, with
// access, placement, capabilities and locks.
type Service struct {
	ServiceOptions
	turn turn.Turn // of one run at a time
}

var _ adminapi.Benchmarker = (*Service)(nil)

// NewService makes the service.
func NewService(o ServiceOptions) *Service { return &Service{o, turn.New()} }

// Benchmark implements adminapi.Benchmarker. It fails with Overloaded while another run is in progress. visit first gets
// the setup of the cluster, then progress and results.
func (s *Service) Benchmark(ctx context.Context, who hemera.Identity, q adminapi.BenchmarkRequest, visit func(adminapi.BenchmarkUpdate) error) error {
	shape, err := ShapeOf(q)
	if err != nil {
		return err
	}
	if !s.turn.TryAcquire() {
		return errs.New(errs.Overloaded, "nsbench.Benchmark", shape.Base, "another benchmark is under way").WithRemedy("wait for its end")
	}
	defer s.turn.Release()
	view, err := s.View(ctx)
	if err != nil {
		return err
	}
	if err := visit(adminapi.BenchmarkUpdate{Setup: Setup(view)}); err != nil {
		return err
	}
	// The same calls, without the wait for the disk.
	if q.Relaxed {
		ctx = s.Relaxed(ctx)
	}
	t := &inside{s.ServiceOptions, who}
	return Run(ctx, Options{
		Shape: shape, Visit: visit, Keep: q.Keep, Series: q.Series, CPU: processorTime,
		Open: func(context.Context, int) (Target, error) { return t, nil },
	})
}

// processorTime returns the processor time of this process on all threads, zero if unknown.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Setup describes the measured cluster, from its view and the machine of this process.
func Setup(v *hemera.View) *adminapi.BenchmarkSetup {
	setup := &adminapi.BenchmarkSetup{Cores: runtime.NumCPU()}
	for _, d := range v.Disks {
		if d.Writable() {
			setup.Disks++
		}
	}
	for _, n := range v.Nodes {
		if n.Status == hemera.NodeOnline {
			setup.Nodes++
		}
	}
	if space, ok := v.Space(hemera.DefaultSpace); ok {
		setup.Layout = space.Policy.Layout
	}
	return setup
}

// inside is the Target of all workers in the manager's process.
type inside struct {
	ServiceOptions
	who hemera.Identity
}

const (
	dirMode  = 0o755
	fileMode = 0o644
)

// Mkdir implements [Target].
func (t *inside) Mkdir(ctx context.Context, path string) error {
	_, err := t.Names.Mkdir(ctx, t.who, path, dirMode, false)
	return err
}

// Create opens a new file and commits it without pieces, because an empty file has none.
func (t *inside) Create(ctx context.Context, path string) error {
	g, err := t.open(ctx, hemera.OpenRequest{Path: path, Access: hemera.AccessCreate, Exclusive: true, Mode: fileMode})
	if err != nil {
		return err
	}
	_, err = t.Control.Commit(ctx, hemera.CommitRequest{Permit: g.Permit, Checksums: emptySums(g.Permit.Checksums)})
	if err != nil {
		_ = t.Control.Abort(ctx, g.Permit)
	}
	return err
}

// emptySums returns the checksums of no bytes, as the node sends them with a commit.
func emptySums(kinds []hemera.ChecksumKind) (sums []hemera.Checksum) {
	for _, k := range kinds {
		switch k {
		case hemera.CRC32C:
			sums = append(sums, hemera.Checksum{Kind: k})
		case hemera.Adler32:
			sum := hemera.Checksum{Kind: k}
			sum.Value[3] = 1
			sums = append(sums, sum)
		}
	}
	return sums
}

// open opens a file with a signed permit, as a manager does for clients of other processes: the measurement includes
// signing.
func (t *inside) open(ctx context.Context, r hemera.OpenRequest) (hemera.Grant, error) {
	g, err := t.Files.Open(ctx, t.who, r)
	if err == nil {
		_, err = g.Permit.Token()
	}
	return g, err
}

// Read implements [Target].
func (t *inside) Read(ctx context.Context, path string) error {
	_, err := t.open(ctx, hemera.OpenRequest{Path: path, Access: hemera.AccessRead})
	return err
}

// Write implements [Target]. It opens the file for changing and frees the lock again; the measurement includes both.
func (t *inside) Write(ctx context.Context, path string) error {
	g, err := t.open(ctx, hemera.OpenRequest{Path: path, Access: hemera.AccessUpdate})
	if err != nil {
		return err
	}
	return t.Control.Abort(ctx, g.Permit)
}

// Remove implements [Target].
func (t *inside) Remove(ctx context.Context, path string) error {
	return t.Names.Remove(ctx, t.who, path, hemera.KindFile)
}

// Rmdir implements [Target].
func (t *inside) Rmdir(ctx context.Context, path string) error {
	return t.Names.Remove(ctx, t.who, path, hemera.KindDirectory)
}

// Close implements [Target]; there is nothing to close.
func (t *inside) Close() error { return nil }

// CleanBenchmark implements adminapi.Benchmarker: it removes the files of an interrupted run below the prefix. It waits
// for a run in progress. If any file was not made by a benchmark, it fails with NotEmpty and removes nothing.
func (s *Service) CleanBenchmark(ctx context.Context, who hemera.Identity, prefix string) error {
	base, err := BaseOf(prefix)
	if err != nil {
		return err
	}
	if err := s.turn.Acquire(ctx); err != nil {
		return errs.Wrap(err, "nsbench.Benchmark", base)
	}
	defer s.turn.Release()
	names := []string{"worker.", "d.", "f."} // from the base down, as Shape makes them
	if err := s.clean(ctx, who, base, names, false); err != nil {
		return err
	}
	return s.clean(ctx, who, base, names, true)
}

// clean walks a tree in which the name of every entry is the first of names and a number, and the names below it the
// next. It removes the tree or, without remove, only checks its names.
func (s *Service) clean(ctx context.Context, who hemera.Identity, dir string, names []string, remove bool) error {
	var found []string
	kind := hemera.KindDirectory
	if len(names) == 1 {
		kind = hemera.KindFile
	}
	err := s.Names.List(ctx, who, dir, func(e hemera.Entry) error {
		if e.Kind != kind || !e.IsDir() && e.Size != 0 || !numbered(e.Name, names[0]) {
			return errs.New(errs.NotEmpty, "nsbench.Benchmark", path.Join(dir, e.Name), "no benchmark made it").
				WithRemedy("look at it, and move it elsewhere or remove it by hand")
		}
		found = append(found, e.Name)
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range found {
		at := path.Join(dir, name)
		switch {
		case len(names) > 1:
			err = s.clean(ctx, who, at, names[1:], remove)
		case remove:
			err = s.Names.Remove(ctx, who, at, hemera.KindFile)
		}
		if err != nil && !errors.Is(err, errs.NotFound) {
			return err
		}
	}
	if !remove {
		return nil
	}
	return s.Names.Remove(ctx, who, dir, hemera.KindDirectory)
}

// numbered reports whether the name is the prefix and a decimal number.
func numbered(name, prefix string) bool {
	digits, ok := strings.CutPrefix(name, prefix)
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}
