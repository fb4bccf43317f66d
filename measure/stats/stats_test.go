package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hemera/measure/result"
	"hemera/measure/stats"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

func TestSummaries(t *testing.T) {
	for _, c := range []struct {
		samples []float64
		want    stats.Summary
	}{
		{nil, stats.Summary{}},
		{[]float64{7}, stats.Summary{N: 1, Mean: 7, Median: 7, Min: 7, Max: 7}},
		{[]float64{4, 2}, stats.Summary{N: 2, Mean: 3, SD: math.Sqrt2, Median: 3, Min: 2, Max: 4}},
		{[]float64{9, 1, 2}, stats.Summary{N: 3, Mean: 4, SD: math.Sqrt(19), Median: 2, Min: 1, Max: 9}},
		// A small spread around a large mean keeps its digits.
		{[]float64{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}, stats.Summary{N: 4, Mean: 1e9 + 10, SD: math.Sqrt(30), Median: 1e9 + 10, Min: 1e9 + 4, Max: 1e9 + 16}},
	} {
		got := stats.Summarise(c.samples)
		if got.N != c.want.N || !near(got.Mean, c.want.Mean) || !near(got.SD, c.want.SD) || !near(got.Median, c.want.Median) || got.Min != c.want.Min || got.Max != c.want.Max {
			t.Errorf("%v: %+v, not %+v", c.samples, got, c.want)
		}
	}
}

func TestAPublishedSpreadStandsForTheDeviation(t *testing.T) {
	if got := stats.Of(result.Measure{Samples: []float64{71.44}, Spread: 0.4}); got.SD != 0.4 || got.Mean != 71.44 {
		t.Errorf("%+v", got)
	}
	if got := stats.Of(result.Measure{Samples: []float64{1, 3}, Spread: 9}); got.SD != math.Sqrt2 {
		t.Errorf("samples count more than a published spread: %+v", got)
	}
}

// slowPercentile finds the percentile by walking the line through all samples in small steps of rank.
func slowPercentile(samples []float64, percent int) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	// A rank of percent*(n-1)/100 in whole steps of 1/100 of a sample.
	hundredths := percent * (len(sorted) - 1)
	value := sorted[0]
	for step := range hundredths {
		i := step / 100
		value += (sorted[i+1] - sorted[i]) / 100
	}
	return value
}

func TestPercentileIsTheSlowOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Float64Range(-1000, 1000), 1, 30).Draw(t, "samples")
		percent := rapid.IntRange(0, 100).Draw(t, "percent")
		before := slices.Clone(samples)
		if got, want := stats.Percentile(samples, float64(percent)), slowPercentile(samples, percent); math.Abs(got-want) > 1e-6 {
			t.Fatalf("%d %% of %v is %g, not %g", percent, samples, got, want)
		}
		if !slices.Equal(before, samples) {
			t.Fatal("the caller's samples changed their order")
		}
	})
	if stats.Percentile([]float64{1, 2}, -5) != 1 || stats.Percentile([]float64{1, 2}, 200) != 2 || stats.Median(nil) != 0 {
		t.Error("ends")
	}
}

func TestIntervalsAreTheSameEverywhere(t *testing.T) {
	a, b := []float64{10, 11, 12, 13, 14, 15, 16, 17}, []float64{20, 22, 24, 26, 28, 30, 32, 34}
	first, ok := stats.RatioInterval(a, b, 0.95)
	second, _ := stats.RatioInterval(a, b, 0.95)
	if !ok || first != second || !first.Holds(2) || first.Holds(1) || first.Low < 20.0/17 || first.High > 3.4 {
		t.Errorf("%+v, %+v, %v", first, second, ok)
	}
	wide, _ := stats.RatioInterval(a, b, 0.999)
	narrow, _ := stats.RatioInterval(a, b, 0.5)
	if wide.Low > first.Low || wide.High < first.High || narrow.Low <= first.Low || narrow.High >= first.High {
		t.Errorf("more confidence needs a wider interval: %+v, %+v, %+v", narrow, first, wide)
	}
	if _, ok := stats.RatioInterval([]float64{0, 1, 2}, b, 0.95); ok {
		t.Error("a ratio to zero")
	}
	if i, ok := stats.MedianInterval([]float64{5, 5, 5}, 0.95); !ok || i != (stats.Interval{Low: 5, High: 5}) {
		t.Errorf("%+v", i)
	}
	if _, ok := stats.MedianInterval([]float64{5, 5}, 0.95); ok {
		t.Error("an interval of two samples")
	}
}

