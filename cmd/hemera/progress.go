package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"hemera"
	"hemera/app/copy"
	"hemera/cmd/hemera/internal/output"
)

// jobLine is a drain or repair in one line: a bar, how much, how fast, how long still, and why not.
func jobLine(j hemera.JobStatus, width int) string {
	if j.Kind == "heal" {
		return "mending of bad pieces " + j.State + "  " + output.Count(j.FilesLeft, "piece") + " left"
	}
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

// progressForms are ways to show a copy on one line, the fullest first. While sources are still being
// listed the totals grow, which a + says.
func progressForms(p copy.Progress) []string {
	share := percent(p.Bytes, p.BytesTotal)
	if p.BytesTotal == 0 {
		share = percent(p.Files, p.FilesTotal)
	}
	grows := "+"
	if p.Listed || p.Done {
		grows = ""
	}
	done := output.Bytes(p.Bytes)
	amount := fmt.Sprintf("%s of %s%s", done, output.Bytes(p.BytesTotal), grows)
	files := fmt.Sprintf("%d of %d%s files", p.Files, p.FilesTotal, grows)
	rate := output.Bytes(p.Rate) + "/s"
	rest := ""
	if p.Failed > 0 {
		rest += fmt.Sprintf("  %d failed", p.Failed)
	}
	if left := p.BytesTotal - p.Bytes; left > 0 && p.Rate > 0 && !p.Done {
		rest += "  " + output.Seconds(float64(left)/p.Rate) + " to go"
	}
	var forms []string
	for _, width := range []int{24, 16, 10, 4} {
		forms = append(forms, fmt.Sprintf("%s  %s  %s  %s%s", bar(share, width), amount, files, rate, rest))
	}
	short := fmt.Sprintf("%.1f%%", share)
	return append(forms,
		fmt.Sprintf("%s  %s  %s  %s%s", short, amount, files, rate, rest),
		fmt.Sprintf("%s  %s  %s%s", short, amount, rate, rest),
		fmt.Sprintf("%s  %s  %s%s", short, done, rate, rest),
		short+rest, short)
}

// barForms are a line with bars of several lengths.
func barForms(line func(bar int) string) []string {
	return []string{line(24), line(16), line(10), line(4)}
}

// bar draws a percentage: "[######..................] 25.0%".
func bar(percent float64, width int) string {
	done := min(width, max(0, int(percent/100*float64(width))))
	return fmt.Sprintf("[%s%s] %.1f%%", strings.Repeat("#", done), strings.Repeat(".", width-done), percent)
}

// fitted is the first of the forms that one line of the terminal has room for, the last in any case.
func fitted(width int, forms []string) string {
	for _, s := range forms {
		if utf8.RuneCountInString(s) <= width {
			return s
		}
	}
	return cut(forms[len(forms)-1], width)
}

// cut keeps a line that moves on one line of the terminal.
func cut(s string, width int) string {
	if r := []rune(s); width > 0 && len(r) > width {
		return string(r[:width])
	}
	return s
}
