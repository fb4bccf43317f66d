package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hemera/measure/result"
)

// described returns a chart as text, with a line for each series: its name, colour, style and points.
func described(c chart) string {
	var lines []string
	for _, s := range c.Series {
		line := fmt.Sprintf("%s|%s c%d s%d:", s.Run, s.Name, s.colour, s.style)
		for _, p := range s.Points {
			line += fmt.Sprintf(" %g=%g", p.X, p.Y)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestChartsHaveTheValuesOfTheFigure(t *testing.T) {
	m := func(name string, value float64, labels ...string) result.Measure {
		l := result.Labels{}
		for i := 0; i < len(labels); i += 2 {
			l[labels[i]] = labels[i+1]
		}
		return result.Measure{Name: name, Labels: l, Unit: "B/s", Samples: []float64{value}}
	}
	run := func(title string, measures ...result.Measure) *result.Run {
		return &result.Run{Title: title, Levels: []result.Level{{Name: "io", Measures: measures}}}
	}
	lines := result.Figure{Kind: result.Lines, Names: []string{"speed"}, X: "clients", Where: result.Labels{"load": "read"}}
	for name, c := range map[string]struct {
		f    result.Figure
		runs []*result.Run
		want string
	}{
		"sorted by number, other loads left out": {lines, []*result.Run{run("A", m("speed", 8, "load", "read", "clients", "10"), m("speed", 2, "load", "read", "clients", "2"), m("speed", 9, "load", "write", "clients", "2"))},
			"A| c0 s0: 2=2 10=8"},
		"runs have colours": {lines, []*result.Run{run("A", m("speed", 1, "load", "read", "clients", "1")), run("B", m("speed", 2, "load", "read", "clients", "1"))},
			"A| c0 s0: 1=1\nB| c1 s0: 1=2"},
		"a label that nobody grouped makes lines": {lines, []*result.Run{run("A", m("speed", 1, "load", "read", "clients", "1", "layout", "plain"), m("speed", 2, "load", "read", "clients", "1", "layout", "rs"))},
			"A|plain c0 s0: 1=1\nA|rs c1 s1: 1=2"},
		"a group with one value needs no name": {result.Figure{Kind: result.Lines, Names: []string{"speed"}, X: "clients", Group: []string{"disk", "mode"}},
			[]*result.Run{run("A", m("speed", 1, "clients", "1", "disk", "sda", "mode", "direct"), m("speed", 2, "clients", "1", "disk", "sda", "mode", "buffered"))},
			"A|direct c0 s0: 1=1\nA|buffered c1 s1: 1=2"},
		"a group that some lack": {result.Figure{Kind: result.Lines, Names: []string{"speed"}, X: "clients", Group: []string{"layout"}},
			[]*result.Run{run("A", m("speed", 1, "clients", "1"), m("speed", 2, "clients", "1", "layout", "rs"))},
			"A| c0 s0: 1=1\nA|rs c1 s1: 1=2"},
		"a group that differs between runs has names": {result.Figure{Kind: result.Lines, Names: []string{"speed"}, X: "clients", Group: []string{"disk"}},
			[]*result.Run{run("A", m("speed", 1, "clients", "1", "disk", "sda")), run("B", m("speed", 2, "clients", "1", "disk", "sdb"))},
			"A|sda c0 s0: 1=1\nB|sdb c1 s1: 1=2"},
		"names are in the order of the figure": {result.Figure{Kind: result.Bars, Names: []string{"p50", "p99"}, X: "phase"}, []*result.Run{run("A", m("p99", 9, "phase", "mkdir"), m("p50", 5, "phase", "mkdir"))},
			"A|p50 c0 s0: 0=5\nA|p99 c1 s1: 0=9"},
		"bytes are numbers": {result.Figure{Kind: result.Lines, Names: []string{"speed"}, X: "ahead"}, []*result.Run{run("A", m("speed", 2, "ahead", "1MiB"), m("speed", 1, "ahead", "128KiB"))},
			"A| c0 s0: 131072=1 1.048576e+06=2"},
		"words stay in their order": {result.Figure{Kind: result.Lines, Names: []string{"speed"}, X: "way"}, []*result.Run{run("A", m("speed", 1, "way", "direct"), m("speed", 2, "way", "buffered"))},
			"A| c0 s0: 0=1 1=2"},
		"stacks of runs stand beside each other": {result.Figure{Kind: result.Stacked, Names: []string{"cpu"}, X: "core", Group: []string{"part"}},
			[]*result.Run{run("A", m("cpu", 1, "core", "0", "part", "usr"), m("cpu", 2, "core", "0", "part", "sys")), run("B", m("cpu", 3, "core", "0", "part", "usr"))},
			"A|usr c0 s0: 0=1\nA|sys c1 s1: 0=2\nB|usr c0 s0: 1=3"},
		"nothing": {lines, []*result.Run{run("A", m("speed", 9, "load", "write", "clients", "2"))}, ""},
	} {
		got, ok := newChart(c.f, "io", c.runs)
		if text := described(got); text != c.want || ok != (c.want != "") {
			t.Errorf("%s: got\n%s\nnot\n%s", name, text, c.want)
		}
	}
}

func TestOtherUnitsAreNotDrawn(t *testing.T) {
	run := &result.Run{Levels: []result.Level{{Name: "io", Measures: []result.Measure{
		{Name: "a", Unit: "s", Labels: result.Labels{"x": "1"}, Samples: []float64{1}}, {Name: "b", Unit: "B/s", Labels: result.Labels{"x": "1"}, Samples: []float64{2}}}}}}
	c, ok := newChart(result.Figure{Kind: result.Lines, Names: []string{"a", "b"}, X: "x"}, "io", []*result.Run{run})
	if !ok || c.Unit != "s" || len(c.Series) != 1 {
		t.Errorf("%+v", c)
	}
}

func TestTicksAreRoundAndCoverTheRange(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      []float64
	}{
		{0, 1, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}}, {0, 496, []float64{0, 100, 200, 300, 400, 500}}, {0, 0.003, []float64{0, 0.001, 0.002, 0.003}},
		{-3, 7, []float64{-4, -2, 0, 2, 4, 6, 8}}, {5, 5, []float64{5}}, {0, math.Inf(1), []float64{0}},
	} {
		got := ticks(c.low, c.high, 5)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("%g to %g: %v, not %v", c.low, c.high, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		high := math.Pow(10, rapid.Float64Range(-12, 15).Draw(t, "exponent"))
		got := ticks(0, high, 5)
		if len(got) < 3 || len(got) > 8 || got[0] != 0 || got[len(got)-1] < high*(1-1e-9) || got[len(got)-2] >= high {
			t.Fatalf("0 to %g: %v", high, got)
		}
	})
}

// Everything that is drawn is inside the picture, at the widths of pages and files.
func TestEverythingHasRoom(t *testing.T) {
	r, err := newRuler()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"rs:4+2", "a very long name of a layout that nobody shortened in time", "ÄÖÜ 漢字"} {
		runs := []*result.Run{runOf("first", text, 1), runOf("second", text, 2)}
		for _, f := range runs[0].Levels[0].Figures {
			c, ok := newChart(f, "io", runs)
			if !ok {
				continue
			}
			for _, width := range []float64{narrow, wide, plotWidth} {
				l := lay(c, true, true, width, r)
				b := &bounds{t: t, l: l, what: fmt.Sprintf("%s at %g, %q", f.ID, width, text)}
				l.draw(b)
				if b.count == 0 || b.tips == 0 {
					t.Errorf("%s: nothing was drawn", b.what)
				}
			}
		}
	}
}

