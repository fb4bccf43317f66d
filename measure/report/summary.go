package report

import (
	"fmt"
	"slices"
	"strings"

	"hemera/measure/result"
	"hemera/measure/stats"
)

const (
	// nearLimit is the share of its peak from which the hardware limits a load, and busyLimit the share of their time from
	// which processors do.
	nearLimit, busyLimit = 0.8, 0.9
	// wordsMax is how many figures of a level the summary has.
	wordsMax = 4
)

// Summary is what a run says, in about ten lines: the best figures of each level, what limits them, and whether the
// machine's load lets one trust them. It has no more than ten lines for up to seven levels.
func Summary(r *result.Run) (lines []string) {
	for _, l := range summaryOf(r) {
		lines = append(lines, fmt.Sprintf("%-6s  %s", l.Word, l.Text))
	}
	return lines
}

// summaryLine is one line of a summary: what it is about, and what it says.
type summaryLine struct{ Word, Text string }

// summaryOf are the lines of [Summary], which the page shows too; none if nothing was measured.
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

// bestWords are the highest means of a level, one for each load, phase or protocol, in the order of the run: throughput
// where it is measured, else rates.
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

// limitOf says what limits the uppermost level that moved data or operations: the hardware below, the processors, or
// nothing that the run measured.
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

// loadOf says how busy the machine was with other work.
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
