package doctor

import (
	"cmp"
	"fmt"
	"strings"

	"hemera/cmd/hemera/internal/output"
	"hemera/measure/doctor"
)

// show prints the report: the levels, the narrowest, what was found, and what this machine does not show.
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
	// The last column may go where a terminal is narrow.
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

// machine is the machine in a line: the parts that decide what to expect of it, as far as they are known.
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

// text is what follows the table.
func text(r doctor.Report) string {
	var b strings.Builder
	// The verdict stands right behind the figures that it comes from.
	if n := r.Narrow; n.Level != "" {
		fmt.Fprintf(&b, "\nnarrowest: %s\n", n.Why)
	}
	// Said in words: an empty list could also mean that nobody looked.
	switch {
	case len(r.Findings) > 0:
	case len(r.Unseen) > 0:
		b.WriteString("\nnothing is wrong with what is visible here\n")
	default:
		b.WriteString("\nnothing is wrong\n")
	}
	// The worst come first, each with what to do.
	for _, f := range r.Findings {
		// Findings about the machine as a whole have no subject.
		subject := ""
		if f.Subject != "" {
			subject = " of " + f.Subject
		}
		fmt.Fprintf(&b, "\n%s  %s%s\n  %s\n  do:   %s\n", f.Severity, f.ID, subject, f.Evidence, f.Remedy)
		if f.Gain != "" {
			fmt.Fprintf(&b, "  gain: %s\n", f.Gain)
		}
	}
	// Last, and not as a fault: what nobody could see here.
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

// records is the report for programs. The key kind says what a record is.
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

// level is the record of a level. One without a rate has figures in its words.
func level(l doctor.Level) output.Record {
	// A table shows a dash for an empty text.
	text := ""
	if l.Rate > 0 {
		text = doctor.RateText(l.Rate)
	}
	return output.Record{{Key: "level", Value: l.Name}, {Key: "subject", Value: l.Subject}, {Key: "rate", Value: l.Rate}, {Key: "text", Value: text}, {Key: "how", Value: l.How}}
}
