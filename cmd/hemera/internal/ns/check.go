package ns

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/namespace"
	"hemera/process/statedir"
	"hemera/words/adminapi"
	"hemera/words/errs"
)

// nsCheckCommand makes `hemera ns check`. It changes nothing, with a manager and without.
func nsCheckCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "check [DIR]", Short: "Compare the namespace's records with each other", Args: cobra.MaximumNArgs(1),
		Long: `Computes again everything the namespace stores in more than one place and compares: tree
totals, the place of each id, the lists and usage of disks, incomplete files, pieces to remove,
quotas, the event log and the manager's cache. It reads one snapshot of the store from end to end, while
the manager goes on serving; a check of 100 million files takes minutes. Ctrl-C ends it.

With DIR, the state directory of a manager or of hemera up that does not run, the store is read
directly. For what disks hold see hemera fsck report.

The exit status is 0 when everything agrees and 1 when something does not or the check failed.`,
		Example: `  hemera ns check
  hemera ns check -j
  hemera ns check /var/lib/hemera`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return checkState(c.Context(), e, args[0])
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				return checking(e, func(progress func(adminapi.NamespaceCheck)) (adminapi.NamespaceCheck, error) {
					return m.Maint.CheckNamespace(ctx, func(c adminapi.NamespaceCheck) error { progress(c); return nil })
				})
			})
		},
	}
}

// checkState checks the store of a manager that does not run. It fails if a manager has the store open, because the store
// is locked. It returns the error of Close only if nothing failed before.
func checkState(ctx context.Context, e *cli.Env, dir string) (err error) {
	store, err := statedir.Open(dir, false, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := store.Close(); err == nil {
			err = closeErr
		}
	}()
	tree, err := namespace.Open(ctx, store, namespace.Options{Owner: "ns check"})
	if err != nil {
		return err
	}
	// The error of Close does not matter, because nothing was changed.
	defer func() { _ = tree.Close() }() // nothing was changed
	return checking(e, func(progress func(adminapi.NamespaceCheck)) (adminapi.NamespaceCheck, error) {
		return tree.Inspection.CheckWith(ctx, namespace.CheckOptions{Workers: runtime.GOMAXPROCS(0), Progress: progress})
	})
}

// checking runs a check with a progress line, and prints the report. The check's goroutines set the progress; another
// draws the line.
func checking(e *cli.Env, check func(progress func(adminapi.NamespaceCheck)) (adminapi.NamespaceCheck, error)) error {
	var last atomic.Pointer[adminapi.NamespaceCheck]
	last.Store(&adminapi.NamespaceCheck{}) // the line may be drawn before the first report
	stop := e.Follow(func() string { return checkLine(*last.Load()) })
	report, err := check(func(c adminapi.NamespaceCheck) { last.Store(&c) })
	stop()
	if err != nil {
		return err
	}
	return printCheck(e, report)
}

// checkLine returns the progress line of a check. RecordsTotal is an estimate.
func checkLine(c adminapi.NamespaceCheck) string {
	rate := float64(c.Records) / max(c.Took.Seconds(), 1e-3)
	b := fmt.Sprintf("%s  %d of about %d records  %.0f/s", cli.Bar(cli.Percent(c.Records, c.RecordsTotal), 24), c.Records, c.RecordsTotal, rate)
	if left := c.RecordsTotal - c.Records; left > 0 && rate > 0 {
		b += "  " + output.Seconds(float64(left)/rate) + " to go"
	}
	if c.ProblemCount > 0 {
		b += "  " + output.Count(c.ProblemCount, "problem")
	}
	return b
}

// printCheck prints a report, and fails with Corrupt if it has problems. Programs get one record of counts, and then one
// for each named problem.
func printCheck(e *cli.Env, c adminapi.NamespaceCheck) error {
	if e.ForPrograms() {
		s := e.Stream(nil)
		head := output.Record{
			{Key: "files", Value: c.Files}, {Key: "directories", Value: c.Dirs}, {Key: "pieces", Value: c.Pieces}, {Key: "records", Value: c.Records},
			{Key: "seconds", Value: c.Took.Seconds()}, {Key: "healthy", Value: c.Healthy()}, {Key: "problems", Value: c.ProblemCount},
			{Key: "recycled.files", Value: c.Recycled.Files}, {Key: "recycled.directories", Value: c.Recycled.Dirs}, {Key: "restored", Value: cli.Unix(c.WentBack.Restored)},
			{Key: "leaving", Value: c.Leaving},
		}
		_ = s.Add(head)
		// A bounded number of problems is named; the count includes all.
		for _, p := range c.Problems {
			_ = s.Add(output.Record{{Key: "problem", Value: p}})
		}
		if c.Healthy() {
			return s.Close()
		}
		return unhealthy(e, c)
	}
	verdict := "everything agrees"
	if !c.Healthy() {
		verdict = output.Count(c.ProblemCount, "problem")
	}
	for _, p := range c.Problems {
		fmt.Fprintln(e.Out, e.Visible(p))
	}
	fmt.Fprintf(e.Out, "%s, %s, %s: %s  (%s)\n", output.Count(c.Files, "file"), output.Count(c.Dirs, "directory"),
		output.Count(c.Pieces, "piece"), verdict, output.Seconds(c.Took.Seconds()))
	if c.Recycled.Files+c.Recycled.Dirs > 0 {
		fmt.Fprintf(e.Out, "  of them in recycle bins, which other counts leave out: %s, %s\n", output.Count(c.Recycled.Files, "file"), output.Count(c.Recycled.Dirs, "directory"))
	}
	if c.Leaving > 0 {
		fmt.Fprintf(e.Out, "  not among the pieces: %s of replaced or removed content, held for readers or on their way out\n", output.Count(c.Leaving, "piece"))
	}
	if !c.WentBack.Restored.IsZero() {
		fmt.Fprintf(e.Out, "%s; this compares records alone\n  %s\n", c.WentBack.Text(), c.WentBack.Remedy())
	}
	if c.Healthy() {
		return nil
	}
	return unhealthy(e, c)
}

// unhealthy returns the error of a namespace with problems.
func unhealthy(e *cli.Env, c adminapi.NamespaceCheck) error {
	return errs.New(errs.Corrupt, "hemera.CheckTheNamespace", "", output.Count(c.ProblemCount, "problem")+" found").
		WithRemedy("keep a copy of the manager's store and its log, and restore the latest backup that checks clean")
}
