package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// line returns a result on one line, for eyes.
// Its columns stand below each other for all rows of a report.
func (r Result) line() string {
	s := fmt.Sprintf("%-30s x%-3d %14s", r.Row, r.Clients, r.rate(r.Hemera))
	// Only rows beside EOS have no CPU of the peer.
	if r.CPURatio == 0 {
		return s + fmt.Sprintf("  EOS %14s   x%-6.2f", r.rate(r.Peer), r.Ratio)
	}
	return s + fmt.Sprintf(" %14s  peer %14s %14s   rate x%-5.2f CPU x%-5.2f", r.cpu(r.Hemera), r.rate(r.Peer), r.cpu(r.Peer), r.Ratio, r.CPURatio)
}

// rate writes a sample's rate in the unit of the row.
// EOS's figures are in MiB, those of the C++ server in GB, as their sources have them.
func (r Result) rate(s Sample) string {
	switch {
	case r.Bulk && r.CPURatio == 0:
		return fmt.Sprintf("%.0f MiB/s", s.Rate/(1<<20))
	case r.Bulk:
		return fmt.Sprintf("%.2f GB/s", s.Rate/1e9)
	}
	return fmt.Sprintf("%.0f /s", s.Rate)
}

// cpu writes the server's CPU time for each operation or byte.
func (r Result) cpu(s Sample) string {
	if r.Bulk {
		return fmt.Sprintf("%.3f s/GB", s.CPU*1e9)
	}
	return fmt.Sprintf("%.1f us", s.CPU*1e6)
}

// Text writes the report for eyes.
// Rows appear in the order in which they were measured.
func (rep Report) Text(w io.Writer) error {
	for _, part := range [][]Result{rep.Peers, rep.Coded, rep.EOS} {
		for _, r := range part {
			if _, err := fmt.Fprintln(w, r.line()); err != nil {
				return err
			}
		}
	}
	// Of these the goal says more than the ratio.
	_, err := io.WriteString(w, goals(rep.Head))
	return err
}

// JSON writes the report for programs: rates in bytes or operations a second, CPU in seconds for
// one.
// Two such files can be compared row by row.
func (rep Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(rep)
}

// Markdown writes the report as tables.
// Tables without rows are left out.
func (rep Report) Markdown(w io.Writer) error {
	var text string
	text += pairs("| load | clients | Hemera | C++ xrootd | rate | server CPU |\n", rep.Peers)
	text += pairs("| coded layout | clients | coded | plain files | rate | server CPU |\n", rep.Coded)
	text += goals(rep.Head)
	if len(rep.EOS) > 0 {
		text += "| load, 2 replicas, durable | clients | Hemera | EOS | rate |\n|---|---|---|---|---|\n"
		for _, r := range rep.EOS {
			text += fmt.Sprintf("| %s | %d | %s | %s | x%.1f |\n", r.Row, r.Clients, r.rate(r.Hemera), r.rate(r.Peer), r.Ratio)
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// pairs returns the table of rows that were measured at two servers, below its head.
func pairs(head string, rows []Result) string {
	if len(rows) == 0 {
		return ""
	}
	text := head + "|---|---|---|---|---|---|\n"
	for _, r := range rows {
		text += fmt.Sprintf("| %s | %d | %s, %s | %s, %s | x%.2f | x%.2f |\n",
			r.Row, r.Clients, r.rate(r.Hemera), r.cpu(r.Hemera), r.rate(r.Peer), r.cpu(r.Peer), r.Ratio, r.CPURatio)
	}
	return text + "\n"
}

// The lines between which Update puts the tables.
const (
	tablesBegin = "<!-- bench: begin -->\n"
	tablesEnd   = "<!-- bench: end -->\n"
)

// Update replaces the tables in a page, which has two marking lines for them.
// What stands around the lines stays as it is, so figures in a page are never typed by hand.
func (rep Report) Update(page []byte) ([]byte, error) {
	before, rest, ok := bytes.Cut(page, []byte(tablesBegin))
	_, after, also := bytes.Cut(rest, []byte(tablesEnd))
	// Without both lines nothing is changed.
	if !ok || !also {
		return nil, fmt.Errorf("the page lacks the line %q or %q", tablesBegin, tablesEnd)
	}
	var tables bytes.Buffer
	if err := rep.Markdown(&tables); err != nil {
		return nil, err
	}
	return slices.Concat(before, []byte(tablesBegin), tables.Bytes(), []byte(tablesEnd), after), nil
}

// goals returns the table of rows that have a goal of CPU. It is empty if none was measured.
func goals(rows []Result) string {
	if len(rows) == 0 {
		return ""
	}
	text := "| load | clients | plain files | goal | measured | of the goal |\n|---|---|---|---|---|---|\n"
	for _, r := range rows {
		text += fmt.Sprintf("| %s | %d | %s | %s | %s | x%.2f |\n", r.Row, r.Clients, r.cpu(r.Peer), r.cpu(Sample{CPU: r.Goal}), r.cpu(r.Hemera), r.OfGoal)
	}
	return text + "\n"
}