// Sets of one distribution must seldom be called different, and sets that differ by ten deviations always.
func TestVerdictsAreSeldomWrong(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	draw := func(n int, mean float64) (m result.Measure) {
		for range n {
			m.Samples = append(m.Samples, mean+dice.NormFloat64())
		}
		return m
	}
	const rounds = 60
	for _, n := range []int{4, 5, 10} {
		wrong := 0
		for range rounds {
			if stats.Compare(draw(n, 100), draw(n, 100), 0.95).Verdict == stats.Difference {
				wrong++
			}
			if c := stats.Compare(draw(n, 100), draw(n, 110), 0.95); c.Verdict != stats.Difference {
				t.Errorf("10 deviations apart: %+v", c)
			}
		}
		if wrong > rounds/10 {
			t.Errorf("%d samples: %d of %d comparisons of the same are called different", n, wrong, rounds)
		}
	}
}

func TestVerdicts(t *testing.T) {
	three, apart := []float64{10, 11, 12}, []float64{20, 21, 22}
	m := func(better result.Better, spread float64, samples ...float64) result.Measure {
		return result.Measure{Unit: "B/s", Better: better, Spread: spread, Samples: samples}
	}
	for name, c := range map[string]struct {
		a, b       result.Measure
		verdict    stats.Verdict
		better     string
		confidence float64
	}{
		"more is better":           {m(result.Higher, 0, three...), m(result.Higher, 0, apart...), stats.Difference, "B", 0.9},
		"less is better":           {m(result.Lower, 0, three...), m(result.Lower, 0, apart...), stats.Difference, "A", 0.9},
		"neither is better":        {m(result.Neither, 0, three...), m(result.Neither, 0, apart...), stats.Difference, "", 0.9},
		"the same":                 {m(result.Higher, 0, three...), m(result.Higher, 0, three...), stats.Noise, "", 0.9},
		"overlap":                  {m(result.Higher, 0, 10, 11, 12, 13), m(result.Higher, 0, 12, 13, 14, 15), stats.Noise, "", 0.95},
		"two samples":              {m(result.Higher, 0, 1, 2), m(result.Higher, 0, apart...), stats.Unknown, "", 0},
		"no samples":               {m(result.Higher, 0), m(result.Higher, 0, apart...), stats.Unknown, "", 0},
		"zero":                     {m(result.Higher, 0, 0, 1, 2), m(result.Higher, 0, apart...), stats.Unknown, "", 0},
		"both published":           {m(result.Higher, 0.4, 71.44), m(result.Higher, 0.96, 35.28), stats.Difference, "A", 0.95},
		"published and within":     {m(result.Higher, 5, 20), m(result.Higher, 0, apart...), stats.Noise, "", 0.95},
		"published without spread": {m(result.Higher, 0, 20), m(result.Higher, 3, 30), stats.Unknown, "", 0},
	} {
		got := stats.Compare(c.a, c.b, 0.95)
		if got.Verdict != c.verdict || got.Better != c.better || !near(got.Confidence, c.confidence) || got.Basis == "" {
			t.Errorf("%s: %+v", name, got)
		}
		if got.Verdict != stats.Unknown && (!got.Interval.Holds(got.Ratio) || got.Interval.Holds(1) != (got.Verdict == stats.Noise)) {
			t.Errorf("%s: the interval contradicts: %+v", name, got)
		}
	}
}

func TestRunsMeetByConditions(t *testing.T) {
	run := func(measures ...result.Measure) *result.Run {
		return &result.Run{Levels: []result.Level{{Name: "io", Measures: measures}}}
	}
	of := func(name, load, unit string) result.Measure {
		return result.Measure{Name: name, Labels: result.Labels{"load": load, "clients": "1"}, Unit: unit, Samples: []float64{1, 1, 1}}
	}
	pairs, onlyA, onlyB := stats.CompareRuns(
		run(of("throughput", "read", "B/s"), of("throughput", "write", "B/s"), of("rate", "read", "1/s")),
		run(of("rate", "read", "B/s"), of("throughput", "read", "B/s"), of("latency", "read", "s")), 0.95)
	if len(pairs) != 1 || pairs[0].Name != "throughput" || pairs[0].Labels != "clients=1 load=read" || pairs[0].Ratio != 1 {
		t.Errorf("pairs %+v", pairs)
	}
	if len(onlyA) != 2 || onlyA[0].Labels != "clients=1 load=write" || onlyA[1].Name != "rate" {
		t.Errorf("only in A: %+v", onlyA)
	}
	if len(onlyB) != 2 || onlyB[0].Name != "rate" || onlyB[1].Name != "latency" {
		t.Errorf("only in B: %+v", onlyB)
	}
}

