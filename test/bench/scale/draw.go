package scale

import (
	"os"

	"hemera/measure/report"
)

// curve is one line of a chart.
// Each has one value for each size.
type curve struct {
	name  string
	value func(r *Result) float64
}

// chart is one of those that are drawn beside each other.
type chart struct {
	title, unit string
	curves      []curve
}

// charts returns the drawings, one for each group of figures.
// The groups are those that a reader compares: each has one unit.
func charts() []chart {
	return []chart{
		{"Load", "thousand files/s", []curve{
			{"load", func(r *Result) float64 { return float64(r.LoadFiles) / r.LoadTime.Seconds() / 1e3 }},
		}},
		{"Store", "bytes a file", []curve{
			{"on disk", func(r *Result) float64 { return float64(r.StoreBytes) / float64(r.Files) }},
		}},
		{"Start", "ms", []curve{
			{"clean", func(r *Result) float64 { return float64(r.BootClean.Microseconds()) / 1e3 }},
			{"after kill -9", func(r *Result) float64 { return float64(r.BootKilled.Microseconds()) / 1e3 }},
		}},
		{"Memory, smallest cache", "MiB", []curve{
			{"idle", func(r *Result) float64 { return float64(r.IdleRSS >> 20) }},
			{"under load", func(r *Result) float64 { return float64(r.LoadRSS >> 20) }},
			{"in a check", func(r *Result) float64 { return float64(r.CheckRSS >> 20) }},
		}},
		{"Requests, 64 clients", "1/s", []curve{
			{"stat, 20,000 files", func(r *Result) float64 { return r.StatHot[1].PerSecond }},
			{"stat, any file", func(r *Result) float64 { return r.StatCold[1].PerSecond }},
			{"open, any file", func(r *Result) float64 { return r.OpenCold[1].PerSecond }},
			{"create", func(r *Result) float64 { return r.Create[1].PerSecond }},
		}},
		{"Check", "s", []curve{
			{"all records", func(r *Result) float64 { return r.Check.Seconds() }},
		}},
	}
}

// Draw writes the curves of growth into an SVG file, over millions of files. The file is replaced.
func Draw(path string, results []Result) error {
	var sheet report.Panels
	sheet.LogX = true
	for _, c := range charts() {
		p := report.Panel{Title: c.title, X: "million files", Y: c.unit}
		for _, k := range c.curves {
			curve := report.Curve{Name: k.name}
			for i := range results {
				curve.Points = append(curve.Points, report.Point{X: float64(results[i].Files) / 1e6, Y: k.value(&results[i])})
			}
			p.Curves = append(p.Curves, curve)
		}
		sheet.Panels = append(sheet.Panels, p)
	}
	return os.WriteFile(path, sheet.SVG(), 0o644)
}