// bounds is a canvas that looks whether everything is inside.
type bounds struct {
	t           *testing.T
	l           layout
	what        string
	count, tips int
}

func (b *bounds) inside(thing string, at xy) {
	const slack = 1
	b.count++
	if at.x < -slack || at.y < -slack || at.x > b.l.width+slack || at.y > b.l.height+slack || math.IsNaN(at.x+at.y) {
		b.t.Errorf("%s: %s is outside: %v of %g × %g", b.what, thing, at, b.l.width, b.l.height)
	}
}

func (b *bounds) line(points []xy, _ pen) {
	for _, p := range points {
		b.inside("a line", p)
	}
}

func (b *bounds) rect(at xy, width, height float64, _ paint, _ float64) {
	b.inside("a rectangle", at)
	b.inside("a rectangle", xy{at.x + width, at.y + height})
}

func (b *bounds) mark(at xy, _ int, _ paint) { b.inside("a mark", at) }

func (b *bounds) text(at xy, s string, w words) {
	width := b.l.ruler.width(s, w.size)
	if w.turned {
		return // its length is bounded, and its layout has a test in a browser only
	}
	b.inside("the text "+s, xy{at.x - w.align*width, at.y})
	b.inside("the text "+s, xy{at.x + (1-w.align)*width, at.y})
}

