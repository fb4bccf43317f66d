package doctor

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/measure/doctor"
	"hemera/measure/doctor/observe"
	"hemera/measure/doctor/settings"
	"hemera/words/errs"
)

// undoFile returns the path of the file in which --fix saves the values before: in the state directory of this machine's
// servers.
func undoFile(e *cli.Env) string {
	data := ""           // the setting of managers and nodes
	if e.Getenv != nil { // documents are made without an environment
		data = e.Getenv("HEMERA_DATA")
	}
	return filepath.Join(cmp.Or(data, "/var/lib/hemera"), "doctor-undo.json")
}

// change makes the changes of the findings, after a question, and shows their effect.
func (x *examination) change(c *cobra.Command) error {
	plan, err := settings.Plan(x.o.Root, x.report.Findings)
	if err != nil {
		return err
	}
	// Findings without a setting, or settings that are right already.
	if len(plan) == 0 {
		x.tellPeople("\nno setting is to be changed\n")
		return nil
	}
	// Programs get the changes of --dry-run as records of the list. Agree would print another object.
	if x.agree.Dry && x.e.ForPrograms() {
		x.made = plan // shown like the others, but nothing is done
		return nil
	}
	stake := []string{fmt.Sprintf("settings that change, until the machine restarts; %s keeps what was there:", x.file)}
	// Each change is shown before the question, with its old value.
	for _, p := range plan {
		stake = append(stake, "  "+p.String())
	}
	// Without a terminal it needs --yes, so that no script changes a machine by accident.
	ok, err := x.e.Agree(c.Context(), x.agree, "doctor --fix", stake)
	if err != nil || !ok {
		return err
	}
	// From here on there may be something to undo.
	x.made, err = settings.Apply(x.o.Root, x.file, plan)
	if err != nil {
		return remedied(err)
	}
	x.tellPeople("\n%s changed; hemera doctor --undo puts back what was there\n", output.Count(int64(len(x.made)), "setting"))
	return x.compare(c.Context())
}

// compare measures again, and shows the effect of the changes on each level.
func (x *examination) compare(ctx context.Context) error {
	if x.e.ForPrograms() { // a program can measure by itself
		return nil
	}
	// The same measurements, so that the two columns can be compared.
	stop := x.e.Follow(x.drawn)
	s, err := observe.Take(ctx, x.o)
	stop()
	if err != nil {
		return err
	}
	after := doctor.Diagnose(s)
	fmt.Fprintln(x.e.Out)
	var list []output.Record // levels with both rates
	for i, l := range after.Levels {
		// The same levels were measured; if a file system has disappeared the comparison ends.
		if i >= len(x.report.Levels) || x.report.Levels[i].Name != l.Name || x.report.Levels[i].Rate <= 0 {
			break
		}
		before := x.report.Levels[i].Rate
		list = append(list, output.Record{
			{Key: "level", Value: l.Name}, {Key: "subject", Value: l.Subject}, {Key: "before", Value: doctor.RateText(before)},
			{Key: "after", Value: doctor.RateText(l.Rate)}, {Key: "ratio", Value: l.Rate / before},
		})
	}
	// A ratio above 1 is the gain of the change, or less other work.
	columns := []output.Column{{Title: "LEVEL", Key: "level"}, {Title: "OF", Key: "subject"}, {Title: "BEFORE", Key: "before"}, {Title: "AFTER", Key: "after"}, {Title: "RATIO", Key: "ratio", Show: output.Digits(2)}}
	return x.e.List(columns, list, "nothing was measured again")
}

// putBack undoes the changes of --fix. It does not ask, because it restores earlier values.
func (x *examination) putBack() error {
	x.o.Root = cmp.Or(x.o.Root, "/")
	// No question: the user asked for what was there before.
	back, left, err := settings.Undo(x.o.Root, x.file)
	if err != nil {
		return remedied(err)
	}
	if x.e.ForPrograms() {
		return x.e.Printer().List(nil, append(changes(back, "restored"), changes(left, "left")...))
	}
	for _, c := range back {
		x.tellPeople("/%s is %s again\n", c.File, c.Before)
	}
	for _, c := range left {
		x.tellPeople("/%s was changed since, and is left; before it was %s\n", c.File, c.Before)
	}
	// The file existed, but nothing had to be restored.
	if len(back)+len(left) == 0 {
		x.tellPeople("every setting had its old value already, as after a restart\n")
	}
	return nil
}

// tellPeople prints a text unless a program reads the result.
func (x *examination) tellPeople(format string, args ...any) {
	if !x.e.ForPrograms() {
		fmt.Fprint(x.e.Out, x.e.Visible(fmt.Sprintf(format, args...)))
	}
}

// remedied adds the most frequent remedy: only root may change settings of the kernel.
func remedied(err error) error {
	return cli.Advise(err, errs.Denied, "run it as root: sudo hemera doctor …")
}

// changes returns the records of changes, for programs.
func changes(list []settings.Change, kind string) (records []output.Record) {
	for _, c := range list {
		records = append(records, output.Record{
			{Key: "kind", Value: kind}, {Key: "id", Value: c.ID}, {Key: "subject", Value: c.Subject}, {Key: "file", Value: "/" + c.File},
			{Key: "before", Value: c.Before}, {Key: "after", Value: c.After},
		})
	}
	return records
}
