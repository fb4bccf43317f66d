package output

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// show returns the text of a record's cell in this column.
func (c Column) show(r Record) string {
	v := r.Get(c.Key)
	if c.Show != nil {
		return c.Show(v)
	}
	return plain(v)
}

// right reports whether the column's values are numbers, which are right-aligned. The type of the first known value
// decides, not its text: an id such as 0042 is a string and left-aligned.
func (c Column) right(records []Record) bool {
	for _, r := range records {
		switch r.Get(c.Key).(type) {
		// An unknown value does not decide.
		case nil:
		case string, bool:
			return false
		default:
			return true
		}
	}
	return false
}

// table writes a heading and one line for each record. Columns are two blanks apart and no line ends in blanks, so that a
// table can be pasted into a message and cut with awk. On a terminal that is too narrow the least important columns are
// left out, and longer texts at the end of lines are folded; a pipe gets all.
func (p Printer) table(columns []Column, records []Record) error {
	columns, err := p.choose(columns, records)
	if err != nil {
		return err
	}
	g := p.grid(columns, records)
	var left []string
	if p.Width > 0 {
		// Columns that the user chose are never left out.
		if p.Choice == nil || len(p.Choice.Names) == 0 {
			left = g.fit(p.Width)
		}
		g.fold(p.Width)
	}
	var b strings.Builder
	for j, row := range g.rows {
		b.WriteString(p.line(g, row, j == 0))
	}
	if len(left) > 0 {
		fmt.Fprintf(&b, "no room for %s: --columns chooses\n", strings.Join(left, ", "))
	}
	_, err = io.WriteString(p.W, b.String())
	return err
}

// line returns a row of a table as it is printed.
func (p Printer) line(g *grid, row []string, heading bool) string {
	var b strings.Builder
	for i, cell := range row {
		// Widths are counted in runes before colours are added, because escape sequences have no width.
		blanks := strings.Repeat(" ", g.widths[i]-utf8.RuneCountInString(cell))
		if heading {
			cell = p.wrap("1", cell)
		} else {
			cell = p.paint(cell)
		}
		switch {
		case g.right[i]:
			cell = blanks + cell
		case i < len(row)-1:
			cell += blanks
		}
		if i > 0 {
			b.WriteString("  ")
		}
		b.WriteString(cell)
	}
	b.WriteByte('\n')
	return b.String()
}

// cell returns a record's text in a column, on one line.
func (p Printer) cell(c Column, r Record) string {
	text := dash(c.show(r))
	if strings.ContainsAny(text, "\n\t\r") {
		text = strings.NewReplacer("\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(text)
	}
	return p.visible(text)
}

// dash replaces an empty text, so that every line has all columns: awk counts columns by blanks.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// colours has the colours of words for states: 32 well, 33 in progress or reduced, 31 broken. Other words get no colour.
// The numbers are the ANSI codes of the colours; 1 is bold, for headings. It is only read.
var colours = map[string]string{
	"ok": "32", "online": "32", "rw": "32", "booted": "32", "on": "32", "healthy": "32", "done": "32", "drained": "32",
	"drain": "33", "draining": "33", "ro": "33", "full": "33", "readonly": "33", "empty": "33", "wait": "33", "waiting": "33", "running": "33", "warning": "33", "counting": "33",
	"off": "31", "offline": "31", "failing": "31", "gone": "31", "down": "31", "opserror": "31", "bootfailure": "31", "stalled": "31", "stalling": "31", "bad": "31", "exceeded": "31",
}

// paint colours a cell with a word for a state, such as "online" or "failing".
func (p Printer) paint(text string) string {
	if code, ok := colours[text]; ok {
		return p.wrap(code, text)
	}
	return text
}

// wrap encloses a text in an ANSI colour and its end.
func (p Printer) wrap(code, text string) string {
	if !p.Colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