// TestABusyMachineHasNoDifference: where either machine had other work, a difference may be of that work. Noise stays noise.
func TestABusyMachineHasNoDifference(t *testing.T) {
	run := func(factor float64, others *result.Others) *result.Run {
		m := func(name string, by float64) result.Measure {
			return result.Measure{Name: name, Unit: "B/s", Better: result.Higher, Samples: []float64{10 * by, 11 * by, 10.5 * by, 10.2 * by, 10.8 * by}}
		}
		return &result.Run{Others: others, Levels: []result.Level{{Name: "io", Measures: []result.Measure{m("same", 1), m("other", factor)}}}}
	}
	for name, c := range map[string]struct {
		a, b *result.Others
		want stats.Verdict
	}{
		"not recorded":            {nil, nil, stats.Difference},
		"idle":                    {&result.Others{Before: 0.05}, &result.Others{Steal: 0.1}, stats.Difference},
		"the base was busy":       {&result.Others{Before: 0.3}, nil, stats.Unknown},
		"the other was busy":      {nil, &result.Others{Before: 0.11}, stats.Unknown},
		"the hypervisor had work": {&result.Others{}, &result.Others{Steal: 0.2}, stats.Unknown},
	} {
		pairs, _, _ := stats.CompareRuns(run(1, c.a), run(2, c.b), 0.95)
		same, other := pairs[0], pairs[1]
		if same.Verdict != stats.Noise || other.Verdict != c.want {
			t.Errorf("%s: %s and %s, want noise and %s", name, same.Verdict, other.Verdict, c.want)
		}
		if other.Verdict == stats.Unknown && (other.Better != "" || other.Basis != "the machine had other work" || other.Ratio != 2) {
			t.Errorf("%s: %+v", name, other.Comparison)
		}
	}
}

// TestOverallCountsEveryVerdict: with the most frequent reason of those that are not comparable.
func TestOverallCountsEveryVerdict(t *testing.T) {
	pair := func(v stats.Verdict, better, basis string) stats.Pair {
		return stats.Pair{Comparison: stats.Comparison{Verdict: v, Better: better, Basis: basis}}
	}
	pairs := []stats.Pair{pair(stats.Difference, "B", ""), pair(stats.Difference, "B", ""), pair(stats.Difference, "A", ""), pair(stats.Noise, "", ""),
		pair(stats.Difference, "", ""), pair(stats.Unknown, "", "few"), pair(stats.Unknown, "", "busy"), pair(stats.Unknown, "", "busy")}
	want := "of 8 measures 2 are better, 1 worse, 1 the same within their noise; 1 differ and are neither; 3 are not comparable (busy)"
	if got := stats.Overall(pairs); got != want {
		t.Errorf("%q, not %q", got, want)
	}
	if got := stats.Overall(nil); !strings.HasPrefix(got, "not comparable") {
		t.Errorf("%q", got)
	}
}

func TestQuantitiesHaveTheirPrefix(t *testing.T) {
	for _, c := range []struct {
		mean, sd float64
		unit     string
		want     string
	}{
		{5.868e9, 0, "B/s", "5.87 GB/s"},
		{71.44e9, 0.4e9, "bit/s", "71.4 ± 0.4 Gbit/s"},
		{0.611, 0.01, "1", "61.1 ± 1.00 %"},
		{1234, 0, "1/s", "1.23 k/s"},
		{2.5e-6, 0, "s", "2.50 µs"},
		{0, 0, "J", "0 J"},
	} {
		if got := stats.Quantity(c.mean, c.sd, c.unit); got != c.want {
			t.Errorf("%g ± %g %s is %q, not %q", c.mean, c.sd, c.unit, got, c.want)
		}
	}
}
