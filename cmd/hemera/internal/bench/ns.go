package bench

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hemera/cmd/hemera/internal/cli"
	"hemera/measure/nsbench"
	"hemera/measure/result"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// nsLevel measures the namespace by the phases of `hemera ns benchmark`, in the manager's process. Package nsbench
// defines the phases; a run here repeats them and keeps every sample.
type nsLevel struct {
	e                       *cli.Env
	threads, subdirs, files int                    // as in adminapi.BenchmarkRequest
	iterations              int                    // repetitions of all phases
	prefix                  string                 // parent of the tree
	given                   func(flag string) bool // whether the user gave the flag; nil before flags
}

// nsCommand makes `hemera bench ns`. Its defaults are the middle shape of CERN's table: 100 threads, 1 directory, 100 files.
func nsCommand(s *session) *cobra.Command {
	return s.command(&nsLevel{e: s.e}, &cobra.Command{
		Use: "ns", Short: "Measure the namespace: directories and files made, looked at, opened, removed", Args: cobra.NoArgs,
		Long: `Measures the namespace with the phases of CERN's ns benchmark, some times, inside the manager's process:
--threads workers make --subdirs directories with --files empty files each, make them all again, open
them to read and to write, and remove them. Every change is on the disk before it counts.

hemera ns benchmark does the same once, and through the network with --wire.`,
		Example: `  hemera bench ns --quick
  hemera bench ns --threads 1000 --files 100 --iterations 10    the shape of CERN's figures`,
	})
}

// name implements level.
func (l *nsLevel) name() string { return "ns" }

// flags implements level.
func (l *nsLevel) flags(f *pflag.FlagSet) {
	f.IntVar(&l.threads, "threads", 100, "workers at once")
	f.IntVar(&l.subdirs, "subdirs", 1, "directories of each worker")
	f.IntVar(&l.files, "files", 100, "files in each directory")
	f.IntVar(&l.iterations, "iterations", 5, "how often all phases are run")
	f.StringVar(&l.prefix, "prefix", "", "the `directory` below which the tree is made (default /)")
	l.given = f.Changed
}

// check implements level. The manager checks the limits of the shape.
func (l *nsLevel) check(_ []string, quick bool) error {
	if l.given == nil { // in a run of all levels: without its own command line
		l.flags(pflag.NewFlagSet("", pflag.ContinueOnError))
	}
	if quick && !l.given("iterations") {
		l.iterations = 3
	}
	if l.iterations < 1 || l.iterations > 1000 {
		return errs.New(errs.Invalid, "hemera.Bench", "--iterations", "it takes 1 to 1000")
	}
	_, err := nsbench.ShapeOf(l.request())
	return err
}

// request returns the shape of one iteration.
func (l *nsLevel) request() adminapi.BenchmarkRequest {
	return adminapi.BenchmarkRequest{Threads: l.threads, Subdirs: l.subdirs, Files: l.files, Prefix: l.prefix}
}

// run implements level. One iteration follows the other: two at once would disturb each other.
func (l *nsLevel) run(ctx context.Context, rec *result.Recorder) error {
	m, err := l.e.Manager()
	if err != nil {
		return err
	}
	rec.Set("threads", strconv.Itoa(l.threads))
	rec.Set("subdirs", strconv.Itoa(l.subdirs))
	rec.Set("files", strconv.Itoa(l.files))
	rec.Note("The manager runs the phases in its own process: without network and protocol. Each answer is durable.")
	for _, f := range nsFigures() {
		rec.Figure(f)
	}
	for i := range l.iterations {
		err := m.Benchmark.Benchmark(ctx, hemera.Identity{}, l.request(), func(u adminapi.BenchmarkUpdate) error {
			switch {
			case u.Setup != nil:
				rec.Set("manager_cores", strconv.Itoa(u.Setup.Cores))
			case u.Progress != nil:
				rec.Step(i, l.iterations, "iteration %d of %d: %s, %.0f/s", i+1, l.iterations, u.Progress.Phase, u.Progress.Rate)
			case u.Result != nil:
				addPhase(rec, u.Result)
			}
			return nil
		})
		if err != nil {
			return l.unreachable(rec, l.cleaned(ctx, err))
		}
	}
	return nil
}

// unreachable skips the level if no manager answers: the levels of the hardware need none.
func (l *nsLevel) unreachable(rec *result.Recorder, err error) error {
	if errors.Is(err, errs.Unavailable) {
		rec.Skip("namespace", errs.Reason(err, ""), "start a cluster with hemera up DIR, or name one with --url")
		return nil
	}
	return err
}

// cleanWait bounds the wait for a manager that ends an interrupted run and removes its tree.
const cleanWait = 10 * time.Minute

// cleaned returns the error of a run. It waits until an interrupted run has removed its files.
func (l *nsLevel) cleaned(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	m, cause := l.e.Manager()
	if cause != nil {
		return errors.Join(err, cause)
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanWait)
	defer cancel()
	if cause := m.Benchmark.CleanBenchmark(clean, hemera.Identity{}, l.prefix); cause != nil && !errors.Is(cause, errs.NotFound) {
		return errors.Join(err, cause)
	}
	return err
}

// addPhase adds the results of one phase: a sample to each of its measures. Failures become notes, because rates look
// better with them.
func addPhase(rec *result.Recorder, r *adminapi.BenchmarkResult) {
	labels := result.Labels{"phase": r.Phase}
	// The manager reports a phase when it has ended. Time includes only the time of its clock.
	ended := time.Now()
	rec.Worked(result.Iteration{Labels: labels, Began: ended.Add(-r.Time), Ended: ended, Ops: r.Main.Ops})
	if r.Time > 0 {
		rec.Add(result.Measure{Name: "rate", Labels: labels, Unit: "1/s", Better: result.Higher, Samples: []float64{float64(r.Main.Ops) / r.Time.Seconds()}})
	}
	rec.Add(result.Measure{Name: "latency_p50", Labels: labels, Unit: "s", Better: result.Lower, Samples: []float64{r.Main.P50.Seconds()}})
	rec.Add(result.Measure{Name: "latency_p99", Labels: labels, Unit: "s", Better: result.Lower, Samples: []float64{r.Main.P99.Seconds()}})
	if r.CPU > 0 && r.Main.Ops > 0 {
		rec.Add(result.Measure{Name: "cpu_per_operation", Labels: labels, Unit: "s", Better: result.Lower, Samples: []float64{r.CPU.Seconds() / float64(r.Main.Ops)}})
	}
	for _, f := range r.Failures {
		rec.Note("%s: %d operations failed, such as: %s", r.Phase, r.Main.Errors, f.Text)
	}
}

// nsFigures returns the plots of the level, by phase like CERN's table.
func nsFigures() []result.Figure {
	return []result.Figure{
		{ID: "ns-rate", Title: "Namespace operations", Caption: "Operations a second by phase, all workers together.", Kind: result.Bars, Names: []string{"rate"}, X: "phase"},
		{ID: "ns-latency", Title: "Latency of namespace operations", Kind: result.Bars, Names: []string{"latency_p50", "latency_p99"}, X: "phase",
			Caption: "Half of the operations, and 99 of 100, took no longer."},
	}
}
