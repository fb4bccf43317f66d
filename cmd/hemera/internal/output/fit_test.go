package output

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var disks = []Column{{Title: "id", Key: "id"}, {Title: "path", Key: "path"}, {Title: "group", Key: "schedgroup", Wide: 2}, {Title: "usage", Key: "usage", Show: Percent, Wide: 1}, {Title: "why", Key: "why"}}

func diskRecords() []Record {
	return []Record{
		{{"id", 1}, {"path", "/data01"}, {"schedgroup", "default.0"}, {"usage", 12.5}, {"why", ""}, {"free", int64(7)}},
		{{"id", 2}, {"path", "/data02"}, {"schedgroup", "default.0"}, {"usage", 0.5}, {"why", "the disk does not answer and its node was asked three times"}, {"free", int64(8)}},
	}
}

// In a narrow terminal, wide columns are left out and the text of the last column is folded: no line is longer than the
// terminal.
func TestTablesFitTheTerminal(t *testing.T) {
	const folded = "id  path     why\n" +
		" 1  /data01  -\n" +
		" 2  /data02  the disk does not answer and\n" +
		"             its node was asked three times\n" +
		"no room for group, usage: --columns chooses\n"
	var b strings.Builder
	_ = Printer{W: &b, Width: 44}.List(disks, diskRecords())
	if b.String() != folded {
		t.Errorf("got\n%s", &b)
	}
	b.Reset()
	_ = Printer{W: &b, Width: 85}.List(disks, diskRecords())
	if !strings.HasPrefix(b.String(), "id  path      usage  why\n") {
		t.Errorf("the widest goes first:\n%s", &b)
	}
	for width := 44; width < 120; width++ {
		b.Reset()
		_ = Printer{W: &b, Width: width}.List(disks, diskRecords())
		for line := range strings.Lines(b.String()) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > width {
				t.Errorf("width %d: %q", width, line)
			}
		}
	}
	var all strings.Builder
	b.Reset()
	_ = Printer{W: &b, Width: 200}.List(disks, diskRecords())
	_ = Printer{W: &all}.List(disks, diskRecords())
	if b.String() != all.String() || strings.Count(all.String(), "\n") != 3 {
		t.Errorf("with room for all\n%snot\n%s", &b, &all)
	}
}

// A program's output does not depend on the terminal.
func TestProgramsGetEverything(t *testing.T) {
	for _, format := range []Format{Monitor, JSON} {
		var narrow, wide strings.Builder
		_ = Printer{W: &narrow, Format: format, Width: 10}.List(disks, diskRecords())
		_ = Printer{W: &wide, Format: format}.List(disks, diskRecords())
		if narrow.String() != wide.String() {
			t.Errorf("got\n%snot\n%s", &narrow, &wide)
		}
	}
}

func TestColumnsAreChosen(t *testing.T) {
	var b strings.Builder
	choice := &Choice{Names: []string{"schedgroup", "id", "free"}}
	if err := (Printer{W: &b, Width: 5, Choice: choice}).List(disks, diskRecords()); err != nil || !choice.Used {
		t.Errorf("%v, used %t", err, choice.Used)
	}
	if want := "group      id  free\ndefault.0   1     7\ndefault.0   2     8\n"; b.String() != want {
		t.Errorf("got\n%s", &b)
	}
	b.Reset()
	if err := (Printer{W: &b, Choice: &Choice{Names: []string{"free"}}}).One(disks, diskRecords()[0]); err != nil || b.String() != "free  7\n" {
		t.Errorf("%q, %v", &b, err)
	}
	err := Printer{W: &b, Choice: &Choice{Names: []string{"id", "no"}}}.List(disks, diskRecords())
	var column *ColumnError
	if !errors.As(err, &column) || column.Name != "no" || !slices.Contains(column.Titles, "group") {
		t.Errorf("%v", err)
	}
}

func TestFoldKeepsEveryWord(t *testing.T) {
	const text = "a bb  ccc dddddddddddddddddddddddd e"
	for width := 1; width < 50; width++ {
		lines := foldText(text, width)
		for _, l := range lines {
			if utf8.RuneCountInString(l) > width {
				t.Errorf("width %d: %q", width, l)
			}
		}
		if squeeze(strings.Join(lines, "")) != squeeze(text) {
			t.Errorf("width %d: %q", width, lines)
		}
	}
}

func squeeze(s string) string { return strings.ReplaceAll(s, " ", "") }
