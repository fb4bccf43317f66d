package reference_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"hemera/measure/load"
	"hemera/measure/reference"
	"hemera/measure/result"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// value finds the only sample of a measure.
func value(t *testing.T, set, level, name string, labels result.Labels) result.Measure {
	t.Helper()
	run, err := reference.Load(set)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range run.Levels {
		for _, m := range l.Measures {
			if l.Name == level && m.Name == name && hasAll(m.Labels, labels) && len(m.Samples) == 1 {
				return m
			}
		}
	}
	t.Fatalf("%s has no %s of %s with %v", set, name, level, labels)
	return result.Measure{}
}

func hasAll(have, want result.Labels) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

// same reports whether a computed value is the published one, which is printed with some digits after the point.
func same(computed, published float64, digits int) bool {
	return math.Abs(computed-published) <= 0.5000001*math.Pow(10, -float64(digits))
}

// arm returns the 4 nodes of the ARM cluster: 124.1 MB/s of network and 2 disks of 115 MB/s each.
func arm() []load.Node {
	return slices.Repeat([]load.Node{{Net: load.Rate{Mean: 124.1e6}, DiskRead: load.Rate{Mean: 2 * 115e6}, DiskWrite: load.Rate{Mean: 2 * 115e6}}}, 4)
}

// x86 returns the 4 nodes of the x86 cluster: 3 with 4 disks of 2.9 GB/s, and one that its network of 100 Gb/s limits.
func x86() []load.Node {
	return append(slices.Repeat([]load.Node{{Net: load.Rate{Mean: 12.5e9}, DiskRead: load.Rate{Mean: 4 * 2.9e9}, DiskWrite: load.Rate{Mean: 4 * 2.9e9}}}, 3), load.Node{Net: load.Rate{Mean: 12.5e9}})
}

func TestPublishedSharesFollowFromPublishedInputs(t *testing.T) {
	const mebi = 1 << 20
	for _, c := range []struct {
		set, load string
		nodes     []load.Node
		rate      float64 // MiB/s, as printed
		percent   float64 // as printed
	}{
		{"odroid-orangefs", "write", arm(), 289.23, 61.10}, {"odroid-orangefs", "read", arm(), 296.82, 62.70},
		{"odroid-cephfs", "write", arm(), 95.22, 20.11}, {"odroid-cephfs", "read", arm(), 172.12, 36.36},
		{"x86-ceph", "write", x86(), 2322.47, 5.15}, {"x86-ceph", "read", x86(), 5705.0, 12.65},
	} {
		// Copies are not accounted for in the paper: the zero layout stores each byte once.
		peak := load.Peak(c.nodes, hemera.Layout{}, c.load == "write").Mean
		if got := 100 * c.rate * mebi / peak; !same(got, c.percent, 2) {
			t.Errorf("%s %s: %.3f %% of %.4g B/s, published %.2f", c.set, c.load, got, peak, c.percent)
		}
		m := value(t, c.set, "io", "throughput", result.Labels{"load": c.load})
		e := value(t, c.set, "io", "efficiency", result.Labels{"load": c.load})
		if math.Abs(m.Samples[0]-c.rate*mebi) > 1 || math.Abs(m.Peak-peak) > 1 || !same(100*e.Samples[0], c.percent, 2) {
			t.Errorf("%s %s: the set has %g of %g, and %g", c.set, c.load, m.Samples[0], m.Peak, e.Samples[0])
		}
	}
}

func TestPublishedCapacityForAWatt(t *testing.T) {
	idle := value(t, "odroid-orangefs", "energy", "power_idle", nil).Samples[0]
	// 4 nodes with 2 disks of 1 TB; the meter showed 56.36 W with the switch, which has 15.46 W.
	if !same(idle, 56.36-15.46, 1) || !same(8/idle, 0.196, 3) {
		t.Errorf("%g W, %g TB/W", idle, 8/idle)
	}
	if got := value(t, "odroid-orangefs", "energy", "capacity_per_watt", nil).Samples[0]; !same(got/1e12, 8/idle, 3) {
		t.Errorf("the set has %g B/W", got)
	}
}

// TestInferredCapacity checks that the set has the printed value 0.073 TB/W, and names the capacities that it allows: the capacity
// of the x86 cluster is not published, so the value cannot be computed from inputs.
func TestInferredCapacity(t *testing.T) {
	const printed = 0.073 // TB/W
	watts := value(t, "x86-ceph", "energy", "power_idle", nil).Samples[0]
	if got := value(t, "x86-ceph", "energy", "capacity_per_watt", nil).Samples[0]; !same(got/1e12, printed, 3) {
		t.Errorf("the set has %g B/W", got)
	}
	for capacity, fits := range map[float64]bool{50.69: false, 50.7: true, 51.2: true, 51.39: true, 51.4: false} {
		if same(capacity/watts, printed, 3) != fits {
			t.Errorf("%g TB at %g W are %g TB/W", capacity, watts, capacity/watts)
		}
	}
	run, err := reference.Load("x86-ceph")
	if err != nil {
		t.Fatal(err)
	}
	said := slices.ContainsFunc(run.Levels, func(l result.Level) bool {
		return l.Name == "energy" && strings.Contains(strings.Join(l.Notes, " "), "inferred from them: 0.073 TB/W at 699.3 W is 50.7 to 51.4 TB")
	})
	if !said {
		t.Error("the set does not say that the capacity is inferred")
	}
}

