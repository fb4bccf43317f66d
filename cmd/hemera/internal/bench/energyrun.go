package bench

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/measure/energy/meter"
	"hemera/measure/result"
	"hemera/words/errs"
)

// energyRun is `hemera bench energy` itself: for any command, the list of meters, or a replay.
type energyRun struct {
	e      *cli.Env
	s      *session
	level  *energyLevel
	shell  *commandLevel
	list   bool
	replay string
}

// newEnergyRun makes the command's parts.
func newEnergyRun(e *cli.Env) *energyRun {
	// All three share a session, which only those that measure begin.
	s, shell := newSession(e), &commandLevel{}
	return &energyRun{e: e, s: s, shell: shell, level: &energyLevel{s: s, inner: []level{shell}}}
}

// flags adds the flags of all three.
func (r *energyRun) flags(f *pflag.FlagSet) {
	// A replay makes a directory too.
	r.s.flags(f)
	r.level.flags(f)
	f.BoolVar(&r.list, "list", false, "show the meters of this machine, and try each")
	f.StringVar(&r.replay, "replay", "", "compute again from the raw logs in the `directory` of a run")
}

// run implements cobra's RunE.
func (r *energyRun) run(c *cobra.Command, args []string) error {
	switch {
	case r.list:
		return r.show(c.Context())
	// Nothing is measured: only the flags of assumptions apply.
	case r.replay != "":
		l := &replayLevel{energyFlags: &r.level.energyFlags, s: r.s, from: r.replay}
		if err := l.check(args, r.s.quick); err != nil {
			return cli.Usage(err)
		}
		return r.s.measure(c.Context(), commandLine(c, nil), []level{l})
	case len(args) == 0:
		// Without arguments it prints help, like all nouns.
		return c.Help()
	}
	// A word that is not after -- is most likely a level.
	if c.ArgsLenAtDash() != 0 {
		return cli.Usage(errs.New(errs.Invalid, "hemera.Bench", args[0], "there is no such level").WithRemedy("the levels are disk, net, io, interference and ns; a command stands behind --: hemera bench energy -- " + strings.Join(args, " ")))
	}
	if err := r.level.check(args, r.s.quick); err != nil {
		return cli.Usage(err)
	}
	return r.s.measure(c.Context(), append(commandLine(c, []string{"--"}), args...), []level{r.level})
}

// show lists the meters that need no address.
func (r *energyRun) show(ctx context.Context) error {
	// These meters need no password.
	o, err := r.level.options()
	if err != nil {
		return err
	}
	var records []output.Record
	for _, f := range meter.Find(ctx, o) {
		// A meter that does not work is shown with its remedy: most need a driver, a package or root.
		state, covers := "works", f.About.Covers
		if f.Err != nil {
			state, covers = "no", strings.TrimSuffix(errs.Reason(f.Err, ""), ".")+prefixed("; ", errs.RemedyOf(f.Err))
		}
		records = append(records, output.Record{{Key: "meter", Value: f.Spec}, {Key: "state", Value: state}, {Key: "covers", Value: covers}})
	}
	// Sensors are for people who know their board.
	for _, s := range meter.Sensors("/") {
		records = append(records, output.Record{{Key: "meter", Value: s.Spec()}, {Key: "state", Value: "sensor"}, {Key: "covers", Value: strings.TrimSpace(s.Chip + " " + s.Label)}})
	}
	// The same words as for --meter, to be copied from the table.
	columns := []output.Column{{Title: "METER", Key: "meter"}, {Title: "STATE", Key: "state"}, {Title: "COVERS, OR WHY NOT", Key: "covers"}}
	return r.e.List(columns, records, "no meters")
}

// commandLevel runs any command several times. Its output is written to raw/.
type commandLevel struct {
	args       []string
	iterations int
	work       string
	bytes      int64
}

// name implements level.
func (l *commandLevel) name() string { return "command" }

// flags implements level.
func (l *commandLevel) flags(f *pflag.FlagSet) {
	f.IntVar(&l.iterations, "iterations", 1, "how often a command is run")
	f.StringVar(&l.work, "work", "", "bytes that a command reads and writes each time, for bytes per joule: `size` such as 1GB")
}

// check implements level.
func (l *commandLevel) check(args []string, _ bool) error {
	l.args = args
	// As for levels.
	if l.iterations < 1 || l.iterations > 1000 {
		return errs.New(errs.Invalid, "hemera.Bench", "--iterations", "it takes 1 to 1000")
	}
	// A command does not report its amount of work.
	if l.work != "" {
		n, ok := cli.ParseSize(l.work, 1<<62)
		if !ok {
			return errs.New(errs.Invalid, "hemera.Bench", "--work", l.work+" is no size").WithRemedy("write 1GB, 512MiB or bytes")
		}
		l.bytes = n
	}
	// Now and not after the idle time.
	if _, err := exec.LookPath(args[0]); err != nil {
		return errs.New(errs.NotFound, "hemera.Bench", args[0], "there is no such program")
	}
	return nil
}

// run implements level. A failed command ends the level, because its energy is not that of the work.
func (l *commandLevel) run(ctx context.Context, rec *result.Recorder) error {
	// A reader of the report must be able to repeat it.
	rec.Set("command", strings.Join(l.args, " "))
	rec.Set("iterations", strconv.Itoa(l.iterations))
	// One after another: two at once would share the energy.
	for i := range l.iterations {
		rec.Step(i, l.iterations, "run %d of %d: %s", i+1, l.iterations, l.args[0])
		if err := l.once(ctx, rec, strconv.Itoa(i+1)+".txt"); err != nil {
			return err
		}
	}
	return nil
}

// once runs the command once.
func (l *commandLevel) once(ctx context.Context, rec *result.Recorder, log string) error {
	// One file for both streams, in the order of the output.
	out, err := rec.Raw(log)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	// It gets no input, so that it cannot wait for a person.
	c := exec.CommandContext(ctx, l.args[0], l.args[1:]...) // #nosec G204 -- the user's own command
	c.Stdout, c.Stderr = out, out
	c.WaitDelay = 10 * time.Second // for children that keep the output open
	// The time from the start of the process to its end.
	began := time.Now()
	end := rec.Iteration(nil)
	if err := c.Run(); err != nil {
		return errs.As(err, errs.IO, "hemera.Bench", l.args[0])
	}
	end(l.bytes, 0)
	seconds := time.Since(began).Seconds()
	rec.Add(result.Measure{Name: "time", Unit: "s", Better: result.Lower, Samples: []float64{seconds}})
	// The user stated the number of bytes.
	if l.bytes > 0 {
		rec.Add(result.Measure{Name: "throughput", Unit: "B/s", Better: result.Higher, Samples: []float64{float64(l.bytes) / seconds}})
	}
	return nil
}
