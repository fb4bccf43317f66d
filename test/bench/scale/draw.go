package scale

import (
	"image/color"
	"os"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// curve is one line of a chart.
// Each has one value for each size.
type curve struct {
	name  string
	value func(r *Result) float64
}

// chart is one of those that are drawn beside each other.
// log is for figures that grow with the number of files by factors.
type chart struct {
	title, unit string
	log         bool
	curves      []curve
}

// charts are the drawings, one for each group of figures.
// The groups are those that a reader compares: each has one unit.
func charts() []chart {
	return []chart{
		{"Load", "thousand files/s", false, []curve{
			{"load", func(r *Result) float64 { return float64(r.LoadFiles) / r.LoadTime.Seconds() / 1e3 }},
		}},
		{"Store", "bytes a file", false, []curve{
			{"on disk", func(r *Result) float64 { return float64(r.StoreBytes) / float64(r.Files) }},
		}},
		{"Start", "ms", false, []curve{
			{"clean", func(r *Result) float64 { return float64(r.BootClean.Microseconds()) / 1e3 }},
			{"after kill -9", func(r *Result) float64 { return float64(r.BootKilled.Microseconds()) / 1e3 }},
		}},
		{"Memory, smallest cache", "MiB", false, []curve{
			{"idle", func(r *Result) float64 { return float64(r.IdleRSS >> 20) }},
			{"under load", func(r *Result) float64 { return float64(r.LoadRSS >> 20) }},
			{"in a check", func(r *Result) float64 { return float64(r.CheckRSS >> 20) }},
		}},
		{"Requests, 64 clients", "1/s", true, []curve{
			{"stat, 20,000 files", func(r *Result) float64 { return r.StatHot[1].PerSecond }},
			{"stat, any file", func(r *Result) float64 { return r.StatCold[1].PerSecond }},
			{"open, any file", func(r *Result) float64 { return r.OpenCold[1].PerSecond }},
			{"create", func(r *Result) float64 { return r.Create[1].PerSecond }},
		}},
		{"Check", "s", true, []curve{
			{"all records", func(r *Result) float64 { return r.Check.Seconds() }},
		}},
	}
}

// Draw writes the curves of growth into an SVG file.
// Charts stand in rows of three, all of one size. The file is replaced.
func Draw(path string, results []Result) error {
	const columns, width, height = 3, 12 * vg.Centimeter, 8 * vg.Centimeter
	all := charts()
	plots := [][]*plot.Plot{}
	for i, c := range all {
		if i%columns == 0 {
			plots = append(plots, nil)
		}
		p, err := c.plot(results)
		if err != nil {
			return err
		}
		plots[len(plots)-1] = append(plots[len(plots)-1], p)
	}
	canvas := vgsvg.New(columns*width, vg.Length(len(plots))*height)
	tiles := draw.Tiles{Rows: len(plots), Cols: columns, PadX: 4 * vg.Millimeter, PadY: 4 * vg.Millimeter, PadTop: 2 * vg.Millimeter, PadRight: 3 * vg.Millimeter}
	for y, line := range plot.Align(plots, tiles, draw.New(canvas)) {
		for x, at := range line {
			plots[y][x].Draw(at)
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := canvas.WriteTo(f); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// plot draws one chart over the number of files.
// The x axis is logarithmic, because sizes grow by factors.
func (c chart) plot(results []Result) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.title, "million files", c.unit
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.ConstantTicks(ticks(results))
	if c.log {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	p.Add(plotter.NewGrid())
	colours := []color.Color{color.RGBA{0x1f, 0x77, 0xb4, 0xff}, color.RGBA{0xd6, 0x27, 0x28, 0xff}, color.RGBA{0x2c, 0xa0, 0x2c, 0xff}, color.RGBA{0x94, 0x67, 0xbd, 0xff}}
	for i, k := range c.curves {
		points := make(plotter.XYs, len(results))
		for n := range results {
			// A logarithmic axis has no zero.
			points[n] = plotter.XY{X: float64(results[n].Files) / 1e6, Y: max(k.value(&results[n]), 1e-3)}
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, dots.Color, dots.Shape = colours[i], colours[i], draw.CircleGlyph{}
		p.Add(line, dots)
		p.Legend.Add(k.name, line)
	}
	p.Legend.Top = true
	// Room above the curves for the legend.
	if !c.log {
		p.Y.Min, p.Y.Max = 0, p.Y.Max*1.35
	} else {
		p.Y.Max *= 4
	}
	return p, nil
}

// ticks marks the numbers of files that were measured.
func ticks(results []Result) (out []plot.Tick) {
	for _, r := range results {
		out = append(out, plot.Tick{Value: float64(r.Files) / 1e6, Label: plainNumber(float64(r.Files) / 1e6)})
	}
	return out
}

// plainNumber writes a number without an exponent if it is short.
func plainNumber(n float64) string { return strconv.FormatFloat(n, 'g', 4, 64) }
