package output

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Choice has the columns that the user chose, in that order, by title or key; without names, all. It is the flag
// --columns, shared by all printers of one command line.
type Choice struct {
	Names []string
	// Used states that a table was shown: otherwise a choice has no effect.
	Used bool
}

// ColumnError is the error about a column that a table does not have.
type ColumnError struct {
	Name   string
	Titles []string // those that it has; keys of the records may be chosen too
}

// Error implements error.
func (e *ColumnError) Error() string { return fmt.Sprintf("there is no column %q", e.Name) }

// choose returns the columns to show. A name may also be a key of the records that has no column by itself. It fails with
// a ColumnError for a name that is neither a title, nor a key of a column, nor a key of any record. Titles precede keys.
// Without records it accepts every name.
func (p Printer) choose(columns []Column, records []Record) ([]Column, error) {
	if p.Choice == nil || len(p.Choice.Names) == 0 {
		return columns, nil
	}
	p.Choice.Used = true
	if len(records) == 0 {
		return columns, nil
	}
	// A column that is named twice is shown twice.
	var chosen []Column
	for _, name := range p.Choice.Names {
		i := slices.IndexFunc(columns, func(c Column) bool { return c.Title == name })
		if i < 0 {
			i = slices.IndexFunc(columns, func(c Column) bool { return c.Key == name })
		}
		switch {
		case i >= 0:
			chosen = append(chosen, columns[i])
		case slices.ContainsFunc(records, func(r Record) bool { return r.has(name) }):
			c := Column{Title: name, Key: name}
			if p.Show != nil {
				c.Show = p.Show(name)
			}
			chosen = append(chosen, c)
		default:
			return nil, &ColumnError{name, titles(columns)}
		}
	}
	return chosen, nil
}

// has reports whether the record has the key, also with an empty value.
func (r Record) has(key string) bool {
	return slices.ContainsFunc(r, func(f Field) bool { return f.Key == key })
}

// titles returns the titles of the columns that a table has by itself.
func titles(columns []Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Title
	}
	return names
}

// grid is a table's cells, with its heading as the first row.
type grid struct {
	columns []Column   // the shown columns
	right   []bool     // by column: numbers, which are right-aligned
	widths  []int      // by column, in characters
	rows    [][]string // the titles, then a row for each record
}

// grid formats the cells of all records before the first is printed, because the widest cell of a column decides its
// width.
func (p Printer) grid(columns []Column, records []Record) *grid {
	g := &grid{columns: columns, rows: make([][]string, len(records)+1), widths: make([]int, len(columns)), right: make([]bool, len(columns))}
	for i, c := range columns {
		g.right[i] = c.right(records)
		g.rows[0] = append(g.rows[0], c.Title)
		for j, r := range records {
			g.rows[j+1] = append(g.rows[j+1], p.cell(c, r))
		}
		for _, row := range g.rows {
			g.widths[i] = max(g.widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	return g
}

// total returns the width of the longest line.
func (g *grid) total() int {
	// Two blanks between columns.
	sum := 2 * (len(g.widths) - 1)
	for _, w := range g.widths {
		sum += w
	}
	return sum
}

// fit leaves out wide columns, the widest first and then from the right, until lines are not longer than width, and
// returns their titles. Columns with Wide 0 are never left out, so the lines may still be too long; fold may then help.
func (g *grid) fit(width int) (out []string) {
	// One column at a time, because often one is enough.
	for g.total() > width {
		i := 0
		// >= finds the last of the widest, which is the one furthest right.
		for n, c := range g.columns {
			if c.Wide >= g.columns[i].Wide {
				i = n
			}
		}
		// Only columns that every user needs are left.
		if g.columns[i].Wide == 0 {
			return out
		}
		out = append(out, g.columns[i].Title)
		// A clone, because all calls share the columns of a table.
		g.columns = slices.Delete(slices.Clone(g.columns), i, i+1)
		g.right = slices.Delete(g.right, i, i+1)
		g.widths = slices.Delete(g.widths, i, i+1)
		for j := range g.rows {
			g.rows[j] = slices.Delete(g.rows[j], i, i+1)
		}
	}
	return out
}

// foldMin is the narrowest column in which text is folded. Narrower text would break most words and be harder to read
// than a long line that the terminal wraps.
const foldMin = 16

// fold breaks the text of the last column into lines that end at width. The further lines are rows of their own. It does
// nothing if the last column has numbers, fits anyway, or has less room than foldMin.
func (g *grid) fold(width int) {
	last := len(g.widths) - 1
	room := width - (g.total() - g.widths[last])
	if last < 0 || g.right[last] || room >= g.widths[last] || room < foldMin {
		return
	}
	var rows [][]string
	for _, row := range g.rows {
		lines := foldText(row[last], room)
		for n, line := range lines {
			if n > 0 {
				row = make([]string, len(row))
			}
			row = slices.Clone(row)
			row[last] = line
			rows = append(rows, row)
		}
	}
	g.rows, g.widths[last] = rows, room
}

// foldText breaks a text at blanks into lines of at most width runes; a longer word is broken. An empty text gives one
// empty line, so that its row stays.
func foldText(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Split(text, " ") {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for runes := []rune(word); len(runes) > width; runes = []rune(word) {
			lines, word = append(lines, string(runes[:width])), string(runes[width:])
		}
		line = word
	}
	return append(lines, line)
}
