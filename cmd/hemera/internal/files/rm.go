package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"hemera/client/admin"
	"hemera/client/xrootd"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// RmCommand makes `hemera rm`: remove files and trees. It works with any XRootD server. A removal is not atomic: an
// interrupted one leaves the rest.
func RmCommand(e *cli.Env) *cobra.Command {
	var recursive, force, erase bool // -r, -f, -F
	var k cli.Consent
	c := &cobra.Command{
		Use: "rm <path>…", Short: "Remove files, and with -r directories", Args: cobra.MinimumNArgs(1), ValidArgsFunction: complete.Paths(e),
		Long: `Removes files. Below a directory with the attribute sys.recycle they go to its recycle bin, from which
hemera recycle restore brings them back; elsewhere they are gone at once. --no-recycle, for admins,
removes them for good everywhere. Directories need -r, which removes all that is in them.

Before it removes a directory that is not empty, the command says how many files and bytes will
go, and asks. A script gives its consent with --yes. --dry-run says what would go, and stops.
If some entries cannot be removed, the others are, and the first ten errors are printed.
` + cli.PathHelp,
		Example: `  hemera rm /exp/old.root
  hemera rm -r /exp/run1
  hemera rm -r --dry-run /exp/run1
  hemera rm --no-recycle /exp/old.root`,
		RunE: func(c *cobra.Command, args []string) error {
			return e.Files(c, func(ctx context.Context, cl *xrootd.Client) error {
				r := &removal{cl: cl, recursive: recursive, force: force, remove: cl.Remove, rmdir: cl.Rmdir}
				if !erase {
					return e.Done(rm(ctx, e, r, k, args))
				}
				return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
					r.remove, r.rmdir = eraser(e, m, hemera.KindFile), eraser(e, m, hemera.KindDirectory)
					return e.Done(rm(ctx, e, r, k, args))
				})
			})
		},
	}
	c.Flags().BoolVarP(&erase, "no-recycle", "F", false, "for good, past the recycle bin; for admins")
	cli.RecursiveFlag(c, &recursive, "remove directories too, with their contents")
	c.Flags().BoolVarP(&force, "force", "f", false, "ignore paths that do not exist")
	k.Flags(c)
	return c
}

// eraser returns a function that removes an entry of the kind permanently, at the manager.
func eraser(e *cli.Env, m *admin.Client, kind hemera.EntryKind) func(context.Context, xrootd.URL) error {
	return func(ctx context.Context, u xrootd.URL) error {
		path, err := e.OnManager(u.String())
		if err != nil {
			return err
		}
		return m.Recycle.Erase(ctx, hemera.Identity{}, path, kind)
	}
}

