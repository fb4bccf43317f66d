package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hemera/cmd/hemera/internal/cli"
	"hemera/measure/host"
	"hemera/measure/reference"
	"hemera/measure/report"
	"hemera/measure/result"
	"hemera/words/errs"
)

// level is one part of a run, with the flags of its command.
type level interface {
	// name returns the word of the command and of result.Level.
	name() string
	// flags adds the level's own flags.
	flags(f *pflag.FlagSet)
	// check checks the arguments and flags before any work, and fails with errors of the command line. quick requests a
	// run of some seconds; flags of the user stay.
	check(args []string, quick bool) error
	// run measures, and removes its files, also when ctx ends. It skips a part that cannot be measured here, with the
	// remedy.
	run(ctx context.Context, rec *result.Recorder) error
}

// follower is a level that uses results of earlier levels of the same run.
type follower interface {
	// follow gets the run so far. It is called after check and before run.
	follow(run *result.Run)
}

// preparer is a level that needs something outside this machine, or a file, and looks for it before the directory is
// made.
type preparer interface {
	prepare(ctx context.Context) error
}

// session is one run of levels and its directory. A session serves one command line; goroutines share only the fields of
// mu.
type session struct {
	e     *cli.Env // for the progress line and the table
	out   string   // the directory; begin makes one if it is ""
	title string   // of the report
	quick bool     // every level takes seconds
	nodes []string // nodes that measure in place of this machine
	// names of published results that the report shows too, and the sets that begin found
	reference []string
	published []*result.Run
	now       func() time.Time
	// wrap, if not nil, wraps the level of a command in one that also measures its energy.
	wrap func(level) level

	cpu host.CPU   // when the run began
	run result.Run // results so far; keep writes it

	mu   sync.Mutex // guards line: the level's goroutines set it, another draws it
	line string     // the present progress line
}

// newSession returns the session of one command. Its directory is made when the run begins, so that a mistake in the
// flags leaves no directory.
func newSession(e *cli.Env) *session { return &session{e: e, now: time.Now} }

// flags adds the flags of all levels. Their defaults are for a first look by a new user.
func (s *session) flags(f *pflag.FlagSet) {
	f.StringVar(&s.out, "out", "", "`directory` of the run: result.json, report.html and raw output (default: a new one here)")
	f.StringVar(&s.title, "title", "", "title of the report")
	referenceFlag(f, &s.reference)
	f.StringSliceVar(&s.nodes, "nodes", nil, "have these `nodes` of the cluster measure at the same time: all, ids or addresses (disk, net, io; admins)")
	f.BoolVar(&s.quick, "quick", false, "a first look within seconds: shorter and fewer iterations")
}

// command completes the command of one level: it adds the flags of all levels, its own, and a run of the level alone.
func (s *session) command(l level, c *cobra.Command) *cobra.Command {
	if s.wrap != nil {
		l = s.wrap(l)
	}
	s.flags(c.Flags())
	l.flags(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := l.check(args, s.quick); err != nil {
			return cli.Usage(err)
		}
		measured := l
		if len(s.nodes) > 0 {
			var err error
			if measured, err = s.onNodes(l, c, args); err != nil {
				return cli.Usage(err)
			}
		}
		return s.measure(c.Context(), commandLine(c, args), []level{measured})
	}
	return c
}

// commandLine returns the user's command line, for the reader of the report: the given flags are last.
func commandLine(c *cobra.Command, args []string) []string {
	line := append(strings.Fields(c.CommandPath()), args...)
	c.Flags().Visit(func(f *pflag.Flag) { line = append(line, word(f)) })
	return line
}

// word returns a flag as it is typed. Lists print with brackets, which no flag accepts.
func word(f *pflag.Flag) string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return "--" + f.Name + "=" + strings.Join(list.GetSlice(), ",")
	}
	return "--" + f.Name + "=" + f.Value.String()
}

