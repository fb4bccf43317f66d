package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"hemera"
	"hemera/client"
	"hemera/cmd/hemera/internal/output"
)

// jobLine is a drain or repair in one line: a bar, how much, how fast, how long still, and why not.
func jobLine(j hemera.JobStatus, width int) string {
	b := fmt.Sprintf("%s of disk %d %s  %s  %s of %s  %s left", j.Kind, j.Disk, j.State, bar(progress(j), width),
		output.Bytes(j.BytesDone), output.Bytes(j.BytesDone+j.BytesLeft), output.Count(j.FilesLeft, "file"))
	if j.State != "done" {
		b += fmt.Sprintf("  %s/s", output.Bytes(j.Rate))
	}
	if j.Remaining > 0 {
		b += "  " + output.Seconds(j.Remaining.Seconds()) + " to go"
	}
	if j.Failed > 0 {
		b += fmt.Sprintf("  %d failed", j.Failed)
	}
	if j.Why != "" && j.State != "done" {
		b += "  (" + j.Why + ")"
	}
	return b
}

// progressLine is a copy in one line. Its totals grow while sources are still being listed.
func progressLine(p client.Progress, width int) string {
	share := percent(p.Bytes, p.BytesTotal)
	if p.BytesTotal == 0 {
		share = percent(p.Files, p.FilesTotal)
	}
	b := fmt.Sprintf("%s  %s of %s  %d of %d files  %s/s", bar(share, width),
		output.Bytes(p.Bytes), output.Bytes(p.BytesTotal), p.Files, p.FilesTotal, output.Bytes(p.Rate))
	if p.Failed > 0 {
		b += fmt.Sprintf("  %d failed", p.Failed)
	}
	if left := p.BytesTotal - p.Bytes; left > 0 && p.Rate > 0 && !p.Done {
		b += "  " + output.Seconds(float64(left)/p.Rate) + " to go"
	}
	return b
}

// bar draws a percentage: "[######..................] 25.0%".
func bar(percent float64, width int) string {
	done := min(width, max(0, int(percent/100*float64(width))))
	return fmt.Sprintf("[%s%s] %.1f%%", strings.Repeat("#", done), strings.Repeat(".", width-done), percent)
}

// fitted is a line with a bar that moves, on one line of a terminal: where that is narrow the bar gives
// way to the figures.
func fitted(width int, line func(bar int) string) string {
	const widest, narrowest = 24, 4
	s := line(widest)
	if over := utf8.RuneCountInString(s) - width; over > 0 {
		s = line(max(narrowest, widest-over))
	}
	return cut(s, width)
}

// cut keeps a line that moves on one line of the terminal.
func cut(s string, width int) string {
	if r := []rune(s); width > 0 && len(r) > width {
		return string(r[:width])
	}
	return s
}
