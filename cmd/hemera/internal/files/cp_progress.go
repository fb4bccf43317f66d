package files

import (
	"fmt"

	"hemera/client/copy"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
)

// progressForms returns forms of a copy's progress on one line, the longest first. While sources are still being listed
// the totals grow, which a + shows. The caller uses the first that fits the terminal. Percentages are of bytes, or of
// files if all are empty.
func progressForms(p copy.Progress) []string {
	share := cli.Percent(p.Bytes, p.BytesTotal)
	if p.BytesTotal == 0 {
		share = cli.Percent(p.Files, p.FilesTotal)
	}
	grows := "+"
	if p.Listed || p.Done {
		grows = ""
	}
	done := output.Bytes(p.Bytes)
	amount := fmt.Sprintf("%s of %s%s", done, output.Bytes(p.BytesTotal), grows)
	files := fmt.Sprintf("%d of %d%s files", p.Files, p.FilesTotal, grows)
	rate := output.Bytes(p.Rate) + "/s"
	rest := "" // failures and the time left, if any
	if p.Failed > 0 {
		rest += fmt.Sprintf("  %d failed", p.Failed)
	}
	if left := p.BytesTotal - p.Bytes; left > 0 && p.Rate > 0 && !p.Done {
		rest += "  " + output.Seconds(float64(left)/p.Rate) + " to go"
	}
	var forms []string
	for _, width := range []int{24, 16, 10, 4} {
		forms = append(forms, fmt.Sprintf("%s  %s  %s  %s%s", cli.Bar(share, width), amount, files, rate, rest))
	}
	short := fmt.Sprintf("%.1f%%", share) // without a bar, for narrow windows
	return append(forms,
		fmt.Sprintf("%s  %s  %s  %s%s", short, amount, files, rate, rest),
		fmt.Sprintf("%s  %s  %s%s", short, amount, rate, rest),
		fmt.Sprintf("%s  %s  %s%s", short, done, rate, rest),
		short+rest, short)
}
