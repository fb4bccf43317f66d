package cluster

import (
	"testing"
	"time"

	"hemera/platform/kv/memkv"
	"hemera/words/hemera"
)

// many registers nodes with a hundred disks each and returns what they heard.
func many(t testing.TB, c *Cluster, nodes int) (welcomes []hemera.NodeWelcome, hellos []hemera.NodeHello) {
	for n := range nodes {
		h := hello(n, 100)
		w, err := c.Leases.Register(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		welcomes, hellos = append(welcomes, w), append(hellos, h)
	}
	return welcomes, hellos
}

func TestBigClusterGathersReportsIntoFewViews(t *testing.T) {
	at := time.Now()
	c := open(t, memkv.New(), func() time.Time { return at })
	welcomes, hellos := many(t, c, 30)
	if v := c.View(); v.Version > 15 {
		t.Errorf("%d views for 30 nodes that came at once", v.Version)
	}
	if err := c.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := c.View(); len(v.Nodes) != 30 || len(v.Disks) != 3000 {
		t.Errorf("%d nodes and %d disks", len(v.Nodes), len(v.Disks))
	}
	at = at.Add(hemera.HeartbeatInterval)
	hellos[7].Disks[3].Health = hemera.HealthFailing
	if _, err := c.Leases.Heartbeat(welcomes[7].ID, welcomes[7].Epoch, hemera.NodeReport{Disks: hellos[7].Disks}); err != nil {
		t.Fatal(err)
	}
	if d, _ := c.View().Disk(welcomes[7].DiskIDs["u7.3"]); d.Health != hemera.HealthFailing {
		t.Errorf("a failing disk is shown as %q", d.Health)
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	c, err := openBench(b)
	if err != nil {
		b.Fatal(err)
	}
	welcomes, hellos := many(b, c, 100)
	report := hemera.NodeReport{Disks: hellos[0].Disks}
	for b.Loop() {
		if _, err := c.Leases.Heartbeat(welcomes[0].ID, welcomes[0].Epoch, report); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPublish(b *testing.B) {
	c, err := openBench(b)
	if err != nil {
		b.Fatal(err)
	}
	many(b, c, 100)
	for b.Loop() {
		c.views.publish()
	}
}

func openBench(b *testing.B) (*Cluster, error) {
	store := memkv.New()
	w, err := store.Acquire(b.Context(), "bench")
	if err != nil {
		return nil, err
	}
	return Open(b.Context(), store, w, Options{})
}
