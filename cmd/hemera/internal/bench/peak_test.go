package bench

import (
	"context"
	"testing"

	"hemera/measure/load"
	"hemera/measure/result"
)

// measured returns a run whose first levels are disk and net.
func measured() *result.Run {
	add := func(name string, labels result.Labels, value float64) result.Measure {
		return result.Measure{Name: name, Labels: labels, Unit: "B/s", Samples: []float64{value}}
	}
	return &result.Run{Levels: []result.Level{
		{Name: "disk", Measures: []result.Measure{add("throughput", result.Labels{"load": "read"}, 500e6), add("throughput", result.Labels{"load": "write"}, 400e6)}},
		{Name: "net", Measures: []result.Measure{add("throughput", result.Labels{"path": "loopback"}, 9e9)}},
	}}
}

func TestIOIsComparedWithEarlierLevels(t *testing.T) {
	for name, c := range map[string]struct {
		target string
		given  []load.Node
		want   load.Node // zero: no peak
	}{
		"a server here":        {"root://localhost//", nil, load.Node{DiskRead: load.Rate{Mean: 500e6}, DiskWrite: load.Rate{Mean: 400e6}}},
		"by its address":       {"root://127.0.0.1:1094//a", nil, load.Node{DiskRead: load.Rate{Mean: 500e6}, DiskWrite: load.Rate{Mean: 400e6}}},
		"the user knows":       {"root://localhost//", []load.Node{{Net: load.Rate{Mean: 1}}}, load.Node{Net: load.Rate{Mean: 1}}},
		"a server elsewhere":   {"root://eos.example.org//a", nil, load.Node{}},
		"an address elsewhere": {"root://192.0.2.1//a", nil, load.Node{}},
		"a directory":          {"/mnt/cephfs", nil, load.Node{}},
	} {
		l := &ioLevel{o: load.Options{Targets: []string{c.target}, Nodes: c.given}}
		l.follow(measured())
		var got load.Node
		if len(l.o.Nodes) > 0 {
			got = l.o.Nodes[0]
		}
		if got != c.want || len(l.o.Nodes) > 1 {
			t.Errorf("%s: %+v, not %+v", name, l.o.Nodes, c.want)
		}
	}
	l := &ioLevel{o: load.Options{Targets: []string{"root://localhost//"}}}
	if l.follow(&result.Run{}); len(l.o.Nodes) > 0 {
		t.Errorf("the first level follows nothing and has %+v", l.o.Nodes)
	}
}

// watcher is a level that is compared with another level.
type watcher struct {
	part
	saw *int
}

func (w watcher) follow(run *result.Run) { *w.saw = len(run.Levels) }

func TestASessionHandsEarlierLevelsOn(t *testing.T) {
	s, _ := testSession(t)
	nothing := part{"disk", func(_ context.Context, rec *result.Recorder) error { adds(rec, 1); return nil }}
	saw := -1
	if err := s.measure(t.Context(), []string{"hemera bench all"}, []level{nothing, watcher{part{"io", nothing.do}, &saw}}); err != nil || saw != 1 {
		t.Errorf("it saw %d levels, %v", saw, err)
	}
}

func TestPeakFromReadsARun(t *testing.T) {
	dir := t.TempDir()
	if err := result.Write(dir, measured()); err != nil {
		t.Fatal(err)
	}
	p := peakFlags{from: dir, net: "125MB/s", count: 2}
	nodes, err := p.nodes()
	if want := (load.Node{Net: load.Rate{Mean: 125e6}, DiskRead: load.Rate{Mean: 500e6}, DiskWrite: load.Rate{Mean: 400e6}}); err != nil || len(nodes) != 2 || nodes[0] != want || nodes[1] != want {
		t.Errorf("%+v, %v", nodes, err)
	}
}
