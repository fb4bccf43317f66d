package maint

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/hemera"
)

// TestARebuildUsesTheLinks: what the engine decides when a node is lost keeps the links of the others busy, in both directions,
// from the loss to the last byte. A tenth of the time goes to the end, when copies are left at some nodes only.
//
// The order in which nodes ask is not decided by the seed, and some rebuilds end with one node that is busier than others. So the
// mean of some counts, and of more with few nodes: 80 rebuilds with six nodes had a mean of 0.84, and the least was 0.75.
func TestARebuildUsesTheLinks(t *testing.T) {
	for _, c := range []struct {
		nodes, disks, files int
		seeds               uint64
		form                string
		share               float64 // at least
	}{
		{10, 6, 300, 3, "rs:4+2", 0.85},
		{10, 2, 300, 3, "rs:4+2", 0.8},
		{6, 6, 200, 15, "rs:2+1", 0.8},
	} {
		share, sent, received := 0.0, 0.0, 0.0
		for seed := range c.seeds {
			s, up, down := rebuilt(t, c.nodes, c.disks, c.files, c.form, seed)
			share, sent, received = share+s, sent+up, received+down
		}
		n := float64(c.seeds)
		share, sent, received = share/n, sent/n, received/n
		t.Logf("%+v: %.3f of the links; busiest node / mean: sent %.3f, received %.3f", c, share, sent, received)
		if share < c.share || sent > 1.2 || received > 1.2 {
			t.Errorf("%d nodes with %d disks, %s: %.3f of the links were used, want %.2f; busiest node / mean: sent %.3f, received %.3f",
				c.nodes, c.disks, c.form, share, c.share, sent, received)
		}
	}
}

// rebuilt loses the last of so many nodes, with its disks, and has the engine make its pieces again. It returns the share of the
// other nodes' links that was used from the loss to the last byte, and how many times the mean the busiest node moved.
func rebuilt(t *testing.T, nodes, disks, files int, form string, seed uint64) (share, sent, received float64) {
	const rate, size = 100e6, 800 << 20
	synctest.Test(t, func(t *testing.T) {
		m, l := losing(t, nodes, disks, files, form, size, seed)
		lost := 0.0
		for _, id := range l.lost {
			lost += float64(m.used[id])
		}
		e := m.engine()
		e.BalanceDelay = 1000 * time.Hour
		e.SetLostAfter(time.Nanosecond)
		network := newLinks(m, rate)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { network.run(ctx) })
		all.Go(func() { network.report(ctx, e) })
		for i := range nodes - 1 {
			all.Go(func() { network.serve(ctx, e, hemera.NodeID(i+1)) })
		}
		began := time.Now()
		all.Go(func() { _ = e.Run(ctx) })
		left := func() (pieces int64) {
			for _, id := range l.lost {
				n, _, _ := m.DiskUsage(ctx, id)
				pieces += n
			}
			return pieces
		}
		for left() > 0 && time.Since(began) < 24*time.Hour {
			time.Sleep(10 * time.Second)
		}
		cancel()
		all.Wait()
		if n := left(); n > 0 {
			t.Errorf("%d pieces were not made again", n)
		}
		share = lost * float64(l.form.Data) / (float64(nodes-1) * rate * network.last.Sub(began).Seconds())
		sent, received = busiest(network.sent, nodes-1), busiest(network.received, nodes-1)
	})
	return share, sent, received
}

// loss describes the pieces lost with a node.
type loss struct {
	form hemera.Layout
	lost []hemera.DiskID
}

// losing makes a miniature with files on drawn nodes and disks, whose last node has gone.
func losing(t *testing.T, nodes, disks, files int, form string, size int64, seed uint64) (*miniature, loss) {
	m := newMiniature(t)
	for range nodes {
		m.node("", slices.Repeat([]int64{1 << 50}, disks)...)
	}
	l, err := hemera.ParseLayout(form, 0)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for range files {
		var on []hemera.DiskID
		for _, n := range r.Perm(nodes)[:l.Pieces] {
			on = append(on, hemera.DiskID(n*disks+r.IntN(disks)+1))
		}
		m.file(l, size, on...)
	}
	gone := loss{form: l}
	m.view.Nodes[nodes-1].Status = hemera.NodeOffline
	for i := (nodes - 1) * disks; i < nodes*disks; i++ {
		m.view.Disks[i].Active = false
		gone.lost = append(gone.lost, m.view.Disks[i].ID)
	}
	return m, gone
}
