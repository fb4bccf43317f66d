// Package output prints the results of a command in three forms: a table for people, one line of key=value
// pairs for each item (-m), and one JSON object with a result list (-j). The keys of the last two are the
// same; dots in a key nest objects in JSON, as in EOS.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Format is one of the three forms.
type Format int

// The forms.
const (
	// The zero value is the table, for people.
	Table Format = iota
	// -m, as in EOS: for grep, awk and the tools of EOS.
	Monitor
	// -j: for jq and programs.
	JSON
)

// Field is one key and its value: a string, bool, integer or float.
type Field struct {
	// The key of the value in records; several columns of different tables may share one.
	Key   string
	Value any
}

// Record is one item, with its fields in the order of the display.
type Record []Field

// Get returns the value of a key, or nil, with a linear search: records have tens of keys.
func (r Record) Get(key string) any {
	for _, f := range r {
		if f.Key == key {
			return f.Value
		}
	}
	return nil
}

// Column is one column of a table. Most tables are package variables, which do not change.
type Column struct {
	Title string
	Key   string
	// Show formats the value; nil formats it as -m does.
	Show func(any) string
	// Wide states that the column may be left out where a terminal has no room for all; larger values are left out first.
	Wide int
}

// Printer writes items in the form that the user chose.
type Printer struct {
	W      io.Writer
	Format Format
	Colour bool
	// Terminal states that W is a terminal: tables and lines are made [Visible]. A pipe gets names unchanged.
	Terminal bool
	// Width is the terminal's width; 0 for no limit.
	Width int
	// Choice has the chosen columns; nil for all.
	Choice *Choice
	// Show returns the format of a key without a column; nil, and a nil result, format it as -m does.
	Show func(key string) func(any) string
}

// visible returns a text for people.
func (p Printer) visible(s string) string {
	if p.Terminal {
		return Visible(s)
	}
	return s
}

// List writes all records: as one table, as lines, or as one JSON object. The forms for programs ignore columns: they
// have every key of a record.
func (p Printer) List(columns []Column, records []Record) error {
	if p.Format == Table {
		return p.table(columns, records)
	}
	s := p.Stream(nil)
	for _, r := range records {
		if err := s.Add(r); err != nil {
			return err
		}
	}
	return s.Close()
}

// One writes a single record; for people, one field on each line. Columns without a value show a dash, so that two
// results can be compared line by line.
func (p Printer) One(columns []Column, r Record) error {
	if p.Format != Table {
		return p.List(nil, []Record{r})
	}
	columns, err := p.choose(columns, []Record{r})
	if err != nil {
		return err
	}
	width := 0
	for _, c := range columns {
		width = max(width, len(c.Title))
	}
	var b strings.Builder
	for _, c := range columns {
		fmt.Fprintf(&b, "%-*s  %s\n", width, c.Title, p.paint(p.cell(c, r)))
	}
	_, err = io.WriteString(p.W, b.String())
	return err
}

// Head writes a single record, one field on each line, above a table, whose columns can be chosen.
func (p Printer) Head(columns []Column, r Record) error {
	// The user's choice is about the table below.
	p.Choice = nil
	return p.One(columns, r)
}

// Stream writes records as they come. It keeps no records, so a listing of millions of entries needs no memory. It is not
// safe for concurrent use.
type Stream struct {
	p     Printer
	line  func(Record) string // the line of a record for people; nil for none
	count int                 // records so far
}

// Stream begins a stream; line returns a record's line for people.
func (p Printer) Stream(line func(Record) string) *Stream { return &Stream{p: p, line: line} }

// Add writes one record. An error is that of the writer, such as a closed pipe; then the caller stops.
func (s *Stream) Add(r Record) error {
	var text string
	switch s.p.Format {
	case Table:
		text = s.p.visible(s.line(r)) + "\n"
	case Monitor:
		text = MonitorLine(r) + "\n"
	case JSON:
		// Each record is on a separate line, so that line-based tools can read JSON too.
		lead := ",\n"
		if s.count == 0 {
			lead = `{"result":[` + "\n"
		}
		text = lead + nest(r).text()
	}
	s.count++
	_, err := io.WriteString(s.p.W, text)
	return err
}

// Close ends the stream of a command that succeeded.
func (s *Stream) Close() error { return s.end("", 0, "", "") }

// Fail ends the stream of a command that failed. code is the exit code. For people it writes nothing: the error is
// printed elsewhere.
func (s *Stream) Fail(code int, message, remedy, trace string) error {
	return s.end(message, code, remedy, trace)
}

// end closes the JSON object with the result. In the other two forms a stream has no end mark. Close or Fail calls it
// once.
func (s *Stream) end(message string, code int, remedy, trace string) error {
	if s.p.Format != JSON {
		return nil
	}
	lead := "\n]"
	if s.count == 0 {
		lead = `{"result":[]`
	}
	// errormsg and retc are EOS's names; scripts test retc.
	tail := fmt.Sprintf(`,"errormsg":%s,"retc":%d`, quote(message), code)
	if remedy != "" {
		tail += `,"remedy":` + quote(remedy)
	}
	if trace != "" {
		tail += `,"trace":` + quote(trace)
	}
	_, err := io.WriteString(s.p.W, lead+tail+"}\n")
	return err
}

// MonitorLine returns a record as key=value pairs. Values with blanks, quotes or characters that are not printable are
// quoted as in Go. Keys have no blanks. A reader splits at blanks, then at the first =, and unquotes values that begin
// with a quote.
func MonitorLine(r Record) string {
	pairs := make([]string, len(r))
	for i, f := range r {
		// A reader splits at blanks, so a value with one must be quoted.
		v := plain(f.Value)
		if strings.ContainsFunc(v, func(c rune) bool { return c == ' ' || c == '"' || !unicode.IsPrint(c) }) || !utf8.ValidString(v) {
			v = strconv.Quote(v)
		}
		pairs[i] = f.Key + "=" + v
	}
	return strings.Join(pairs, " ")
}

// plain returns a value without decoration. Floats get two digits after the point; other types are formatted by fmt, with
// their String method.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return fmt.Sprint(v)
}

// quote returns a string as JSON.
func quote(s string) string {
	text, _ := json.Marshal(s) // a string always marshals
	return string(text)
}