func TestPublishedNetworkShares(t *testing.T) {
	// 2 nodes with 25 Gb/s of network; their disks are faster together.
	peak := load.Peak(slices.Repeat([]load.Node{{Net: load.Rate{Mean: 25e9 / 8}}}, 2), hemera.Layout{}, true).Mean
	for what, percent := range map[string]float64{"put": 94, "get": 90} {
		m := value(t, "eos-arm", "io", "throughput", result.Labels{"load": what})
		if m.Peak != peak || !same(100*m.Samples[0]/peak, percent, 0) {
			t.Errorf("%s: %g of %g", what, m.Samples[0], m.Peak)
		}
	}
}

// Rates of iperf3 on the aarch64 server, in bits a second as printed. Deviations are printed for TCP alone.
func TestPublishedRatesOfOneARMServer(t *testing.T) {
	for _, c := range []struct {
		labels       result.Labels
		rate, spread float64 // bits a second
	}{
		{result.Labels{"protocol": "tcp", "direction": "send", "system": "kernel-6.9"}, 71.44e9, 0.40e9},
		{result.Labels{"protocol": "tcp", "direction": "receive", "system": "kernel-6.9"}, 35.28e9, 0.96e9},
		{result.Labels{"protocol": "tcp", "direction": "send", "system": "rhel-9.4"}, 71.44e9, 0.73e9},
		{result.Labels{"protocol": "tcp", "direction": "receive", "system": "rhel-9.4"}, 41.02e9, 0.25e9},
		{result.Labels{"protocol": "udp", "direction": "send", "packet": "60"}, 95e6, 0},
		{result.Labels{"protocol": "udp", "direction": "receive", "packet": "60"}, 95e6, 0},
	} {
		m := value(t, "net-aarch64", "net", "throughput", c.labels)
		if m.Unit != "B/s" || math.Abs(8*m.Samples[0]-c.rate) > 1 || math.Abs(8*m.Spread-c.spread) > 1 {
			t.Errorf("%v: %g ± %g %s, published %g ± %g bit/s", c.labels, m.Samples[0], m.Spread, m.Unit, c.rate, c.spread)
		}
	}
	// 95 Mb/s are 198,000 packets a second.
	if udp := value(t, "net-aarch64", "net", "throughput", result.Labels{"protocol": "udp", "direction": "send"}); !same(udp.Samples[0]/60/1e3, 198, 0) {
		t.Errorf("%g packets a second", udp.Samples[0]/60)
	}
}

// The rate of a device is the number of its requests times their size, so a slip in a column of the sweep shows.
func TestTheSweepAgreesWithItself(t *testing.T) {
	for _, kib := range []string{"128", "256", "512", "1024", "2048", "4096", "8192", "16384", "32768", "65536"} {
		get := func(name string) float64 {
			return value(t, "ssd-readahead", "disk", name, result.Labels{"read_ahead_kib": kib}).Samples[0]
		}
		// The forum's table counts requests in 1000 bytes: rMB/s is r/s times kB.
		if rate, product := get("throughput"), get("device_requests")*get("device_request_size")/1024*1000; math.Abs(rate/product-1) > 0.01 {
			t.Errorf("%s KiB: %g B/s, but requests make %g", kib, rate, product)
		}
		if u := get("device_utilisation"); u <= 0.7 || u > 1 {
			t.Errorf("%s KiB: utilisation %g", kib, u)
		}
	}
}

func TestSetsAreFoundByNameAndFirstWords(t *testing.T) {
	for _, name := range reference.Names() {
		run, err := reference.Load(name)
		if err != nil || run.Source == "" || run.Title == "" || run.ID != name || len(run.Levels) == 0 {
			t.Errorf("%s: %+v, %v", name, run, err)
			continue
		}
		for _, l := range run.Levels {
			for _, f := range l.Figures {
				drawn := slices.ContainsFunc(l.Measures, func(m result.Measure) bool { return slices.Contains(f.Names, m.Name) && hasAll(m.Labels, f.Where) })
				if !drawn {
					t.Errorf("%s: figure %s shows nothing", name, f.ID)
				}
			}
		}
	}
	runs, err := reference.Find([]string{"odroid", "odroid-cephfs", "eos-arm"})
	if err != nil || len(runs) != 3 || runs[0].ID != "odroid-cephfs" || runs[1].ID != "odroid-orangefs" || runs[2].ID != "eos-arm" {
		t.Errorf("%v, %v", runs, err)
	}
	for _, name := range []string{"", "odr", "../odroid", "x"} {
		if _, err := reference.Find([]string{name}); !errors.Is(err, errs.NotFound) || errs.RemedyOf(err) == "" {
			t.Errorf("%q: %v", name, err)
		}
	}
}
