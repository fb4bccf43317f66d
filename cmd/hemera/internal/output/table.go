package output

import (
	"io"
	"strings"
	"unicode/utf8"
)

// show is the text of one cell.
func (c Column) show(r Record) string {
	v := r.Get(c.Key)
	if c.Show != nil {
		return c.Show(v)
	}
	return plain(v)
}

// right reports whether a column's values are numbers, which stand at the right.
func (c Column) right(records []Record) bool {
	for _, r := range records {
		switch r.Get(c.Key).(type) {
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
// blanks, so that a table can be pasted into a message and cut with awk.
func (p Printer) table(columns []Column, records []Record) error {
	cells := make([][]string, len(records)+1)
	widths := make([]int, len(columns))
	right := make([]bool, len(columns))
	for i, c := range columns {
		right[i] = c.right(records)
		cells[0] = append(cells[0], c.Title)
		for j, r := range records {
			cells[j+1] = append(cells[j+1], p.cell(c, r))
		}
		for _, row := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	var b strings.Builder
	for j, row := range cells {
		for i, cell := range row {
			blanks := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if j == 0 {
				cell = p.wrap("1", cell)
			} else {
				cell = p.paint(cell)
			}
			switch {
			case right[i]:
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
	}
	_, err := io.WriteString(p.W, b.String())
	return err
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
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// colours are for words that say how something is: 32 well, 33 on its way or reduced, 31 broken.
var colours = map[string]string{
	"ok": "32", "online": "32", "rw": "32", "booted": "32", "on": "32", "healthy": "32", "done": "32", "drained": "32",
	"drain": "33", "draining": "33", "ro": "33", "full": "33", "readonly": "33", "empty": "33", "wait": "33", "waiting": "33", "running": "33", "warning": "33", "counting": "33",
	"off": "31", "offline": "31", "failing": "31", "gone": "31", "down": "31", "opserror": "31", "bootfailure": "31", "stalled": "31", "stalling": "31", "bad": "31", "exceeded": "31",
}

func (p Printer) paint(text string) string {
	if code, ok := colours[text]; ok {
		return p.wrap(code, text)
	}
	return text
}

func (p Printer) wrap(code, text string) string {
	if !p.Colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
