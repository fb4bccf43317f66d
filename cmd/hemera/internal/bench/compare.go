package bench

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/measure/report"
	"hemera/measure/stats"
	"hemera/words/errs"
)

// comparison is one `hemera bench compare`.
type comparison struct {
	e          *cli.Env
	confidence float64 // of the intervals, in percent
	different  bool    // show differences only
	html       string  // a file for the page that compares them
}

// compareCommand makes `hemera bench compare`.
func compareCommand(e *cli.Env) *cobra.Command {
	o := comparison{e: e}
	c := &cobra.Command{
		Use: "compare BASE RUN…", Short: "Compare runs: ratios, intervals, and whether a difference is more than noise", Args: cobra.MinimumNArgs(2),
		Long: `Compares what runs measured under the same conditions: level, name and labels. Each run is compared with
the first one. A run is the directory that --out made, or its result.json.

  RATIO    median of RUN divided by median of BASE
  INTERVAL where the ratio is with 95 % confidence (bootstrap)
  VERDICT  difference: the interval does not hold 1. noise: it does.
           unknown: fewer than 3 samples, values without a ratio, or a machine that had other work

The last line counts them. The page of --html has the same verdicts.

Three samples on each side prove a difference with 90 % at most; --iterations 5 is better. Of a hundred
measures that did not change, some look different by chance: trust what is repeated.`,
		Example: `  hemera bench compare before after
  hemera bench compare before after --different
  hemera bench compare before after --html compared.html
  hemera bench compare before after -j | jq '.result[] | select(.verdict == "difference" and .better == "base")'`,
		RunE: func(_ *cobra.Command, args []string) error { return o.run(args) },
	}
	c.Flags().Float64Var(&o.confidence, "confidence", 95, "of the intervals, in `percent`")
	c.Flags().BoolVar(&o.different, "different", false, "show the measures that differ, and no others")
	c.Flags().StringVar(&o.html, "html", "", "write the runs beside each other into a `file`, to look at")
	return c
}

// run reads the runs and prints the comparisons with the first one. A difference is no failure.
func (o *comparison) run(paths []string) error {
	if o.confidence < 50 || o.confidence > 99.99 {
		return cli.Usage(errs.New(errs.Invalid, "hemera.Bench", "--confidence", "it takes 50 to 99.99"))
	}
	// All are read before anything is printed.
	runs, err := readRuns(paths)
	if err != nil {
		return err
	}
	if o.html != "" {
		if err := report.WritePage(o.html, runs, o.confidence/100); err != nil {
			return err
		}
	}
	// Programs get the pairs; measures of only one run are for people.
	var records []output.Record
	var alone, overall []string
	for i, other := range runs[1:] {
		// i counts from the second run.
		pairs, onlyBase, onlyOther := stats.CompareRuns(runs[0], other, o.confidence/100)
		overall = append(overall, fmt.Sprintf("%s against %s: %s", paths[i+1], paths[0], stats.Overall(pairs)))
		for _, p := range pairs {
			if !o.different || p.Verdict == stats.Difference {
				records = append(records, compared(paths[0], paths[i+1], p))
			}
		}
		alone = append(append(alone, lonely(paths[0], onlyBase)...), lonely(paths[i+1], onlyOther)...)
	}
	if err := o.e.List(comparisonColumns(len(runs) > 2), records, "no measure differs or is in both runs"); err != nil || o.e.ForPrograms() {
		return err
	}
	for _, line := range append(alone, overall...) {
		fmt.Fprintln(o.e.Out, line)
	}
	return nil
}

// comparisonColumns returns the columns of the table. Only several comparisons need the name of the run.
func comparisonColumns(several bool) (all []output.Column) {
	if several {
		all = []output.Column{{Title: "COMPARED", Key: "run"}}
	}
	return append(all, output.Column{Title: "LEVEL", Key: "level", Wide: 2}, output.Column{Title: "MEASURE", Key: "measure"}, output.Column{Title: "CONDITIONS", Key: "labels"},
		output.Column{Title: "BASE", Key: "base_text"}, output.Column{Title: "RUN", Key: "run_text"}, output.Column{Title: "RATIO", Key: "ratio", Show: output.Digits(3)},
		output.Column{Title: "INTERVAL", Key: "interval"}, output.Column{Title: "VERDICT", Key: "judgement"})
}

// compared returns the record of one comparison. Programs get numbers in the units of result.json.
func compared(basePath, path string, p stats.Pair) output.Record {
	interval, better := "-", map[string]string{"A": "base", "B": "run"}[p.Better]
	// The confidence of an interval is shown if it is lower than requested.
	if p.Confidence > 0 {
		interval = fmt.Sprintf("%.3f – %.3f (%.0f %%)", p.Interval.Low, p.Interval.High, 100*p.Confidence)
	}
	return output.Record{
		{Key: "base", Value: basePath}, {Key: "run", Value: path}, {Key: "level", Value: p.Level}, {Key: "measure", Value: p.Name}, {Key: "labels", Value: p.Labels},
		{Key: "unit", Value: p.Unit}, {Key: "base_median", Value: p.A.Median}, {Key: "base_samples", Value: p.A.N}, {Key: "run_median", Value: p.B.Median},
		{Key: "run_samples", Value: p.B.N}, {Key: "base_text", Value: stats.Quantity(p.A.Median, 0, p.Unit)}, {Key: "run_text", Value: stats.Quantity(p.B.Median, 0, p.Unit)},
		{Key: "ratio", Value: p.Ratio}, {Key: "low", Value: p.Interval.Low}, {Key: "high", Value: p.Interval.High}, {Key: "confidence", Value: p.Confidence},
		{Key: "interval", Value: interval}, {Key: "verdict", Value: string(p.Verdict)}, {Key: "better", Value: better}, {Key: "basis", Value: p.Basis}, {Key: "judgement", Value: p.Judgement()},
	}
}

// lonely returns lines for measures of only one run, at most some of them.
func lonely(path string, keys []stats.Key) (lines []string) {
	const most = 10
	for i, k := range keys {
		// The rest is in the files.
		if i == most {
			return append(lines, fmt.Sprintf("only in %s: %d more", path, len(keys)-most))
		}
		lines = append(lines, fmt.Sprintf("only in %s: %s", path, strings.TrimSpace(k.Level+" "+k.Name+" "+k.Labels)))
	}
	return lines
}
