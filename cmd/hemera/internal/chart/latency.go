// Package chart draws what a benchmark measured, as SVG.
package chart

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"hemera/words/hemera"
)

// Panel is one phase: latencies over the time since it began.
type Panel struct {
	Title  string
	Points []hemera.BenchmarkPoint
}

const (
	// Lengths in points of 1/72 inch.
	panelsAcross = 3
	panelWidth   = 330 // points
	panelHeight  = 220
	// Room for three lines of heading.
	headHeight = 56
	// dotsBelow is how few points have dots: one alone makes no line.
	dotsBelow = 10
)

// curve is one line of each panel.
// The order of the curves is the order of drawing: the median comes last and lies on top.
type curve struct {
	name   string
	colour color.Color
	of     func(hemera.BenchmarkPoint) time.Duration // the value of a point
}

// curves are the lines of a panel: the median, the 99th percentile and the worst operation of each interval.
func curves() []curve {
	return []curve{
		{"max", color.RGBA{R: 0xd6, G: 0x27, B: 0x28, A: 0xff}, func(p hemera.BenchmarkPoint) time.Duration { return p.Max }},
		{"p99", color.RGBA{R: 0xe6, G: 0x8a, B: 0x00, A: 0xff}, func(p hemera.BenchmarkPoint) time.Duration { return p.P99 }},
		{"p50", color.RGBA{R: 0x1f, G: 0x5f, B: 0xa8, A: 0xff}, func(p hemera.BenchmarkPoint) time.Duration { return p.P50 }},
	}
}

// Latency draws a panel for each phase below a heading. All share the logarithmic axis of latencies, so
// that phases can be compared; each has its own of time.
// It returns the whole SVG, and fails only if the plotting library does. Without panels it draws the heading alone.
// It needs no display and reads no files: the fonts are linked in.
func Latency(heading []string, panels []Panel) ([]byte, error) {
	// Two passes of the layout: the height is known before anything is drawn.
	rows := rowsOf(panels)
	canvas := vgsvg.New(panelsAcross*panelWidth, vg.Length(rows*panelHeight+headHeight))
	if err := paint(draw.New(canvas), heading, panels); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err := canvas.WriteTo(&out)
	// A viewer without the font uses a similar one.
	return bytes.ReplaceAll(out.Bytes(), []byte("Liberation Sans;"), []byte("Liberation Sans,Arial,sans-serif;")), err
}

// rowsOf is the number of rows of panels, with panelsAcross in each.
func rowsOf(panels []Panel) int { return (len(panels) + panelsAcross - 1) / panelsAcross }

// paint draws the heading and then the panels, row by row, into the whole canvas.
func paint(whole draw.Canvas, heading []string, panels []Panel) error {
	rows := rowsOf(panels)
	grid := make([][]*plot.Plot, rows)
	low, high := decades(panels)
	for i, panel := range panels {
		p, err := panel.plot(low, high)
		if err != nil {
			return err
		}
		grid[i/panelsAcross] = append(grid[i/panelsAcross], p)
	}
	// The last row may have fewer panels. plot.Align wants a full matrix.
	for i := range grid {
		grid[i] = append(grid[i], make([]*plot.Plot, panelsAcross-len(grid[i]))...)
	}
	// A white page: viewers with a dark background would hide the text.
	whole.SetColor(color.White)
	whole.Fill(whole.Rectangle.Path())
	head(whole, heading)
	if rows > 0 {
		body := draw.Crop(whole, 6, -6, 6, -headHeight)
		// Lengths are points of 1/72 inch.
		tiles := draw.Tiles{Rows: rows, Cols: panelsAcross, PadX: 14, PadY: 14}
		for i, row := range plot.Align(grid, tiles, body) {
			for j, c := range row {
				if grid[i][j] != nil {
					grid[i][j].Draw(c)
				}
			}
		}
	}
	return nil
}

