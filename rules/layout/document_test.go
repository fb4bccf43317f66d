package layout

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"hemera/rules/erasure"
	"hemera/words/hemera"
)

// TestDocumentedTables compares the tables of docs/operations.md with the geometry, and with the codes.
func TestDocumentedTables(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	want := func(line string) {
		if !strings.Contains(string(text), line) {
			t.Errorf("docs/operations.md has no line\n%s", line)
		}
	}
	for _, name := range []string{"plain", "replica:2", "replica:3", "rs:4+2", "rs:10+2", "rs:10+4", "lrc:12+2+2", "stripe:4"} {
		want(survival(t, name))
	}
	columns := []hemera.Layout{parsed(t, "replica:2"), parsed(t, "rs:4+2"), parsed(t, "rs:4+2").WithBlockSize(64 * kib), parsed(t, "rs:10+4"), parsed(t, "lrc:12+2+2"), parsed(t, "stripe:4")}
	for _, size := range []int64{1, 4 * kib, 64 * kib, mib, 16 * mib} {
		line := "| " + amount(size) + " |"
		for _, l := range columns {
			line += fmt.Sprintf(" %s, %d, %d |", amount(Physical(l, size)), Count(l, size), read(l, size))
		}
		want(line)
	}
}

func parsed(t *testing.T, name string) hemera.Layout {
	t.Helper()
	l, err := hemera.ParseLayout(name, 0)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// survival returns a layout's line of the table: the number of lost pieces that are survived, for any choice of them;
// bytes on disk; disks; the number of nodes that are needed to survive the loss of one; the pieces read to rebuild one
// data piece.
func survival(t *testing.T, name string) string {
	l := parsed(t, name)
	lost := 0
	for everyLossIsSurvived(l, lost+1) {
		lost++
	}
	nodes, rebuild := "–", "–"
	if m := l.Parity(); m > 0 {
		nodes = fmt.Sprint((int(l.Pieces) + m - 1) / m)
		rebuild = "1"
		code, err := Code(l)
		if err != nil {
			t.Fatal(err)
		}
		if code != nil {
			sources, ok := code.Sources(0, erasure.Range(1, int(l.Pieces)))
			if !ok {
				t.Fatalf("%s cannot rebuild piece 0", l)
			}
			rebuild = fmt.Sprint(sources.Len())
		}
	}
	return fmt.Sprintf("| `%s` | %d | %.2f | %d | %s | %s |", name, lost, float64(l.Pieces)/float64(l.Data), l.Pieces, nodes, rebuild)
}

// everyLossIsSurvived reports whether a large file survives every loss of n pieces.
func everyLossIsSurvived(l hemera.Layout, n int) bool {
	all := erasure.Range(0, int(l.Pieces))
	for set := range 1 << l.Pieces {
		if lost := Set(set); lost.Len() == n && !Readable(l, hemera.FileSizeMax, all&^lost) {
			return false
		}
	}
	return n <= int(l.Pieces)
}

// read returns the number of pieces with the bytes of the whole file: a healthy read opens these.
func read(l hemera.Layout, size int64) int {
	pieces := Set(0)
	for _, s := range Split(l, 0, int(size)) {
		pieces = pieces.With(int(s.Column))
	}
	return pieces.Len()
}

// amount formats a number of bytes as the page does.
func amount(n int64) string {
	switch {
	case n%mib == 0:
		return fmt.Sprint(n/mib, " MiB")
	case n%kib == 0:
		return fmt.Sprint(n/kib, " KiB")
	}
	return fmt.Sprint(n, " B")
}
