package report

import (
	"strings"
	"testing"

	"hemera/measure/result"
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
	if lines := Summary(&result.Run{}); lines != nil {
		t.Errorf("of nothing: %q", lines)
	}
}
