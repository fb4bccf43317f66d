package bench

import (
	"fmt"
	"strings"

	"hemera/cmd/hemera/internal/output"
	"hemera/measure/report"
	"hemera/measure/result"
	"hemera/measure/stats"
)

// rowsMax bounds the rows that a run prints for a person.
const rowsMax = 60

// columns returns the columns of the table at the end of a run. The keys are those of -m and -j, whose values have the
// units of result.json.
func columns() []output.Column {
	return []output.Column{
		{Title: "LEVEL", Key: "level"}, {Title: "MEASURE", Key: "measure"}, {Title: "CONDITIONS", Key: "labels"},
		{Title: "MEAN ± SD", Key: "text"}, {Title: "N", Key: "samples", Wide: 2}, {Title: "OF PEAK", Key: "of_peak", Show: output.Percent, Wide: 1},
	}
}

// show prints the measures of the run, the skipped parts, and the directory. Programs get only the measures: the rest is
// in result.json.
func (s *session) show() error {
	var records []output.Record
	for _, l := range s.run.Levels {
		for _, m := range l.Measures {
			// For people the sum of the cores is enough: the report shows each.
			if core := m.Labels["core"]; core != "" && core != "all" && !s.e.ForPrograms() {
				continue
			}
			records = append(records, record(l.Name, m))
		}
	}
	// A person reads a page; the report has all.
	if rows := len(records); rows > rowsMax && !s.e.ForPrograms() && !s.e.Verbose() {
		fmt.Fprintf(s.e.Out, "%d figures were measured: the report shows them, and --verbose lists them here\n", rows)
	} else if err := s.e.List(columns(), records, "nothing was measured"); err != nil || s.e.ForPrograms() {
		return err
	}
	for _, l := range s.run.Levels {
		for _, n := range l.Notes {
			fmt.Fprintf(s.e.Out, "%s: %s\n", l.Name, n)
		}
		for _, k := range l.Skipped {
			fmt.Fprintf(s.e.Out, "not measured: %s: %s (%s)%s\n", k.What, k.Why, l.Name, prefixed("; ", k.Remedy))
		}
	}
	if lines := report.Summary(&s.run); len(lines) > 0 {
		fmt.Fprintf(s.e.Out, "\n%s\n", strings.Join(lines, "\n"))
	}
	fmt.Fprintf(s.e.Out, "\nThe run is in %s, its report is %s\n", s.out, report.Path(s.out))
	return nil
}

// prefixed returns the text with a prefix, or "" for an empty text.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// record returns the record of one measure, for the table and for programs. Labels are sorted, so that the same
// conditions have the same text in every run.
func record(level string, m result.Measure) output.Record {
	s := stats.Of(m)
	r := output.Record{
		{Key: "level", Value: level}, {Key: "measure", Value: m.Name}, {Key: "labels", Value: stats.Conditions(m.Labels)},
		{Key: "mean", Value: s.Mean}, {Key: "sd", Value: s.SD}, {Key: "unit", Value: m.Unit}, {Key: "samples", Value: s.N},
		{Key: "text", Value: stats.Quantity(s.Mean, s.SD, m.Unit)},
	}
	if m.Estimate {
		r[len(r)-1].Value = stats.Quantity(s.Mean, s.SD, m.Unit) + " (estimate)"
	}
	if m.Peak > 0 {
		r = append(r, output.Field{Key: "of_peak", Value: 100 * s.Mean / m.Peak})
	}
	return r
}
