package bench

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"hemera/cmd/hemera/internal/output"
	"hemera/measure/result"
)

// columns of the table that a run ends with. The keys are those of -m and -j, whose values have the units of result.json.
func columns() []output.Column {
	return []output.Column{
		{Title: "LEVEL", Key: "level"}, {Title: "MEASURE", Key: "measure"}, {Title: "CONDITIONS", Key: "labels"},
		{Title: "MEAN ± SD", Key: "text"}, {Title: "N", Key: "samples", Wide: 2}, {Title: "OF PEAK", Key: "of_peak", Show: output.Percent, Wide: 1},
	}
}

// show prints what the run measured, what it skipped, and where its directory is. Programs get the measures alone: the
// rest is in result.json.
func (s *session) show() error {
	var records []output.Record
	for _, l := range s.run.Levels {
		for _, m := range l.Measures {
			records = append(records, record(l.Name, m))
		}
	}
	if err := s.e.List(columns(), records, "nothing was measured"); err != nil || s.e.ForPrograms() {
		return err
	}
	for _, l := range s.run.Levels {
		for _, k := range l.Skipped {
			fmt.Fprintf(s.e.Out, "not measured: %s: %s (%s)%s\n", k.What, k.Why, l.Name, prefixed("; ", k.Remedy))
		}
	}
	fmt.Fprintf(s.e.Out, "\nThe run is in %s\n", s.out)
	return nil
}

// prefixed is the text with a prefix, or nothing when there is no text.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// record is one measure, for the table and for programs. Labels are sorted: the same conditions read the same in every run.
func record(level string, m result.Measure) output.Record {
	labels := make([]string, 0, len(m.Labels))
	for _, k := range slices.Sorted(maps.Keys(m.Labels)) {
		labels = append(labels, k+"="+m.Labels[k])
	}
	mean, sd := meanSD(m.Samples)
	r := output.Record{
		{Key: "level", Value: level}, {Key: "measure", Value: m.Name}, {Key: "labels", Value: strings.Join(labels, " ")},
		{Key: "mean", Value: mean}, {Key: "sd", Value: sd}, {Key: "unit", Value: m.Unit}, {Key: "samples", Value: len(m.Samples)},
		{Key: "text", Value: quantity(mean, sd, m.Unit)},
	}
	if m.Estimate {
		r[len(r)-1].Value = quantity(mean, sd, m.Unit) + " (estimate)"
	}
	if m.Peak > 0 {
		r = append(r, output.Field{Key: "of_peak", Value: 100 * mean / m.Peak})
	}
	return r
}

// quantity is a mean and a standard deviation with the prefix that suits the mean: 5.87 ± 0.02 GB/s. A share is in percent,
// and a spread of 0 is not shown.
func quantity(mean, sd float64, unit string) string {
	factor, prefix := 1.0, ""
	if unit != "1" && unit != "" {
		factor, prefix = prefixOf(mean)
	}
	// Work for a joule is published with binary prefixes.
	if unit == "B/J" {
		factor, prefix = 1<<20, "Mi"
	}
	// "k/s" and not "k1/s": the unit of a rate of operations has no letter of its own.
	if unit == "1/s" {
		unit = "/s"
	}
	if unit == "1" {
		factor, unit = 0.01, "%"
	}
	text := digits3(mean / factor)
	if sd > 0 {
		text += " ± " + digits3(sd/factor)
	}
	return strings.TrimSpace(text + " " + prefix + unit)
}

// prefixOf is the decimal prefix for a value: rates of networks and disks are sold in powers of ten.
func prefixOf(v float64) (factor float64, prefix string) {
	for _, p := range []struct {
		factor float64
		prefix string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}} {
		if math.Abs(v) >= p.factor {
			return p.factor, p.prefix
		}
	}
	return 1, ""
}

// digits3 writes a number with three significant digits, and whole numbers of more digits whole. More digits would claim more
// than a few iterations know.
func digits3(v float64) string {
	a := math.Abs(v)
	switch {
	case a == 0 || a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// meanSD is the mean and the standard deviation of the samples, 0 where there are too few: one sample says nothing about the
// spread of others.
func meanSD(samples []float64) (mean, sd float64) {
	n := float64(len(samples))
	if n == 0 {
		return 0, 0
	}
	for _, v := range samples {
		mean += v / n
	}
	for _, v := range samples {
		sd += (v - mean) * (v - mean)
	}
	if n < 2 {
		return mean, 0
	}
	return mean, math.Sqrt(sd / (n - 1))
}
