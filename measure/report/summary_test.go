package report

import (
	"fmt"
	"html"
	"strings"
	"testing"

	"hemera/measure/result"
	"hemera/measure/stats"
)

// TestSummarySaysWhatLimits: and whether the machine's load lets one believe it.
func TestSummarySaysWhatLimits(t *testing.T) {
	throughput := func(load string, mean, peak float64) result.Measure {
		return result.Measure{Name: "throughput", Unit: "B/s", Better: result.Higher, Labels: result.Labels{"load": load}, Samples: []float64{mean, mean, mean}, Peak: peak, PeakFrom: "the disks"}
	}
	quiet, loaded := &result.Others{Before: 0.02}, &result.Others{Before: 0.4, Steal: 0.01}
	for _, c := range []struct {
		name   string
		share  float64
		busy   float64
		others *result.Others
		want   []string
	}{
		{"at the peak", 0.9, 0.95, quiet, []string{"io      read 900 MB/s (90.0 % of its peak), write 100 MB/s", "io throughput load=read has 90.0 % of 1.00 GB/s, which is the disks", "was idle (2.00 % busy"}},
		{"processors", 0.3, 0.95, quiet, []string{"processors of this machine were busy: io (95.0 %)"}},
		{"nothing", 0.3, 0.2, quiet, []string{"nothing that was measured", "30.0 % of its peak"}},
		{"other work", 0.3, 0.2, loaded, []string{"other work (40.0 %", "too low"}},
		{"an earlier run", 0.3, 0.2, nil, []string{"not known: how busy"}},
	} {
		r := &result.Run{Others: c.others, Levels: []result.Level{{Name: "io", Busy: c.busy, Measures: []result.Measure{throughput("read", c.share*5e8, 1e9), throughput("read", c.share*1e9, 1e9), throughput("write", 1e8, 0)}}}}
		lines := Summary(r)
		text := strings.Join(lines, "\n")
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", c.name, want, text)
			}
		}
		if len(lines) > 10 {
			t.Errorf("%s: %d lines", c.name, len(lines))
		}
	}
	quick := &result.Run{Quick: true, Others: quiet, Levels: []result.Level{{Name: "io", Measures: []result.Measure{throughput("read", 1e8, 1e9)}}}}
	if lines := Summary(quick); !strings.HasSuffix(lines[len(lines)-1], "its figures are rough") {
		t.Errorf("of a quick run: %q", lines)
	}
	if lines := Summary(&result.Run{}); lines != nil {
		t.Errorf("of nothing: %q", lines)
	}
}

// TestThePageHasTheSummaryAtItsTop: what the terminal shows, word for word, before anything else that was measured.
func TestThePageHasTheSummaryAtItsTop(t *testing.T) {
	r := runOf("first", "plain", 1)
	r.Others = &result.Others{Before: 0.4}
	page := pageOf(t, r)
	lines := summaryOf(r)
	if len(lines) != 3 {
		t.Fatalf("%q", lines)
	}
	for _, l := range lines {
		at := strings.Index(page, "<dt>"+l.Word+"</dt><dd>"+html.EscapeString(l.Text)+"</dd>")
		if at < 0 || at > strings.Index(page, "<main>") {
			t.Errorf("%q is at %d", l, at)
		}
	}
}

// TestThePageHasTheVerdictOfTheTerminal: as a whole and of each measure, also where other work makes it unknown.
func TestThePageHasTheVerdictOfTheTerminal(t *testing.T) {
	for name, others := range map[string]*result.Others{"idle": {}, "other work": {Before: 0.4}} {
		base, run := runOf("first", "plain", 1), runOf("second", "plain", 2)
		run.Others = others
		page := pageOf(t, base, run)
		pairs, _, _ := stats.CompareRuns(base, run, usualConfidence)
		want := []string{stats.Overall(pairs)}
		for _, p := range pairs {
			if p.Ratio > 0 {
				want = append(want, fmt.Sprintf("× %.3g %s</small>", p.Ratio, p.Judgement()))
			}
		}
		for _, text := range want {
			if !strings.Contains(page, text) {
				t.Errorf("%s: no %q", name, text)
			}
		}
		if differ := strings.Contains(page, "× 2 difference, better</span>"); differ != (name == "idle") {
			t.Errorf("%s: the list of what differs: %v", name, differ)
		}
	}
}

// TestWhatNobodySaidOfAMachineIsLeftOut: published runs seldom have memory and sizes of disks, and 0 B is a figure.
func TestWhatNobodySaidOfAMachineIsLeftOut(t *testing.T) {
	r := runOf("published", "plain", 1)
	r.Machines = []result.Machine{{Name: "old", Disks: []result.Device{{Name: "sda", Model: "HUS724"}}}}
	if page := pageOf(t, r); !strings.Contains(page, "HUS724</div>") || strings.Contains(page, "0 B") {
		t.Error("the page has a size of nothing")
	}
}
