package ns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/measure/nsbench"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// benchmarkOptions has the arguments and flags of ns benchmark. parse sets the request from the arguments.
type benchmarkOptions struct {
	adminapi.BenchmarkRequest
	wire  wireOptions // --wire and its further flags
	clean bool        // --clean: remove and do nothing else
	plot  string      // --plot: the SVG file, or ""
}

// nsBenchmarkCommand makes `hemera ns benchmark`. The phases and the three arguments are those of eos ns benchmark, so
// that results can be compared.
func nsBenchmarkCommand(e *cli.Env) *cobra.Command {
	var o benchmarkOptions
	c := &cobra.Command{
		Use: "benchmark <threads> <subdirs> <files> [prefix]", Short: "Measure the namespace as CERN's ns benchmark does",
		Args: cobra.MaximumNArgs(4),
		Long: `Measures the namespace with empty files. Each thread makes <subdirs> directories with <files> files
in each, in a directory of its own below <prefix>/benchmark: 100 10 10 makes 10,000 files. All
threads do one phase, then all do the next:

  mkdir     make the directories
  create    make the files: placement, capability, lock, commit
  exists    make them all again: each is refused, because it exists
  read      open every file to read: access, placement, capability
  write     open every file to change it, and free the lock again
  deletion  remove everything

The manager runs the phases in its own process, as EOS does: the figures are without the network. An operation
counts when it has succeeded and its change is on the disk, which EOS does not wait for; --relaxed
measures the same once more without waiting. --wire measures what clients see: real requests to
manager and nodes. Nobody else should use the cluster meanwhile. An interrupted run removes what
it made.`,
		Example: `  hemera ns benchmark 100 10 10
  hemera ns benchmark 1000 1 100 --relaxed    the shape of CERN's published figures
  hemera ns benchmark 16 1 200 --wire --depth 4
  hemera ns benchmark 16 10 100 /scratch -j | jq '.result[] | {phase, rate}'
  hemera ns benchmark --clean                 remove what an interrupted run left`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.parse(args); err != nil {
				return err
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				if o.clean {
					return cleanBenchmark(ctx, e, m, o)
				}
				return benchmark(ctx, e, m, o)
			})
		},
	}
	f := c.Flags()
	f.BoolVar(&o.Relaxed, "relaxed", false, "measure also without waiting for the disk, in rows of their own") // a second run of the same shape
	f.BoolVar(&o.wire.on, "wire", false, "measure what clients see: one client session for each thread")       // threads are then sessions
	f.IntVar(&o.wire.depth, "depth", 1, "with --wire: `number` of requests in flight in a session")            // one is a client that waits for each answer
	f.BoolVar(&o.wire.full, "full", false, "with --wire: read and write go on to the node, too")               // else they end at the manager's answer
	f.BoolVar(&o.Keep, "keep", false, "leave the files of a run that is interrupted or fails")                 // to look at what went wrong
	f.BoolVar(&o.clean, "clean", false, "remove what an interrupted run left, and do nothing else")            // takes a prefix, no numbers
	f.StringVar(&o.plot, "plot", "", "draw latencies over time into this `file`, as SVG")                      // one panel for each phase
	c.MarkFlagsMutuallyExclusive("wire", "relaxed")
	c.MarkFlagsMutuallyExclusive("wire", "clean")
	return c
}

