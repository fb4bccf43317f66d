package load

import (
	"math"
	"testing"

	"hemera/measure/result"
	"hemera/words/hemera"
)

// repeat returns n equal nodes.
func repeat(n int, node Node) (all []Node) {
	for range n {
		all = append(all, node)
	}
	return all
}

// The percentages of Table I of "Energy Efficiency of Parallel File Systems on an ARM Cluster" (ENERGY 2022), from the inputs
// that it names. It does not account for copies, so the layout is the zero one. The paper's rates are in MiB/s, its peaks in MB/s.
func TestPublishedSharesOfThePeak(t *testing.T) {
	arm := repeat(4, Node{Net: Rate{Mean: 124.1e6}, DiskRead: Rate{Mean: 2 * 115e6}, DiskWrite: Rate{Mean: 2 * 115e6}})
	x86 := append(repeat(3, Node{Net: Rate{Mean: 12.5e9}, DiskRead: Rate{Mean: 4 * 2.9e9}, DiskWrite: Rate{Mean: 4 * 2.9e9}}), Node{Net: Rate{Mean: 12.5e9}, DiskRead: Rate{Mean: 6 * 2.9e9}, DiskWrite: Rate{Mean: 6 * 2.9e9}})
	for _, c := range []struct {
		name    string
		nodes   []Node
		mib     float64
		percent float64
		write   bool
	}{
		{"ARM CephFS", arm, 95.22, 20.11, true}, {"ARM CephFS", arm, 172.12, 36.36, false},
		{"ARM OrangeFS", arm, 289.23, 61.10, true}, {"ARM OrangeFS", arm, 296.82, 62.70, false},
		{"x86 Ceph", x86, 2322.47, 5.15, true}, {"x86 Ceph", x86, 5705.0, 12.65, false},
	} {
		got := 100 * c.mib * (1 << 20) / Peak(c.nodes, hemera.Layout{}, c.write).Mean
		if math.Abs(got-c.percent) > 0.011 {
			t.Errorf("%s, write %v: %.3f %% of the peak; published are %.2f", c.name, c.write, got, c.percent)
		}
	}
}

func TestPeak(t *testing.T) {
	disks := Node{Net: Rate{Mean: 1000}, DiskRead: Rate{Mean: 300}, DiskWrite: Rate{Mean: 200}} // the disks are the limit
	net := Node{Net: Rate{Mean: 100}, DiskRead: Rate{Mean: 300}, DiskWrite: Rate{Mean: 200}}    // the network is
	for _, c := range []struct {
		name        string
		nodes       []Node
		layout      hemera.Layout
		read, write float64
	}{
		{"nobody knows", nil, hemera.Layout{}, 0, 0},
		{"one node knows nothing", []Node{disks, {}}, hemera.Plain(), 0, 0},
		{"disks", repeat(2, disks), hemera.Plain(), 600, 400},
		{"network", repeat(2, net), hemera.Plain(), 200, 200},
		{"each by its own limit", []Node{disks, net}, hemera.Plain(), 400, 300},
		{"only the network is known", []Node{{Net: Rate{Mean: 50}}}, hemera.Plain(), 50, 50},
		{"only the disks are known", []Node{{DiskRead: Rate{Mean: 50}, DiskWrite: Rate{Mean: 40}}}, hemera.Plain(), 50, 40},
		{"only reads are known", []Node{{DiskRead: Rate{Mean: 50}}}, hemera.Plain(), 50, 0},
		{"two copies", repeat(4, disks), hemera.Replica(2), 1200, 400},
		{"4 and 2", repeat(6, disks), hemera.ReedSolomon(4, 2), 1800, 800},
		{"local codes", repeat(2, net), hemera.Local(12, 2, 2), 200, 150},
		{"stripes", repeat(4, disks), hemera.Stripe(4), 1200, 800},
	} {
		if read, write := Peak(c.nodes, c.layout, false).Mean, Peak(c.nodes, c.layout, true).Mean; math.Abs(read-c.read) > 1e-9 || math.Abs(write-c.write) > 1e-9 {
			t.Errorf("%s: read %v, write %v; want %v, %v", c.name, read, write, c.read, c.write)
		}
	}
}

// The deviation is that of what limits each node; those of several nodes are independent.
func TestThePeakHasADeviation(t *testing.T) {
	n := Node{Net: Rate{1000, 400}, DiskRead: Rate{300, 30}, DiskWrite: Rate{200, 20}}
	for _, c := range []struct {
		nodes []Node
		write bool
		want  Rate
	}{
		{[]Node{n}, false, Rate{300, 30}},
		{[]Node{n, n, n, n}, false, Rate{1200, 60}},
		{[]Node{n}, true, Rate{100, 10}},
		{[]Node{{DiskRead: Rate{Mean: 300}}, n}, false, Rate{600, 30}},
		{[]Node{n, {}}, false, Rate{}},
	} {
		if got := Peak(c.nodes, hemera.Replica(2), c.write); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.nodes, got, c.want)
		}
	}
}

func TestNodeOfARun(t *testing.T) {
	measure := func(load string, samples ...float64) result.Measure {
		return result.Measure{Name: "throughput", Unit: "B/s", Labels: result.Labels{"load": load}, Samples: samples}
	}
	run := &result.Run{Levels: []result.Level{
		{Name: "disk", Measures: []result.Measure{measure("read", 100, 200), measure("read", 140), measure("write", 90), measure("randread", 900),
			{Name: "wait", Unit: "s", Labels: result.Labels{"load": "read"}, Samples: []float64{1e9}}}},
		{Name: "net", Measures: []result.Measure{measure("tcp", 10, 30), measure("tcp")}},
		{Name: "net", Measures: []result.Measure{{Name: "throughput", Unit: "B/s", Labels: result.Labels{"path": "loopback"}, Samples: []float64{7000}}}},
		{Name: "io", Measures: []result.Measure{measure("read", 5000)}},
	}}
	if got, want := NodeOf(run), (Node{Net: Rate{20, math.Sqrt(200)}, DiskRead: Rate{150, math.Sqrt(5000)}, DiskWrite: Rate{Mean: 90}}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Files for which no layout was chosen are stored as the target does it: two copies halve the peak of writes, not that of reads.
func TestThePeakOfFilesWithoutALayout(t *testing.T) {
	for name, c := range map[string]struct {
		label       string
		stores      hemera.Layout
		read, write float64
	}{
		"nobody knows":           {layoutDefault, hemera.Layout{}, 100, 100},
		"two copies":             {layoutDefault, hemera.Replica(2), 100, 50},
		"four and two":           {layoutDefault, hemera.ReedSolomon(4, 2), 100, 100 / 1.5},
		"a layout was chosen":    {"plain", hemera.Replica(2), 100, 100},
		"another one was chosen": {"replica:4", hemera.Replica(2), 100, 25},
	} {
		rec := recorder(t)
		r := &run{o: &Options{Nodes: []Node{{Net: Rate{Mean: 100}}}, Layout: c.stores}, rec: rec}
		for load, want := range map[string]float64{"read": c.read, "write": c.write} {
			labels := result.Labels{"load": load, "layout": c.label}
			r.addThroughput(phase{peak: true, write: load == "write"}, labels, 25)
			m, ok := rec.Find("throughput", labels)
			share, has := rec.Find("efficiency", labels)
			if !ok || !has || math.Abs(m.Peak-want) > 1e-9 || math.Abs(share.Samples[0]-25/want) > 1e-9 {
				t.Errorf("%s: %s has the peak %v and the share %v, want %v", name, load, m.Peak, share.Samples, want)
			}
		}
	}
}
