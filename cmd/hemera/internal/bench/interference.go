package bench

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hemera/measure/load"
	"hemera/measure/result"
	"hemera/words/errs"
)

// interferenceLevel measures whether targets slow each other when they are used at once. Clients and files are those of
// ioLevel.
type interferenceLevel struct {
	ioLevel
	limit string // common limit of all targets, as written
}

// interferenceCommand makes `hemera bench interference`. Its defaults take a minute for two targets on one machine.
func interferenceCommand(s *session) *cobra.Command {
	l := &interferenceLevel{ioLevel: ioLevel{e: s.e}}
	c := s.command(l, &cobra.Command{
		Use: "interference TARGET TARGET…", Short: "Measure whether targets that are read at once slow each other", Args: cobra.ArbitraryArgs,
		Long: `Reads each target alone, then all of them at once, then each alone again: do several clusters, or several
directories of one, slow each other? The result has for each target its throughput alone, together and
alone again, the ratio, and a verdict from the iterations: slowed, not slowed, or too noisy to say.

A target is root://host//directory or a directory, as for hemera bench io. --limit is what all targets share,
such as the network of this machine: the sum of all targets is shown as a share of it.`,
		Example: `  hemera bench interference root://eos1.example.org//scratch root://eos2.example.org//scratch
  hemera bench interference root://localhost//a root://localhost//b --load write,read --limit 3.125GB
  hemera bench interference /mnt/cephfs/scratch /mnt/nfs/scratch --clients 8 --files 8`,
		ValidArgsFunction: targets,
	})
	// The words of this command are directions, not loads of io.
	_ = c.RegisterFlagCompletionFunc("load", cobra.FixedCompletions([]string{load.Read, load.Write}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// name implements level.
func (l *interferenceLevel) name() string { return "interference" }

// flags implements level.
func (l *interferenceLevel) flags(f *pflag.FlagSet) {
	f.StringSliceVar(&l.o.Loads, "load", []string{load.Read}, "read, write or both")
	// Several files, because the common time ends between two of them.
	l.common(f, 4, "64MiB")
	f.IntSliceVar(&l.o.Clients, "clients", []int{4}, "clients of each target; 2,4 is 2 and 4")
	// The limit of the sum is in none of the targets.
	f.StringVar(&l.limit, "limit", "", "bytes a second that all targets share, such as this machine's network: a `rate` such as 3.125GB")
	l.given = f.Changed
}

// check implements level. It does not access the targets.
func (l *interferenceLevel) check(args []string, quick bool) error {
	// Any number of targets; load checks whether they are enough.
	l.o.Targets = args
	// The user's choices stay, also with --quick.
	if quick {
		l.shorten()
	}
	l.clients = l.o.Clients
	err := l.numbers()
	// Numbers as given: there is no ramp here.
	l.o.Clients = l.clients
	// All mistakes are reported together.
	return errors.Join(err, parseRate("--limit", l.limit, &l.o.Limit), load.CheckInterference(l.o))
}

// shorten sets the options that the user did not choose so that the run takes seconds.
func (l *interferenceLevel) shorten() {
	// Three iterations are the least for a verdict.
	if !l.given("iterations") {
		l.o.Iterations = 3
	}
	if !l.given("clients") {
		l.o.Clients = []int{2}
	}
	// Small files keep the whole run below a minute.
	if !l.given("size") {
		*l.sizes["size"] = "16MiB"
	}
}

// run implements level. A target that does not answer is an error, because the user named it.
func (l *interferenceLevel) run(ctx context.Context, rec *result.Recorder) error {
	return errs.Wrap(load.Interference(ctx, l.o, rec), "hemera.Bench", "interference")
}