// measure runs the levels, and shows the results. After a failure the next level still runs; the command fails with the
// first error. An interruption ends the run.
func (s *session) measure(ctx context.Context, command []string, levels []level) error {
	// A meter that does not answer is found here, before the directory is made.
	for _, l := range levels {
		if p, ok := l.(preparer); ok {
			if err := p.prepare(ctx); err != nil {
				return err
			}
		}
	}
	if err := s.begin(command); err != nil {
		return err
	}
	var failed error
	for _, l := range levels {
		err := s.one(ctx, l)
		if failed == nil {
			failed = err
		}
		if ctx.Err() != nil {
			s.run.Stopped = "interrupted"
			break
		}
	}
	s.run.Ended = s.now()
	s.noteSteal()
	if err := s.keep(); err != nil {
		return errors.Join(failed, err)
	}
	// If the report cannot be made the command fails, but the results are kept and shown.
	failed = errors.Join(failed, report.Write(s.out, beside([]*result.Run{&s.run}, s.published)))
	return errors.Join(s.show(), failed)
}

// begin makes the directory. It fails with Exists if there is a run in it.
func (s *session) begin(command []string) error {
	// A wrong name of published results leaves no directory.
	published, err := reference.Find(s.reference)
	if err != nil {
		return cli.Usage(err)
	}
	s.published = published
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	now := s.now()
	// UTC, so that the runs of several sites sort by their start.
	stamp := now.UTC().Format("20060102-150405")
	if s.out == "" {
		s.out = "hemera-bench-" + stamp
	}
	// A typing error must not replace the result of an hour's work.
	if _, err := os.Stat(result.Path(s.out)); err == nil {
		return errs.New(errs.Exists, "hemera.Bench", s.out, "there is a run in it").WithRemedy("name another directory with --out")
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil { // #nosec G301 -- a report is to be read
		return errs.Wrap(err, "hemera.Bench", s.out)
	}
	if s.title == "" {
		s.title = "Hemera benchmark of " + name
	}
	others := s.lookAround()
	s.run = result.Run{Others: others, Quick: s.quick, ID: stamp + "-" + name, Title: s.title, Version: s.e.Build.Version, Command: command, Began: now,
		Machines: []result.Machine{host.Describe("/", "local")}, Levels: []result.Level{}}
	return nil
}

// one runs one level and keeps its results, also if it failed: the report shows where it ended.
func (s *session) one(ctx context.Context, l level) error {
	s.tell(l.name(), 0, 1, "begins")
	began := s.now()
	s.say("%s begins", l.name())
	stop := s.e.Follow(s.drawn)
	err := s.record(ctx, l)
	stop()
	s.say("%s has ended after %s", l.name(), s.now().Sub(began).Round(time.Second))
	return err
}

// say writes a line if no progress is drawn: a run into a file would otherwise be silent for minutes.
func (s *session) say(format string, args ...any) {
	if !s.e.Live {
		fmt.Fprintf(s.e.Err, format+"\n", args...)
	}
}

// record runs a level and keeps its results. A level that wraps another calls it for that one.
func (s *session) record(ctx context.Context, l level) error {
	rec := result.NewRecorder(s.out, l.name(), s.tell)
	if f, ok := l.(follower); ok {
		f.follow(&s.run)
	}
	stop := watchProcessors()
	err := l.run(ctx, rec)
	busy := stop()
	if err != nil {
		rec.Note("The level ended early: %s", errs.Reason(err, ""))
		err = errs.Wrap(err, "hemera.Bench", l.name())
	}
	done := rec.End()
	done.Busy = busy
	s.run.Levels = append(s.run.Levels, done)
	return errors.Join(err, s.keep())
}

// keep writes result.json. After a crash the file is that of the previous level.
func (s *session) keep() error { return result.Write(s.out, &s.run) }

// tell implements [result.Progress]. It only records: Follow draws four times a second, however often a level reports.
func (s *session) tell(level string, done, total int, doing string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = fmt.Sprintf("%-6s %s  %s", level, cli.Bar(cli.Percent(int64(done), int64(max(total, 1))), 16), doing)
}

// drawn returns the progress line, for the goroutine that draws it.
func (s *session) drawn() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.line
}
