package erasure

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocumentedCoefficients compares the tables of the format's page with the code: a program written from the page
// alone must be able to read the files.
func TestDocumentedCoefficients(t *testing.T) {
	text, err := os.ReadFile("../../docs/formats/coded.md")
	if err != nil {
		t.Fatal(err)
	}
	want := func(name string, coefficients []byte) {
		line := "| " + name + " |"
		for _, c := range coefficients {
			line += fmt.Sprintf(" %02x |", c)
		}
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("docs/formats/coded.md has no line\n%s", line)
		}
	}
	for r := range 4 {
		row := cauchy(r, 10)
		want(fmt.Sprint(r), row[:10])
	}
	code, err := Local(12, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"first group", "second group", "first of all", "second of all"} {
		want(name, code.rows[12+i][:12])
	}
}

// TestCoefficientsByTheirFormula computes the coefficients from the formulas of the page, without the tables of this
// package.
func TestCoefficientsByTheirFormula(t *testing.T) {
	var power [255]int
	log := map[int]int{}
	for i, x := 0, 1; i < 255; i++ {
		power[i], log[x] = x, i
		if x <<= 1; x > 255 {
			x ^= 0x11d
		}
	}
	divide := func(a, b int) int { return power[(log[a]-log[b]+255)%255] }
	for r := range 31 {
		row := cauchy(r, 32-r)
		for c := range 32 - r {
			if got, want := int(row[c]), divide(32+c, r^(32+c)); got != want {
				t.Fatalf("row %d, column %d: %d, want %d", r, c, got, want)
			}
		}
	}
	for _, s := range [][3]int{{12, 2, 2}, {10, 3, 2}, {11, 4, 1}, {10, 1, 2}, {9, 2, 3}} {
		data, local, global := s[0], s[1], s[2]
		code, err := Local(data, local, global)
		if err != nil {
			t.Fatal(err)
		}
		for c, g, p := 0, 0, 0; c < data; c++ {
			size := data / local
			if g < data%local {
				size++
			}
			for l := range local {
				if got := code.rows[data+l][c]; (got == 1) != (l == g) || got > 1 {
					t.Errorf("%v: local parity %d, column %d: %d", s, l, c, got)
				}
			}
			for j := range global {
				want := divide(32+c, (j+1)^(32+c))
				if local > 1 && global <= 2 {
					want = power[(g+17*p)*(j+1)%255]
				}
				if got := int(code.rows[data+local+j][c]); got != want {
					t.Errorf("%v: parity %d of all, column %d: %d, want %d", s, j, c, got, want)
				}
			}
			if p++; p == size {
				g, p = g+1, 0
			}
		}
	}
}
