package bench

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/measure/report"
)

// reportCommand makes `hemera bench report`.
func reportCommand(e *cli.Env) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "report RUN…", Short: "Make the report of runs again, or one of several runs beside each other", Args: cobra.MinimumNArgs(1),
		Long: `Makes report.html and plots/ of runs. Each run of hemera bench ends with its report; this makes it again,
or one that has several runs beside each other, each in its colour and compared with the first.

report.html needs nothing but itself: it can be sent and opened without a network. plots/ has every figure
as SVG, PNG, CSV and JSON.`,
		Example: `  hemera bench report hemera-bench-20261123-101500
  hemera bench report before after --out compared`,
		RunE: func(_ *cobra.Command, args []string) error {
			runs, err := readRuns(args)
			if err != nil {
				return err
			}
			// One run's report belongs to it. One of several belongs to none of them.
			if out == "" && len(args) == 1 {
				out = runDirectory(args[0])
			}
			if out == "" {
				out = "hemera-report"
			}
			if err := report.Write(out, runs); err != nil {
				return err
			}
			e.Say("The report is %s", report.Path(out))
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", "", "`directory` of the report (default: that of the run, or hemera-report)")
	return c
}

// runDirectory is the directory of a run that the user named by it, or by its result.json.
func runDirectory(path string) string {
	if st, err := os.Stat(path); err == nil && !st.IsDir() {
		return filepath.Dir(path)
	}
	return path
}
