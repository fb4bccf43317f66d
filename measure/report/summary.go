package report

import (
	"fmt"
	"slices"
	"strings"

	"hemera/measure/result"
	"hemera/measure/stats"
)

const (
	// nearLimit is the fraction of the peak from which the hardware counts as the limit of a load, and busyLimit the
	// fraction of the time from which processors do.
	nearLimit, busyLimit = 0.8, 0.9
	// wordsMax bounds the results of a level in the summary.
	wordsMax = 4
)

// Summary returns a run's summary in about ten lines: the best results of each level, their limits, and whether the
// machine's load makes them reliable. It has no more than ten lines for up to seven levels.
func Summary(r *result.Run) (lines []string) {
	for _, l := range summaryOf(r) {
		lines = append(lines, fmt.Sprintf("%-6s  %s", l.Word, l.Text))
	}
	return lines
}

// summaryLine is one line of a summary: its subject and its text.
type summaryLine struct{ Word, Text string }

// summaryOf returns the lines of [Summary], which the page shows too; nil if nothing was measured.
func summaryOf(r *result.Run) (lines []summaryLine) {
	for _, l := range r.Levels {
		if best := bestWords(l); len(best) > 0 {
			lines = append(lines, summaryLine{l.Name, strings.Join(best, ", ")})
		}
	}
	if len(lines) == 0 {
		return nil
	}
	load := loadOf(r)
	if r.Quick {
		load += "; this was a quick run: its figures are rough"
	}
	return append(lines, summaryLine{"limit", limitOf(r)}, summaryLine{"load", load})
}

// bestWords returns the highest means of a level, one for each load, phase or protocol, in the order of the run:
// throughput if it was measured, otherwise rates.
func bestWords(l result.Level) (texts []string) {
	for _, name := range []string{"throughput", "rate"} {
		var order []string
		best := map[string]result.Measure{}
		for _, m := range l.Measures {
			word := stats.First(m.Labels, "load", "phase", "protocol")
			if m.Name != name || m.Better != result.Higher || len(m.Samples) == 0 {
				continue
			}
			have, ok := best[word]
			if !ok {
				order = append(order, word)
			}
			if !ok || stats.Of(m).Mean > stats.Of(have).Mean {
				best[word] = m
			}
		}
		for _, word := range order[:min(len(order), wordsMax)] {
			m := best[word]
			s := stats.Of(m)
			text := strings.TrimSpace(word + " " + stats.Quantity(s.Mean, s.SD, m.Unit))
			if m.Peak > 0 {
				text += fmt.Sprintf(" (%s of its peak)", shareOf(m))
			}
			texts = append(texts, text)
		}
		if len(texts) > 0 {
			return texts
		}
	}
	return nil
}

// limitOf returns the limit of the highest level that transferred data or did operations: the hardware below, the
// processors, or nothing that the run measured.
func limitOf(r *result.Run) string {
	near := limits([]*result.Run{r})
	if n := len(near); n > 0 && near[n-1].share >= nearLimit {
		top := near[n-1]
		return fmt.Sprintf("%s %s has %s of %s, which is %s", top.Level, top.What, top.Percent, top.Peak, top.From)
	}
	var busy []string
	for _, l := range r.Levels {
		if l.Busy >= busyLimit {
			busy = append(busy, fmt.Sprintf("%s (%s)", l.Name, percent(l.Busy)))
		}
	}
	if len(busy) > 0 {
		return "the processors of this machine were busy: " + strings.Join(busy, ", ")
	}
	if n := len(near); n > 0 {
		return fmt.Sprintf("nothing that was measured: the nearest is %s %s with %s of its peak; more clients may give more", near[n-1].Level, near[n-1].What, near[n-1].Percent)
	}
	return "not known: no level has a peak to compare with (hemera bench all measures them)"
}

// loadOf returns a text about other work of the machine.
func loadOf(r *result.Run) string {
	switch {
	case r.Others == nil:
		return "not known: how busy the machine was is not in the run"
	case stats.Disturbed(r):
		return fmt.Sprintf("this machine had other work (%s of its processors before the run, %s taken by the hypervisor): the figures are too low; measure again when it is idle",
			percent(r.Others.Before), percent(r.Others.Steal))
	}
	few := ""
	if slices.ContainsFunc(r.Levels, func(l result.Level) bool {
		return slices.ContainsFunc(l.Measures, func(m result.Measure) bool { return len(m.Samples) < stats.BootstrapMin })
	}) {
		few = "; some measures have fewer than 3 samples, which proves no difference"
	}
	return fmt.Sprintf("this machine was idle (%s busy before the run)%s", percent(r.Others.Before), few)
}