// parse parses the arguments: three numbers and a prefix, or with --clean only a prefix. It refuses shapes that are too
// large before any work. It fails with Invalid, as an error of the command line.
func (o *benchmarkOptions) parse(args []string) error {
	if o.clean {
		if len(args) > 1 {
			return cli.Usage(errs.New(errs.Invalid, "hemera.ReadArguments", args[0], "--clean takes a prefix only").
				WithRemedy("hemera ns benchmark --clean [prefix]"))
		}
		if len(args) == 1 {
			o.Prefix = args[0]
		}
		return nil
	}
	if len(args) < 3 {
		return cli.Usage(errs.New(errs.Invalid, "hemera.ReadArguments", "", fmt.Sprintf("%d of the three numbers are there", len(args))).
			WithRemedy("hemera ns benchmark <threads> <subdirs> <files> [prefix], for example: hemera ns benchmark 100 10 10"))
	}
	for i, n := range []*int{&o.Threads, &o.Subdirs, &o.Files} {
		var err error
		if *n, err = strconv.Atoi(args[i]); err != nil {
			return cli.Usage(errs.New(errs.Invalid, "read "+[]string{"threads", "subdirs", "files"}[i], args[i], "is not a number"))
		}
	}
	if len(args) == 4 {
		o.Prefix = args[3]
	}
	if !o.wire.on && (o.wire.full || o.wire.depth != 1) {
		return cli.Usage(errs.New(errs.Invalid, "hemera.ReadFlags", "", "--depth and --full are for --wire"))
	}
	// The limits of the manager, so that the error comes before any work.
	shape, err := nsbench.ShapeOf(o.BenchmarkRequest)
	if err == nil {
		shape.Depth = o.wire.depth
		err = shape.Check()
	}
	if err != nil {
		return cli.Usage(err)
	}
	return nil
}

// cleanBenchmark removes the files of an interrupted run. It succeeds if there are none.
func cleanBenchmark(ctx context.Context, e *cli.Env, m *admin.Client, o benchmarkOptions) error {
	base, err := nsbench.BaseOf(o.Prefix)
	if err != nil {
		return err
	}
	switch err := m.Benchmark.CleanBenchmark(ctx, hemera.Identity{}, o.Prefix); {
	case errors.Is(err, errs.NotFound):
		e.Say("%s is not there", base)
	case err != nil:
		return err
	default:
		e.Say("%s removed", base)
	}
	return nil
}

// benchmark runs the phases once, or twice with --relaxed: with and without waiting for the disk. It creates the plot
// first, so that an error about the file is found before minutes of measuring.
func benchmark(ctx context.Context, e *cli.Env, m *admin.Client, o benchmarkOptions) (err error) {
	t := &benchmarkTeller{e: e, request: o.BenchmarkRequest, wire: o.wire}
	if o.plot != "" {
		t.request.Series = true
		if t.plot, err = os.Create(o.plot); err != nil { // before the work, not after it
			return errs.Wrap(err, "hemera.Plot", o.plot)
		}
		defer t.plot.Close()
	}
	if o.wire.on {
		return t.end(throughDoor(ctx, e, m, t))
	}
	err = insideManager(ctx, e, m, t, false)
	if err == nil && o.Relaxed {
		err = insideManager(ctx, e, m, t, true)
	}
	return t.end(err)
}

// cleanWait bounds the wait for a manager that is ending an interrupted run. A run may have made millions of files, which
// are removed one by one.
const cleanWait = 10 * time.Minute

// insideManager makes the manager run the phases. If the command is interrupted, it waits until the manager has removed
// the files of the run, which it begins to do when the request is cancelled.
func insideManager(ctx context.Context, e *cli.Env, m *admin.Client, t *benchmarkTeller, relaxed bool) error {
	r := t.request // a copy: the second run differs
	r.Relaxed, t.relaxed = relaxed, relaxed
	defer whenInterrupted(ctx, e, t)()
	err := m.Benchmark.Benchmark(ctx, hemera.Identity{}, r, t.update)
	if ctx.Err() == nil || r.Keep {
		return err
	}
	// The command's context has ended; the removal needs one that has not.
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanWait)
	defer cancel()
	if cleanErr := m.Benchmark.CleanBenchmark(clean, hemera.Identity{}, r.Prefix); cleanErr != nil && !errors.Is(cleanErr, errs.NotFound) {
		return cleanErr
	}
	return errs.Wrap(ctx.Err(), "hemera.Benchmark", "")
}

// whenInterrupted tells the user why an interrupted command does not end at once, and lets a second interruption end it.
// The returned function ends the watch, and waits until a current message is printed.
func whenInterrupted(ctx context.Context, e *cli.Env, t *benchmarkTeller) func() {
	said := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(said)
		// From now on an interruption ends the process.
		signal.Reset(os.Interrupt)
		if t.request.Keep {
			t.say("interrupted: what the run made is left where it is")
			return
		}
		t.say("interrupted: what the run made is being removed; interrupt again to leave it there")
	})
	return func() {
		if !stop() {
			<-said
		}
	}
}
