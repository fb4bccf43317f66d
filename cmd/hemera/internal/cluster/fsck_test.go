package cluster

import (
	"strings"
	"testing"
	"time"

	"hemera/cmd/hemera/internal/cli"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// TestFsckSaysWhyPiecesAreNewer: after a restore, a report says that the namespace went back, which work is running, and
// that such pieces are not an error.
func TestFsckSaysWhyPiecesAreNewer(t *testing.T) {
	taken := time.Date(2026, time.March, 14, 15, 9, 26, 0, time.UTC)
	back := hemera.WentBack{Taken: taken, Restored: taken.Add(time.Hour)}
	newer := []adminapi.FsckProblem{{Tag: "newer", Count: 2}}
	for name, c := range map[string]struct {
		report adminapi.FsckReport
		says   []string
		not    string
	}{
		"never restored":        {adminapi.FsckReport{Problems: newer}, nil, "hemera"},
		"restored":              {adminapi.FsckReport{WentBack: back}, []string{back.Text(), back.Remedy()}, "newer is nothing to repair"},
		"restored, with pieces": {adminapi.FsckReport{WentBack: back, Problems: newer}, []string{back.Text(), "hemera ns rebuild --merge", "newer is nothing to repair"}, ""},
	} {
		var out strings.Builder
		tellNewer(&cli.Env{Console: cli.Console{Err: &out}}, c.report)
		for _, want := range c.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is not in %q", name, want, &out)
			}
		}
		if c.not != "" && strings.Contains(out.String(), c.not) {
			t.Errorf("%s: %q", name, &out)
		}
	}
}
