package tape

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// many selects many files: by the arguments, by whole directories, and by a list.
type many struct {
	recursive bool
	from      string // a file with a path on each line, "-" for standard input
}

// register adds the flags, and allows a command line without arguments if there is a list.
func (f *many) register(c *cobra.Command) {
	c.Flags().BoolVarP(&f.recursive, "recursive", "r", false, "all files below the directories that are named")
	c.Flags().StringVar(&f.from, "from", "", "paths, one a line, from `FILE`; - is the standard input")
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 && f.from == "" {
			return errs.New(errs.Invalid, "hemera."+c.Name(), "", "no path is named").WithRemedy("name files, or directories with -r, or a list with --from FILE")
		}
		return nil
	}
}

// bulk reports whether the number of files is unbounded. The command then prints sums and no line for each file.
func (f *many) bulk() bool { return f.recursive || f.from != "" }

// each visits all named files in their order. It stops at the first error of visit, or of the list.
func (f *many) each(ctx context.Context, e *cli.Env, m *admin.Client, args []string, visit func(path string) error) error {
	for _, arg := range args {
		if err := f.one(ctx, e, m, arg, visit); err != nil {
			return err
		}
	}
	if f.from == "" {
		return nil
	}
	in := e.In
	if f.from != "-" {
		file, err := os.Open(f.from)
		if err != nil {
			return errs.As(err, errs.Invalid, "hemera.List", f.from)
		}
		defer func() { _ = file.Close() }() // it was only read
		in = file
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if line := strings.TrimSuffix(lines.Text(), "\r"); line != "" {
			if err := f.one(ctx, e, m, line, visit); err != nil {
				return err
			}
		}
	}
	return errs.As(lines.Err(), errs.Invalid, "hemera.List", f.from)
}

// one visits the file of a path, or with -r the files below it.
func (f *many) one(ctx context.Context, e *cli.Env, m *admin.Client, arg string, visit func(path string) error) error {
	path, err := e.OnManager(arg)
	if err != nil {
		return err
	}
	if !f.recursive {
		return visit(path)
	}
	top, err := m.Names.Stat(ctx, hemera.Identity{}, path)
	if err != nil || !top.IsDir() {
		return visit(path) // its error is one of many, and comes with the others
	}
	_, err = m.Names.Walk(ctx, adminapi.WalkRequest{Path: path, Kind: hemera.KindFile, Brief: true}, func(found adminapi.Found) error {
		if found.Err != "" {
			return errs.New(errs.IO, "hemera.List", found.Path, found.Err)
		}
		return visit(found.Path)
	})
	return err
}

// Bounds of a command on many files.
const (
	workers      = 8   // goroutines that ask the manager
	failuresKept = 100 // failures that are printed with their reasons
)

// tally counts the results of a command with many files. Its methods may be called from any goroutine.
type tally struct {
	mu     sync.Mutex
	files  int64 // files that are done
	bytes  int64
	copies int64
	failed int64
	errors failures // the first errors
	drawn  time.Time
}

// add counts one file.
func (t *tally) add(path string, d did, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.files, t.bytes, t.copies = t.files+1, t.bytes+d.freed, t.copies+int64(d.copies)
		return
	}
	if t.failed++; len(t.errors) < failuresKept {
		t.errors.add(path, helped(err, path))
	}
}

// draw shows the progress on a terminal, a few times a second.
func (t *tally) draw(e *cli.Env) {
	if !e.Live || e.ForPrograms() {
		return
	}
	t.mu.Lock()
	now, files := time.Now(), t.files+t.failed
	due := now.Sub(t.drawn) > 200*time.Millisecond
	if due {
		t.drawn = now
	}
	t.mu.Unlock()
	if due {
		fmt.Fprint(e.Err, cli.ClearLine+output.Count(files, "file"))
	}
}

// end clears the line of progress, prints the sum, and returns the errors. ended is the error of the list of files, or
// nil if it was read to its end.
func (t *tally) end(e *cli.Env, verb string, ended error) error {
	if ended == nil {
		ended = t.errors.together(verb)
	}
	if e.Live && !e.ForPrograms() {
		fmt.Fprint(e.Err, cli.ClearLine)
	}
	if e.ForPrograms() {
		record := output.Record{{Key: "files", Value: t.files}, {Key: "bytes", Value: t.bytes}, {Key: "copies", Value: t.copies}, {Key: "failed", Value: t.failed}}
		return e.ListAll(nil, []output.Record{record}, "", ended)
	}
	text := output.Count(t.files, "file") + " done"
	if t.bytes > 0 {
		text += ", " + output.Bytes(t.bytes) + " on disks freed"
	}
	if t.copies > 0 {
		text += fmt.Sprintf(", copies queued: %d", t.copies)
	}
	if t.failed > 0 {
		text += fmt.Sprintf(", %d failed", t.failed)
	}
	e.Say("%s", text)
	return ended
}

// did is the result of a command for one file.
type did struct {
	freed  int64  // bytes on disks
	copies int    // copies that were queued
	said   string // text for people
}

// onEach makes a command that calls do for each file. It continues after a failure.
func onEach(e *cli.Env, c *cobra.Command, do func(ctx context.Context, m *admin.Client, path string) (did, error)) *cobra.Command {
	var f many
	f.register(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
			if !f.bulk() {
				return inTurn(ctx, e, m, c.Name(), args, do)
			}
			var sum tally
			paths := make(chan string)
			var group sync.WaitGroup
			for range workers {
				group.Go(func() {
					for path := range paths {
						d, err := do(ctx, m, path)
						sum.add(path, d, err)
						sum.draw(e)
					}
				})
			}
			err := f.each(ctx, e, m, args, func(path string) error {
				select {
				case paths <- path:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			close(paths)
			group.Wait()
			return sum.end(e, c.Name(), err)
		})
	}
	return c
}

// inTurn calls do for few files, one after the other, and prints a line for each.
func inTurn(ctx context.Context, e *cli.Env, m *admin.Client, verb string, args []string, do func(context.Context, *admin.Client, string) (did, error)) error {
	var failed failures
	var records []output.Record
	for _, arg := range args {
		at, err := e.OnManager(arg)
		if err != nil {
			failed.add(arg, err)
			continue
		}
		d, err := do(ctx, m, at)
		failed.add(at, helped(err, at))
		if err != nil {
			continue
		}
		records = append(records, output.Record{{Key: "path", Value: at}, {Key: "bytes", Value: d.freed}, {Key: "copies", Value: d.copies}})
		if !e.ForPrograms() {
			e.Say("%s: %s", at, d.said)
		}
	}
	if !e.ForPrograms() {
		return failed.together(verb)
	}
	return e.ListAll(nil, records, "", failed.together(verb))
}
