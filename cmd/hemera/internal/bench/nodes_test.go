package bench

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"hemera/measure/result"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// machines answers as a manager with three nodes. The last one is offline. Node 2 has a part that cannot be measured.
type machines struct{ asked chan string }

func (machines) View(context.Context) (*hemera.View, error) {
	return &hemera.View{Nodes: []hemera.NodeInfo{
		{ID: 1, Addr: "fst1:1095", Status: hemera.NodeOnline}, {ID: 2, Addr: "fst2:1095", Status: hemera.NodeOnline},
		{ID: 3, Addr: "fst3:1095", Status: hemera.NodeOffline},
	}}, nil
}

func (m machines) Measure(_ context.Context, node hemera.NodeID, command []string) ([]byte, error) {
	m.asked <- node.String() + ": " + strings.Join(command, " ")
	labels := result.Labels{"load": "read"}
	level := result.Level{Name: "disk", Measures: []result.Measure{
		{Name: "throughput", Labels: labels, Unit: "B/s", Samples: []float64{float64(node) * 100, float64(node) * 200}},
		{Name: "latency_p99", Labels: labels, Unit: "s", Samples: []float64{1}},
	}, Figures: []result.Figure{{ID: "ramp", Title: "Ramp", Kind: result.Lines, Where: labels}}}
	if node == 2 {
		level.Skipped = []result.Skipped{{What: "device", Why: "not root"}}
	}
	return json.Marshal(result.Run{Schema: result.Schema, Machines: []result.Machine{{Name: "fst" + node.String()}}, Levels: []result.Level{level}})
}

// nodesOf runs the level disk on nodes. It returns the machines that took part, the requests to them, and the level.
func nodesOf(t *testing.T, named ...string) ([]result.Machine, []string, result.Level, error) {
	t.Helper()
	var met []result.Machine
	m := machines{make(chan string, 8)}
	l := &nodesLevel{level: part{word: "disk"}, named: named, words: []string{"bench", "disk", "--quick=true"}, runs: map[string][]*result.Run{},
		met: func(list ...result.Machine) { met = append(met, list...) }, ask: func() (measurer, func()) { return m, func() {} }}
	rec := result.NewRecorder(t.TempDir(), "disk", func(string, int, int, string) {})
	err := l.run(t.Context(), rec)
	close(m.asked)
	var asked []string
	for a := range m.asked {
		asked = append(asked, a)
	}
	slices.Sort(asked)
	return met, asked, rec.End(), err
}

func TestNodesMeasureTogether(t *testing.T) {
	met, asked, got, err := nodesOf(t, "all")
	if err != nil || len(met) != 2 || met[0].Role != "node" || strings.Join(asked, "; ") != "1: bench disk --quick=true; 2: bench disk --quick=true" {
		t.Fatalf("%v, %q, %v", met, asked, err)
	}
	values := map[string][]float64{}
	for _, m := range got.Measures {
		values[m.Name+" "+m.Labels["node"]] = m.Samples
	}
	for key, want := range map[string][]float64{
		"throughput fst1:1095": {100, 200}, "throughput fst2:1095": {200, 400}, "throughput all": {300, 600}, "latency_p99 fst1:1095": {1},
	} {
		if !slices.Equal(values[key], want) {
			t.Errorf("%s: %v, want %v", key, values[key], want)
		}
	}
	if values["latency_p99 all"] != nil {
		t.Error("latencies were added up")
	}
	if len(got.Figures) != 3 || len(got.Skipped) != 1 || !strings.HasPrefix(got.Skipped[0].What, "fst2:1095: ") {
		t.Errorf("figures %+v, skipped %+v", got.Figures, got.Skipped)
	}
}

func TestNodesAreFound(t *testing.T) {
	for _, name := range []string{"2", "fst2", "fst2:1095"} {
		if met, _, got, err := nodesOf(t, name); err != nil || len(met) != 1 || met[0].Name != "fst2" || len(got.Measures) != 2 {
			t.Errorf("%s: %v, %v", name, met, err)
		}
	}
	if _, asked, _, err := nodesOf(t, "1", "fst3"); !errors.Is(err, errs.Unavailable) || len(asked) > 0 {
		t.Errorf("offline: %q, %v", asked, err)
	}
	if _, _, _, err := nodesOf(t, "fst9"); !errors.Is(err, errs.NotFound) || errs.RemedyOf(err) == "" {
		t.Errorf("unknown: %v", err)
	}
}

// TestWordsForNodes: flags that belong to the whole run, or to all commands, are not sent to nodes.
func TestWordsForNodes(t *testing.T) {
	flags, inherited := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	inherited.String("url", "", "")
	flags.AddFlagSet(inherited)
	flags.Bool("quick", false, "")
	flags.String("out", "", "")
	flags.StringSlice("nodes", nil, "")
	flags.StringSlice("loads", nil, "")
	flags.IntSlice("streams", []int{1}, "")
	flags.String("size", "4GiB", "")
	if err := flags.Parse([]string{"--quick", "--url=root://m", "--out=/x", "--nodes=1,2", "--loads=read,write", "--size", "1GiB", "--streams", "2,4"}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(wordsFor("disk", []string{"a"}, flags, inherited), " "); got != "bench disk a --loads=read,write --quick=true --size=1GiB --streams=2,4" {
		t.Error(got)
	}
}
