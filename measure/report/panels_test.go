package report

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// wellFormed fails the test for a text that is not XML.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestPanelsNameWhatTheyShow(t *testing.T) {
	s := Panels{Heading: []string{"100 threads", "a < b & c"}, LogY: true, Tick: func(v float64) string { return "<" + tickText(v) + " s>" }}
	for n := range 5 { // none at all first, then panels without points, with one, and with many
		if out := string(s.SVG()); !strings.Contains(out, "100 threads") || strings.Count(out, "panel ") != n {
			t.Errorf("%d panels: %s", n, out)
		} else {
			wellFormed(t, out)
		}
		p := Panel{Title: "panel " + string(rune('a'+n)), X: "time (s)", Y: "latency", Curves: []Curve{{Name: "p50"}, {Name: "max"}}}
		for i := range n * 6 {
			p.Curves[0].Points = append(p.Curves[0].Points, Point{float64(i), 2e-5})
			p.Curves[1].Points = append(p.Curves[1].Points, Point{float64(i), 0.04})
		}
		s.Panels = append(s.Panels, p)
	}
	out := string(s.SVG())
	for _, want := range []string{"a &lt; b &amp; c", ">p50<", ">max<", ">time (s)<", ">latency<", "&lt;0.00001 s&gt;", "&lt;0.1 s&gt;"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in it", want)
		}
	}
}

func TestPanelsShareTheirLogarithmicAxis(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   [2]float64
	}{
		{nil, [2]float64{1, 10}},
		{[]float64{0}, [2]float64{1, 10}},
		{[]float64{0, 3}, [2]float64{1, 10}},
		{[]float64{10}, [2]float64{10, 100}},
		{[]float64{0.002, 45}, [2]float64{0.001, 100}},
	} {
		var s Panels
		for _, v := range test.values {
			s.Panels = append(s.Panels, Panel{Curves: []Curve{{Points: []Point{{1, v}}}}})
		}
		if got := s.shared(); got != test.want {
			t.Errorf("%v: %v, not %v", test.values, got, test.want)
		}
	}
}

// TestPanelsOverSizes: a logarithmic x has its ticks at the sizes that were measured, and each panel an axis of its own.
func TestPanelsOverSizes(t *testing.T) {
	s := Panels{LogX: true, Panels: []Panel{
		{Title: "Store", Y: "bytes", Curves: []Curve{{"on disk", []Point{{1, 40}, {10, 60}, {100, 90}}}}},
		{Title: "Start", Y: "ms", Curves: []Curve{{"clean", []Point{{1, 4000}, {10, 4000}, {100, 4000}}}}},
	}}
	out := string(s.SVG())
	wellFormed(t, out)
	for _, want := range []string{">100<", ">1<", ">80<", ">4000<"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in it", want)
		}
	}
}
