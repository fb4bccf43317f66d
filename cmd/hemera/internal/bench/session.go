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
	// name is the word of the command and of result.Level.
	name() string
	// flags adds the level's own flags.
	flags(f *pflag.FlagSet)
	// check judges the arguments and flags before any work. quick asks for what is done in some seconds; flags that the user gave stay.
	// It fails with errors of the command line.
	check(args []string, quick bool) error
	// run measures, and removes what it made, also when ctx ends. A part that cannot be measured here is skipped with the remedy.
	run(ctx context.Context, rec *result.Recorder) error
}

// follower is a level that uses what earlier levels of the same run reached.
type follower interface {
	// follow gives it the run so far. It comes after check and before run.
	follow(run *result.Run)
}

// preparer is a level that needs what is not on this machine, or in a file, and looks for it before the directory is made.
type preparer interface {
	prepare(ctx context.Context) error
}

// session is one run of levels and its directory. A session serves one command line; only mu's fields are shared between
// goroutines.
type session struct {
	e     *cli.Env // where the progress line and the table go
	out   string   // the directory; begin makes one if it is ""
	title string   // of the report
	quick bool     // every level takes seconds
	nodes []string // that measure, in place of this machine
	// published figures that the report shows beside: their names, and the sets that begin found
	reference []string
	published []*result.Run
	now       func() time.Time
	// wrap, if it is set, makes the level that a command runs of its own level: one that measures its energy, too.
	wrap func(level) level

	cpu host.CPU   // when the run began
	run result.Run // what is measured so far; keep writes it

	mu   sync.Mutex // guards line: the level's goroutines tell, another draws
	line string     // the present progress line
}

// newSession returns the session of one command. Its directory is made when the run begins, so that a mistake in the flags
// leaves nothing behind.
func newSession(e *cli.Env) *session { return &session{e: e, now: time.Now} }

// flags adds the flags that all levels have. Their defaults are those of a first look by a new user.
func (s *session) flags(f *pflag.FlagSet) {
	f.StringVar(&s.out, "out", "", "`directory` of the run: result.json, report.html and raw output (default: a new one here)")
	f.StringVar(&s.title, "title", "", "title of the report")
	referenceFlag(f, &s.reference)
	f.StringSliceVar(&s.nodes, "nodes", nil, "have these `nodes` of the cluster measure at the same time: all, ids or addresses (disk, net, io; admins)")
	f.BoolVar(&s.quick, "quick", false, "a first look within seconds: shorter and fewer iterations")
}

// command completes the command of one level: the flags of all levels, its own, and a run of it alone.
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

// commandLine is what the user typed, for the reader of the report: the flags that were given come last.
func commandLine(c *cobra.Command, args []string) []string {
	line := append(strings.Fields(c.CommandPath()), args...)
	c.Flags().Visit(func(f *pflag.Flag) { line = append(line, word(f)) })
	return line
}

// word is a flag as one types it. Lists print with brackets, which no flag takes.
func word(f *pflag.Flag) string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return "--" + f.Name + "=" + strings.Join(list.GetSlice(), ",")
	}
	return "--" + f.Name + "=" + f.Value.String()
}

// measure runs the levels, and shows what came of them. A level that fails does not keep the next from running; the first
// error is the command's. An interruption ends the run.
func (s *session) measure(ctx context.Context, command []string, levels []level) error {
	// A meter that does not answer, found now, leaves no directory behind.
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
	// A report that cannot be made is an error, but what was measured is kept and shown.
	failed = errors.Join(failed, report.Write(s.out, beside([]*result.Run{&s.run}, s.published)))
	return errors.Join(s.show(), failed)
}

// begin makes the directory. Exists if there is a run in it already.
func (s *session) begin(command []string) error {
	// A wrong name of published figures leaves no directory behind.
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
	// The result of an hour's work is never replaced by a typing mistake.
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

// one runs one level and keeps what it measured, also if it failed: the report says where it ended.
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

// say writes a line where no progress is drawn: a run into a file is silent for minutes else.
func (s *session) say(format string, args ...any) {
	if !s.e.Live {
		fmt.Fprintf(s.e.Err, format+"\n", args...)
	}
}

// record runs a level and keeps what it measured. A level that wraps another calls it for that one.
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

// keep writes result.json. A crash leaves the one of the level before.
func (s *session) keep() error { return result.Write(s.out, &s.run) }

// tell implements [result.Progress]. It only remembers: Follow draws four times a second, however often a level tells.
func (s *session) tell(level string, done, total int, doing string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = fmt.Sprintf("%-6s %s  %s", level, cli.Bar(cli.Percent(int64(done), int64(max(total, 1))), 16), doing)
}

// drawn is the progress line, for the goroutine that draws it.
func (s *session) drawn() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.line
}
