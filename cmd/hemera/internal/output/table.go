package output

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// show is the text of a record's cell in this column.
func (c Column) show(r Record) string {
	v := r.Get(c.Key)
	if c.Show != nil {
		return c.Show(v)
	}
	return plain(v)
}

// right is true if the column's values are numbers, which stand at the right. The first known value decides.
// It is decided by the type of a value, not by its text: an id such as 0042 is a string and stands at the left.
func (c Column) right(records []Record) bool {
	for _, r := range records {
		switch r.Get(c.Key).(type) {
		// An unknown value says nothing about its column.
		case nil:
		case string, bool:
			return false
		default:
			return true
		}
	}
	return false
}

// table writes a heading and one line a record. Columns are two blanks apart and no line ends in
// blanks, so that a table can be pasted into a message and cut with awk. A terminal that is too narrow
// gets the most important columns, and longer texts at the end of lines folded; a pipe gets all.
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

// line is a row of a table as it is printed.
func (p Printer) line(g *grid, row []string, heading bool) string {
	var b strings.Builder
	for i, cell := range row {
		// Widths are counted in runes before colours are added: escape sequences have no width.
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

// cell is a record's text in a column, on one line.
func (p Printer) cell(c Column, r Record) string {
	text := dash(c.show(r))
	if strings.ContainsAny(text, "\n\t\r") {
		text = strings.NewReplacer("\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(text)
	}
	return p.visible(text)
}

// dash stands where there is no value, so that every line has all columns.
// awk counts columns by blanks, and an empty cell would shift those after it.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// colours are for words that say how something is: 32 well, 33 on its way or reduced, 31 broken.
// Words that are not listed get no colour. The numbers are the ANSI codes of the colours; 1 is bold, for headings. It
// is only read.
var colours = map[string]string{
	"ok": "32", "online": "32", "rw": "32", "booted": "32", "on": "32", "healthy": "32", "done": "32", "drained": "32",
	"drain": "33", "draining": "33", "ro": "33", "full": "33", "readonly": "33", "empty": "33", "wait": "33", "waiting": "33", "running": "33", "warning": "33", "counting": "33",
	"off": "31", "offline": "31", "failing": "31", "gone": "31", "down": "31", "opserror": "31", "bootfailure": "31", "stalled": "31", "stalling": "31", "bad": "31", "exceeded": "31",
}

// paint colours a cell whose text says how something is, such as "online" or "failing".
func (p Printer) paint(text string) string {
	if code, ok := colours[text]; ok {
		return p.wrap(code, text)
	}
	return text
}

// wrap puts a text between an ANSI colour and its end.
func (p Printer) wrap(code, text string) string {
	if !p.Colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