// rm examines all arguments, asks once, and then removes. Nothing is removed before the user has agreed to all arguments.
// After an argument that cannot be removed it continues with the others.
func rm(ctx context.Context, e *cli.Env, r *removal, k cli.Consent, args []string) error {
	var stake []string
	// A directory that is not empty needs consent; named files do not.
	ask := k.Dry
	err := e.Each(ctx, args, func(arg string) error {
		u, err := e.Remote(arg)
		if err != nil {
			return err
		}
		t, err := r.survey(ctx, u)
		if r.force && errors.Is(err, errs.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		r.targets = append(r.targets, t)
		stake = append(stake, t.String())
		ask = ask || t.below
		return nil
	})
	// Nothing was found, or the user interrupted.
	if ctx.Err() != nil || len(r.targets) == 0 {
		return err
	}
	if ask {
		if ok, refused := e.Agree(ctx, k, "hemera.Rm", stake); !ok {
			return firstOf(refused, err)
		}
	}
	// A failed removal precedes an argument that was not found.
	return firstOf(r.run(ctx, e), err)
}

// firstOf returns the first error that is not nil.
func firstOf(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// doomed is one argument of rm with the entries found there. The counts are those of the survey: others may write
// meanwhile.
type doomed struct {
	url               xrootd.URL
	dir, below        bool  // a directory, with something in it
	files, dirs, size int64 // size in bytes
}

// String describes what will be removed.
func (d doomed) String() string {
	if !d.dir {
		return fmt.Sprintf("%s: 1 file, %s will go", d.url.Path, output.Bytes(d.size))
	}
	return fmt.Sprintf("%s: %s, %s, %s will go", d.url.Path, output.Count(d.dirs, "directory"), output.Count(d.files, "file"), output.Bytes(d.size))
}

// removal is one rm. mu guards the counters, which many goroutines change.
type removal struct {
	cl               *xrootd.Client
	recursive, force bool
	targets          []doomed // the findings of survey, in the order of the arguments
	// remove removes a file, and rmdir an empty directory.
	remove, rmdir func(context.Context, xrootd.URL) error

	mu     sync.Mutex
	done   int64 // files
	failed int64 // entries
	first  error // the first failure
}

// rmParallel is the number of entries that are removed at a time; failuresMax the number of failures that are printed.
const (
	rmParallel  = 64 // each removal writes to the manager's disk; it commits many together
	failuresMax = 10 // more would hide the first ones
)

// survey counts the entries at a path. It fails for a directory without -r, and for the root. It lists the whole tree,
// which takes as long as a find.
func (r *removal) survey(ctx context.Context, u xrootd.URL) (doomed, error) {
	d := doomed{url: u}
	i, err := r.cl.Stat(ctx, u)
	switch {
	case err != nil:
		return d, err
	// One request is enough for a file.
	case !i.IsDir():
		d.files, d.size = 1, i.Size
		return d, nil
	case !r.recursive:
		return d, errs.New(errs.IsDirectory, "hemera.Remove", u.Redacted(), "it is a directory").WithRemedy("add -r to remove it with all that is in it")
	// Even with consent: it is almost certainly an empty variable in a script.
	case u.Path == "/":
		return d, errs.New(errs.Invalid, "hemera.Remove", u.Redacted(), "the root stays").WithRemedy("name the directories to remove")
	}
	d.dir = true
	var walk func(dir xrootd.URL) error
	// It lists a directory to its end before its subdirectories, so that one listing is open at a time.
	walk = func(dir xrootd.URL) error {
		d.dirs++
		var below []string
		err := r.cl.List(ctx, dir, func(i xrootd.Info) error {
			d.below = true // any entry counts, also an empty directory
			if i.IsDir() {
				below = append(below, i.Name)
				return nil
			}
			d.files++
			d.size += i.Size
			return nil
		})
		for _, name := range below {
			if err == nil {
				err = walk(dir.Join(name))
			}
		}
		return err
	}
	return d, walk(u)
}

// run removes the targets in turn, also after a failure, and returns the error of the command.
func (r *removal) run(ctx context.Context, e *cli.Env) error {
	var total int64
	for _, d := range r.targets {
		total += d.files // directories are not counted in the progress
	}
	stop := r.show(e, total)
	for _, d := range r.targets {
		if d.dir {
			r.tree(ctx, e, d.url)
		} else {
			r.note(e, r.remove(ctx, d.url))
		}
	}
	stop() // the progress line ends before the command's error is printed
	switch {
	case ctx.Err() != nil:
		return errs.New(errs.Cancelled, "hemera.Rm", "", "interrupted; "+output.Count(r.done, "file")+" removed")
	case r.failed > 1:
		return errs.New(errs.KindOf(r.first), "hemera.Rm", "", output.Count(r.failed, "entry")+" could not be removed")
	}
	return r.first
}

// tree removes a directory: first all files, in parallel, then the directories from the leaves upwards. It keeps the
// names of all directories, and at most rmParallel names of files. If files are made meanwhile their directory stays, and
// the command fails.
func (r *removal) tree(ctx context.Context, e *cli.Env, top xrootd.URL) {
	var levels [][]xrootd.URL // directories by depth, the top first
	g := new(errgroup.Group)
	g.SetLimit(rmParallel) // Go blocks above it, which also slows the listing
	var walk func(dir xrootd.URL, depth int)
	walk = func(dir xrootd.URL, depth int) {
		if depth == len(levels) {
			levels = append(levels, nil)
		}
		// Also a directory that cannot be listed, because it may be empty.
		levels[depth] = append(levels[depth], dir)
		var below []string
		err := r.cl.List(ctx, dir, func(i xrootd.Info) error {
			if i.IsDir() {
				below = append(below, i.Name)
				return nil
			}
			g.Go(func() error {
				r.note(e, r.remove(ctx, dir.Join(i.Name)))
				return nil
			})
			// An interruption ends the listing; current removals end by themselves.
			return ctx.Err()
		})
		if err != nil {
			r.fail(e, err)
		}
		for _, name := range below {
			walk(dir.Join(name), depth+1)
		}
	}
	walk(top, 0)
	_ = g.Wait()
	for _, level := range slices.Backward(levels) { // the deepest first
		for _, dir := range level {
			g.Go(func() error {
				// A directory that is not empty has a file that could not be removed.
				if err := r.rmdir(ctx, dir); err != nil && (r.failures() == 0 || !errors.Is(err, errs.NotEmpty)) {
					r.fail(e, err) // the failure of its entries was reported
				}
				return nil
			})
		}
		_ = g.Wait()
	}
}

// note counts a removed file, or a failure. It is safe for concurrent use.
func (r *removal) note(e *cli.Env, err error) {
	if err != nil {
		r.fail(e, err)
		return
	}
	r.mu.Lock()
	r.done++
	r.mu.Unlock()
}

// fail records a failure. The first one becomes the command's error; from the second on each is printed, up to
// failuresMax. An entry that was removed meanwhile is no failure, nor is the rest after an interruption. Errors are
// printed under mu, so that two messages do not mix.
func (r *removal) fail(e *cli.Env, err error) {
	if errors.Is(err, errs.NotFound) || errors.Is(err, errs.Cancelled) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed++
	switch {
	case r.failed == 1:
		r.first = err
		return
	case r.failed == 2:
		e.Complain(r.first)
	}
	if r.failed <= failuresMax {
		e.Complain(err)
	}
}

// failures returns the number of failures so far.
func (r *removal) failures() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// show draws a progress line until the returned function is called. It draws nothing for a single file, for programs, or
// without a terminal. It is called once for all arguments.
func (r *removal) show(e *cli.Env, total int64) (stop func()) {
	if !e.Live || e.ForPrograms() || total < 2 {
		return func() {}
	}
	began := time.Now()
	draw := func() {
		r.mu.Lock()
		done := r.done
		r.mu.Unlock()
		rate := float64(done) / max(time.Since(began).Seconds(), 1e-3) // since the beginning
		line := func(width int) string {
			s := fmt.Sprintf("%s  %d of %s removed  %.0f/s", cli.Bar(cli.Percent(done, total), width), done, output.Count(total, "file"), rate)
			if left := total - done; left > 0 && rate > 0 {
				s += "  " + output.Seconds(float64(left)/rate) + " to go"
			}
			return s
		}
		io.WriteString(e.Err, cli.ClearLine+cli.Fitted(e.ErrWidth(), cli.BarForms(line)))
	}
	quit := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(rmTick)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				draw()
			}
		}
	})
	return func() {
		close(quit)
		ended.Wait()
		draw()
		io.WriteString(e.Err, "\n")
	}
}

// rmTick is the interval at which the progress line is drawn.
const rmTick = 250 * time.Millisecond
