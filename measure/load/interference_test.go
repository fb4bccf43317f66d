package load

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"hemera/measure/result"
	"hemera/words/errs"
)

// two returns the options of a small run of two directories.
func two(t *testing.T) Options {
	t.Helper()
	return Options{Targets: []string{t.TempDir(), t.TempDir()}, Loads: []string{Write, Read}, Clients: []int{1, 3}, Iterations: 2, Files: 2,
		Size: 5 * pageSize, Transfer: pageSize, Limit: 1e12}
}

func TestTargetsAreMeasuredAloneTogetherAndAgain(t *testing.T) {
	o, rec := two(t), recorder(t)
	if err := Interference(t.Context(), o, rec); err != nil {
		t.Fatal(err)
	}
	for _, load := range o.Loads {
		for _, clients := range []string{"1", "3"} {
			labels := result.Labels{"load": load, "clients": clients}
			with := func(more result.Labels) result.Labels {
				l := maps.Clone(labels)
				maps.Copy(l, more)
				return l
			}
			for _, target := range append(slices.Clone(o.Targets), allTargets) {
				for _, when := range []string{alone, together, after} {
					if target == allTargets && when != together {
						continue
					}
					m, ok := rec.Find("throughput", with(result.Labels{"target": target, "when": when}))
					if !ok || len(m.Samples) != 2 || (target == allTargets) != (m.Peak == 1e12) {
						t.Errorf("%s %s of %v: %+v", target, when, labels, m)
					}
				}
				if m, ok := rec.Find("ratio", with(result.Labels{"target": target})); !ok || len(m.Samples) != 2 {
					t.Errorf("ratio of %s, %v: %+v", target, labels, m)
				}
			}
		}
	}
	level := rec.End()
	// A meter tells the energy of one target from that of all.
	steps := map[[2]string]int{}
	for _, i := range level.Iterations {
		steps[[2]string{i.Labels["target"], i.Labels["when"]}]++
	}
	// For each load and number of clients both iterations.
	each := len(o.Loads) * len(o.Clients) * o.Iterations
	want := map[[2]string]int{{allTargets, together}: each}
	for _, target := range o.Targets {
		want[[2]string{target, alone}], want[[2]string{target, after}] = each, each
	}
	if !maps.Equal(steps, want) {
		t.Errorf("iterations are of %v, want %v", steps, want)
	}
	verdicts := 0
	for _, n := range level.Notes {
		if strings.Contains(n, "of its rate alone") {
			verdicts++
		}
	}
	// Each of two targets and their sum, for two loads and two numbers of clients.
	if verdicts != 12 || len(level.Figures) != 8 {
		t.Errorf("%d verdicts, %d figures", verdicts, len(level.Figures))
	}
	for _, dir := range o.Targets {
		if got := names(t, dir); len(got) != 0 {
			t.Errorf("%s has %q", dir, got)
		}
	}
}

func TestATargetMayBeNamedTwice(t *testing.T) {
	o, rec := two(t), recorder(t)
	o.Targets[1], o.Iterations, o.Clients, o.Loads = o.Targets[0], 1, []int{1}, []string{Read}
	if err := Interference(t.Context(), o, rec); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{o.Targets[0], o.Targets[0] + "#2"} {
		if m, ok := rec.Find("ratio", result.Labels{"load": Read, "clients": "1", "target": name}); !ok || len(m.Samples) != 1 {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestTheFirstTargetEndsTheWorkOfOthers(t *testing.T) {
	quick, slow := &group{at: directory{root: "quick"}}, &group{at: directory{root: "slow"}}
	for _, g := range []*group{quick, slow} {
		g.clients = []*client{{group: g}, {group: g, id: 1}}
		g.over.Store(true) // of a step before
	}
	var rounds atomic.Int64
	began := make(chan struct{})
	begin := sync.OnceFunc(func() { close(began) })
	do := endingTogether([]*group{quick, slow}, func(_ context.Context, c *client, n *count) error {
		if c.group == quick {
			<-began // not over before the others work
		} else {
			for !c.over.Load() {
				rounds.Add(1)
				begin()
			}
			begin() // also without a round, for the test to end
		}
		n.add(1, 0, 1)
		return nil
	})
	got, _, err := runPhase(t.Context(), []*group{quick, slow}, phase{do: do}, nil)
	if err != nil || got[0].read != 2 || got[1].read != 2 || rounds.Load() == 0 {
		t.Errorf("%+v, %d rounds, %v", got, rounds.Load(), err)
	}
}

func TestInterferenceWithOptionsThatMakeNoSense(t *testing.T) {
	for text, change := range map[string]func(o *Options){
		"two targets": func(o *Options) { o.Targets = o.Targets[:1] },
		"--load":      func(o *Options) { o.Loads = []string{Random} },
		"read, write": func(o *Options) { o.Loads = nil },
		"--files":     func(o *Options) { o.Files = 0 },
		"--clients":   func(o *Options) { o.Clients = []int{-1} },
	} {
		o := two(t)
		change(&o)
		for _, err := range []error{CheckInterference(o), Interference(t.Context(), o, recorder(t))} {
			if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		ratios  []float64
		verdict string
	}{
		{[]float64{0.5, 0.52, 0.48}, slowed},
		{[]float64{1, 1.01, 0.99, 1}, same},
		{[]float64{0.97, 0.975, 0.97, 0.975, 0.972}, slowed},
		{[]float64{0.99, 0.991, 0.99}, same}, // certain, and too little to matter
		{[]float64{0.5, 1.5, 1}, uncertain},
		{[]float64{1.3, 1.31, 1.29}, faster},
		{[]float64{0.5, 0.5}, unknown},
		{[]float64{0.5}, unknown},
	} {
		i, verdict := judge(c.ratios)
		if verdict != c.verdict || i.Low > i.High {
			t.Errorf("%v: %v, %s; want %s", c.ratios, i, verdict, c.verdict)
		}
		if text := sentence("a", c.ratios); !strings.Contains(text, c.verdict) || strings.Contains(text, "(") != (verdict != unknown) {
			t.Errorf("%v: %q", c.ratios, text)
		}
	}
}