// head writes the heading at the left and the legend at the right.
// The legend stands once for all panels, because all have the same curves.
func head(c draw.Canvas, heading []string) {
	c = draw.Crop(c, 10, -10, c.Max.Y-c.Min.Y-headHeight+2, -6)
	style := plot.New().Title.TextStyle
	style.XAlign, style.Font.Size, style.Font.Variant = draw.XLeft, 11, "Sans"
	for i, line := range heading {
		c.FillText(style, vg.Point{X: c.Min.X, Y: c.Max.Y - vg.Length(i)*15}, line)
	}
	legend := plot.NewLegend()
	legend.Padding = 4
	legend.Top, legend.TextStyle.Font.Variant, legend.TextStyle.Font.Size = true, "Sans", 11
	for _, k := range curves() {
		legend.Add(k.name, &plotter.Line{LineStyle: k.line()})
	}
	legend.Draw(c)
}

// line is the style of a curve; its width is in points of 1/72 inch.
func (k curve) line() draw.LineStyle { return draw.LineStyle{Color: k.colour, Width: vg.Points(1.5)} }

// plot draws one panel. low and high are the common range of latencies, in seconds.
// A point below low, such as a latency of 0, is drawn at low: a logarithmic axis has no 0. A panel without points
// keeps its axes.
func (panel Panel) plot(low, high float64) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.Title.Padding = panel.Title, 4
	p.X.Label.Text, p.Y.Label.Text = "time since the phase began (s)", "latency"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, latencies{}
	for _, f := range []*font.Font{&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font} {
		f.Variant = "Sans"
	}
	// The numbers of package font: 0 is regular.
	p.Title.TextStyle.Font.Weight = 1 // semi-bold
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{0xcc}, color.Gray{0xe4}
	p.Add(grid)
	for _, k := range curves() {
		var xy plotter.XYs
		for _, point := range panel.Points {
			// A point stands for an interval.
			middle := point.At + point.Width/2
			xy = append(xy, plotter.XY{X: middle.Seconds(), Y: math.Max(k.of(point).Seconds(), low)})
		}
		if len(xy) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(xy)
		if err != nil {
			return nil, fmt.Errorf("draw %s: %w", panel.Title, err)
		}
		line.LineStyle = k.line()
		dots.GlyphStyle = draw.GlyphStyle{Color: k.colour, Radius: vg.Points(2), Shape: draw.CircleGlyph{}}
		p.Add(line)
		// Dots show the few points of a short phase; many would hide the line.
		if len(xy) < dotsBelow {
			p.Add(dots)
		}
	}
	p.Y.Min, p.Y.Max, p.X.Min = low, high, 0
	p.X.Max = panel.end()
	return p, nil
}

// end is where the last stretch ends, in seconds; never zero.
func (panel Panel) end() float64 {
	end := time.Millisecond
	for _, p := range panel.Points {
		end = max(end, p.At+p.Width)
	}
	return end.Seconds()
}

// decades are the powers of ten around all latencies, in seconds.
// Without any points the range is from 100 ns to 1 µs, so that the axis always exists.
func decades(panels []Panel) (low, high float64) {
	least, most := time.Hour, time.Microsecond
	for _, panel := range panels {
		for _, p := range panel.Points {
			least, most = min(least, p.P50), max(most, p.Max)
		}
	}
	// At least one decade, also if all latencies are equal or one is 0.
	least = min(max(least, 100*time.Nanosecond), most/10)
	return math.Pow(10, math.Floor(math.Log10(least.Seconds()))), math.Pow(10, math.Ceil(math.Log10(most.Seconds())))
}

// latencies marks decades with their unit: 10 µs, 100 µs, 1 ms.
type latencies struct{}

// Ticks implements plot.Ticker.
func (latencies) Ticks(low, high float64) (ticks []plot.Tick) {
	// low and high are powers of ten, from decades; rounding removes the error of the logarithm.
	for e := int(math.Round(math.Log10(low))); e <= int(math.Round(math.Log10(high))); e++ {
		at := math.Pow10(e)
		ticks = append(ticks, plot.Tick{Value: at, Label: decade(e)})
		// Small ticks without labels between the decades.
		for i := 2; i < 10 && at*10 <= high*1.01; i++ {
			ticks = append(ticks, plot.Tick{Value: at * float64(i)})
		}
	}
	return ticks
}

// decade is 10 to the e seconds in words.
func decade(e int) string {
	// Each is 1000 times the one before; 10^-9 s is the first.
	units := []string{"ns", "µs", "ms", "s"}
	n := max(0, min(len(units)-1, (e+9)/3))
	return fmt.Sprintf("%.0f %s", math.Pow10(e+9-3*n), units[n])
}
