package bench

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/measure/reference"
	"hemera/measure/report"
	"hemera/measure/result"
	"hemera/words/errs"
)

// reporting is one `hemera bench report`.
type reporting struct {
	e         *cli.Env
	out       string   // the directory
	reference []string // names of published figures
}

// reportCommand makes `hemera bench report`.
func reportCommand(e *cli.Env) *cobra.Command {
	o := reporting{e: e}
	c := &cobra.Command{
		Use: "report RUN…", Short: "Make the report of runs again, or one of several runs beside each other",
		Long: `Makes report.html and plots/ of runs. Each run of hemera bench ends with its report; this makes it again,
or one that has several runs beside each other, each in its colour and compared with the first.

--reference shows published figures beside, of the levels that the runs have. Without a run they are
shown alone; list names them.

report.html needs nothing but itself: it can be sent and opened without a network. plots/ has every figure
as SVG, PNG, CSV and JSON.`,
		Example: `  hemera bench report hemera-bench-20261123-101500
  hemera bench report before after --out compared
  hemera bench report before --reference eos-arm,odroid,x86-ceph
  hemera bench report --reference list`,
		RunE: func(_ *cobra.Command, args []string) error { return o.run(args) },
	}
	c.Flags().StringVar(&o.out, "out", "", "`directory` of the report (default: that of the run, or hemera-report)")
	referenceFlag(c.Flags(), &o.reference)
	return c
}

// run makes the report. It replaces an earlier one in the same directory.
func (o *reporting) run(paths []string) error {
	if slices.Contains(o.reference, referenceList) {
		return listReferences(o.e)
	}
	if len(paths)+len(o.reference) == 0 {
		return cli.Usage(errs.New(errs.Invalid, "hemera.Bench", "report", "no run was named").WithRemedy("name directories of runs, or published figures with --reference"))
	}
	// A wrong name is an error of the command line.
	published, err := reference.Find(o.reference)
	if err != nil {
		return cli.Usage(err)
	}
	runs, err := readRuns(paths)
	if err != nil {
		return err
	}
	// The report of one run belongs to its directory; that of several belongs to none of them.
	switch {
	case o.out != "":
	case len(paths) == 1:
		o.out = runDirectory(paths[0])
	default:
		o.out = "hemera-report"
	}
	if err := report.Write(o.out, beside(runs, published)); err != nil {
		return err
	}
	o.e.Say("The report is %s", report.Path(o.out))
	return nil
}

// readRuns reads runs of directories or files. It fails at the first that cannot be read, because a report without it
// would mislead.
func readRuns(paths []string) (runs []*result.Run, err error) {
	for _, p := range paths {
		run, err := result.Read(p)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// runDirectory returns the directory of a run, which the user named by it or by its result.json.
func runDirectory(path string) string {
	if st, err := os.Stat(path); err == nil && !st.IsDir() {
		return filepath.Dir(path)
	}
	return path
}
