package doctor

import (
	"cmp"
	"fmt"
	"strings"

	"hemera/cmd/hemera/internal/output"
	"hemera/measure/doctor"
)

// show prints the report: the levels, the narrowest one, the findings, and the missing information.
func (x *examination) show(s *doctor.Snapshot) error {
	// Programs get all kinds in one list; people get a table and text.
	r := x.report
	if x.e.ForPrograms() {
		kind := "changed"
		if x.agree.Dry {
			kind = "planned"
		}
		return x.e.Printer().List(nil, append(records(s, r), changes(x.made, kind)...))
	}
	return x.print(s, r)
}

// print prints a report for people.
func (x *examination) print(s *doctor.Snapshot, r doctor.Report) error {
	fmt.Fprintf(x.e.Out, "%s\n\n", x.e.Visible(machine(s)))
	// The last column may be left out on a narrow terminal.
	columns := []output.Column{{Title: "LEVEL", Key: "level"}, {Title: "OF", Key: "subject"}, {Title: "RATE", Key: "text"}, {Title: "MEASURED AS", Key: "how", Wide: 1}}
	// From the bottom up.
	var levels []output.Record
	for _, l := range r.Levels {
		levels = append(levels, level(l))
	}
	if err := x.e.List(columns, levels, "nothing was measured"); err != nil {
		return err
	}
	_, err := fmt.Fprint(x.e.Out, x.e.Visible(text(r)))
	return err
}

// machine returns one line about the machine: the known parts that determine its performance.
func machine(s *doctor.Snapshot) string {
	m := s.Machine
	parts := []string{cmp.Or(m.Name, "this machine"), cmp.Or(m.CPU, "unknown processor")}
	if m.Cores > 0 {
		parts = append(parts, output.Count(int64(m.Cores), "core"))
	}
	if m.Memory > 0 {
		parts = append(parts, doctor.SizeText(float64(m.Memory)))
	}
	if m.System != "" {
		parts = append(parts, m.System)
	}
	parts = append(parts, strings.TrimSpace("Linux "+m.Kernel))
	if m.Virtual != "" {
		parts = append(parts, "virtual")
	}
	return strings.Join(parts, ", ")
}

// text returns the text after the table.
func text(r doctor.Report) string {
	var b strings.Builder
	// The verdict follows the values on which it is based.
	if n := r.Narrow; n.Level != "" {
		fmt.Fprintf(&b, "\nnarrowest: %s\n", n.Why)
	}
	// In words, because an empty list could also mean that nothing was examined.
	switch {
	case len(r.Findings) > 0:
	case len(r.Unseen) > 0:
		b.WriteString("\nnothing is wrong with what is visible here\n")
	default:
		b.WriteString("\nnothing is wrong\n")
	}
	// The worst come first, each with its remedy.
	for _, f := range r.Findings {
		// Findings about the whole machine have no subject.
		subject := ""
		if f.Subject != "" {
			subject = " of " + f.Subject
		}
		fmt.Fprintf(&b, "\n%s  %s%s\n  %s\n  do:   %s\n", f.Severity, f.ID, subject, f.Evidence, f.Remedy)
		if f.Gain != "" {
			fmt.Fprintf(&b, "  gain: %s\n", f.Gain)
		}
	}
	// Missing information is last, and not shown as a fault.
	for i, u := range r.Unseen {
		if i == 0 {
			b.WriteString("\nnot visible here:\n")
		}
		fmt.Fprintf(&b, "  %s: %s", u.What, u.Why)
		if u.Remedy != "" {
			fmt.Fprintf(&b, " (%s)", u.Remedy)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// records returns the report for programs. The key kind names the kind of a record.
func records(s *doctor.Snapshot, r doctor.Report) []output.Record {
	list := []output.Record{{{Key: "kind", Value: "machine"}, {Key: "name", Value: s.Machine.Name}, {Key: "text", Value: machine(s)}}}
	// In the order of the table for people.
	for _, l := range r.Levels {
		list = append(list, append(output.Record{{Key: "kind", Value: "level"}}, level(l)...))
	}
	if n := r.Narrow; n.Level != "" {
		list = append(list, output.Record{{Key: "kind", Value: "narrowest"}, {Key: "level", Value: n.Level}, {Key: "subject", Value: n.Subject}, {Key: "rate", Value: n.Rate}, {Key: "text", Value: n.Why}})
	}
	for _, f := range r.Findings {
		// All findings have the same keys, so that scripts need no tests.
		fix := doctor.Fix{}
		if f.Fix != nil {
			fix = *f.Fix
		}
		list = append(list, output.Record{
			{Key: "kind", Value: "finding"}, {Key: "id", Value: f.ID}, {Key: "level", Value: f.Level}, {Key: "subject", Value: f.Subject},
			{Key: "severity", Value: string(f.Severity)}, {Key: "evidence", Value: f.Evidence}, {Key: "remedy", Value: f.Remedy}, {Key: "gain", Value: f.Gain},
			{Key: "fix.file", Value: fix.File}, {Key: "fix.value", Value: fix.Value},
		})
	}
	for _, u := range r.Unseen {
		list = append(list, output.Record{{Key: "kind", Value: "unseen"}, {Key: "what", Value: u.What}, {Key: "why", Value: u.Why}, {Key: "remedy", Value: u.Remedy}})
	}
	return list
}

// level returns the record of a level. One without a rate has its values in the text.
func level(l doctor.Level) output.Record {
	// A table shows a dash for an empty text.
	text := ""
	if l.Rate > 0 {
		text = doctor.RateText(l.Rate)
	}
	return output.Record{{Key: "level", Value: l.Name}, {Key: "subject", Value: l.Subject}, {Key: "rate", Value: l.Rate}, {Key: "text", Value: text}, {Key: "how", Value: l.How}}
}