func (b *bounds) begin(string, box) { b.tips++ }
func (b *bounds) end()              {}

func TestTheBestOfEachRunStandBesideEachOther(t *testing.T) {
	m := func(load, clients string, better result.Better, value float64) result.Measure {
		l := result.Labels{"load": load}
		if clients != "" {
			l["clients"] = clients
		}
		return result.Measure{Name: "throughput", Labels: l, Unit: "B/s", Better: better, Samples: []float64{value}}
	}
	site := &result.Run{Title: "site", Levels: []result.Level{{Name: "io", Measures: []result.Measure{
		m("read", "1", result.Higher, 5), m("read", "4", result.Higher, 9), m("write", "4", result.Higher, 3), m("read", "8", result.Lower, 99)}}, {Name: "disk", Measures: []result.Measure{m("read", "1", result.Higher, 50)}}}}
	paper := &result.Run{Title: "paper", Levels: []result.Level{{Name: "io", Measures: []result.Measure{m("read", "", result.Higher, 7)}}}}
	got := bestFigures("io", []*result.Run{site, paper})
	if len(got) != 1 || described(got[0]) != "site| c0 s0: 0=9 1=3\npaper| c1 s0: 0=7" {
		t.Errorf("%+v", got)
	}
	if got := bestFigures("io", []*result.Run{site}); got != nil {
		t.Errorf("one run: %+v", got)
	}
}

func TestLongWordsKeepTheirEnds(t *testing.T) {
	r, err := newRuler()
	if err != nil {
		t.Fatal(err)
	}
	const width = 80
	first, second := r.fitEnds("interrupt core of the client", textSize, width), r.fitEnds("interrupt core of the server", textSize, width)
	if first == second || !strings.HasPrefix(first, "int") || !strings.HasSuffix(second, "ver") || r.width(first, textSize) > width {
		t.Errorf("%q, %q", first, second)
	}
	if got := r.fitEnds("short", textSize, width); got != "short" {
		t.Errorf("%q", got)
	}
	if got := r.fit("interrupt core of the client", textSize, width); !strings.HasSuffix(got, "…") || r.width(got, textSize) > width {
		t.Errorf("%q", got)
	}
	if r.fitEnds("漢字", textSize, 1) != "…" || r.fit("漢字", textSize, 1) != "…" {
		t.Error("nothing fits, but something is shown")
	}
}

func TestTheCaptionNamesWhatIsTheSameEverywhere(t *testing.T) {
	run := &result.Run{Levels: []result.Level{{Name: "disk", Measures: []result.Measure{{Name: "a", Unit: "s", Labels: result.Labels{"x": "1", "disk": "sda"}, Samples: []float64{1}}}}}}
	f := result.Figure{Kind: result.Lines, Caption: "Look.", Names: []string{"a"}, X: "x", Group: []string{"disk"}}
	if c, _ := newChart(f, "disk", []*result.Run{run}); c.Caption != "Look. All with disk sda." {
		t.Error(c.Caption)
	}
	// Others may have other disks without a label.
	if c, _ := newChart(f, "disk", []*result.Run{run, run}); c.Caption != "Look." {
		t.Error(c.Caption)
	}
}
