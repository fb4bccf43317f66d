package storm

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var program = flag.String("hemera", "", "the hemera program to test")

// TestStorm: see the package comment.
func TestStorm(t *testing.T) {
	if *program == "" {
		t.Skip("no program to test: scripts/test.sh storm")
	}
	hasClients(t.Skip)
	length, seed := options(t)
	t.Logf("HEMERA_STORM_SEED=%d", seed)
	c := newCluster(t)
	for dir, layout := range layouts {
		c.Must("mkdir", "/"+dir)
		c.Must("attr", "set", "sys.forced.layout="+layout, "/"+dir)
		c.Must("attr", "set", "sys.forced.blocksize=256k", "/"+dir)
	}
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var list []*worker
	var working sync.WaitGroup
	for i := range workers {
		w := newWorker(c, i, seed)
		list = append(list, w)
		working.Go(func() { w.run(ctx) })
	}
	rng := rand.New(rand.NewPCG(seed, workers))
	n := &nemesis{c: c, rng: rng, done: map[string]int{}, hit: classes{}, busy: map[int]bool{}}
	n.run(ctx, &damager{c: c, rng: rng, done: map[string]bool{}})
	working.Wait()
	t.Logf("faults: %v", n.done)
	t.Logf("damaged pieces: %v", n.hit)
	c.AwaitOnline(nodes)
	calm(t, c, list)
	t.Logf("repaired: %d pages by readers, %d pieces in place, %d times a page was served from other pieces", c.said("bad page repaired"),
		c.said("a bad piece was repaired"), c.said("bad page served from another piece"))
}

// options returns the length of the storm, and its seed.
func options(t *testing.T) (length time.Duration, seed uint64) {
	t.Helper()
	length, seed = time.Minute, uint64(time.Now().UnixNano())
	var err error
	if text := os.Getenv("HEMERA_STORM_TIME"); text != "" {
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	if text := os.Getenv("HEMERA_STORM_SEED"); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return length, seed
}

// calm checks after the storm what the cluster promises.
func calm(t *testing.T, c *cluster, list []*worker) {
	t.Helper()
	var total counts
	var reading sync.WaitGroup
	for _, w := range list {
		total.add(w.count)
		reading.Go(w.settle)
	}
	reading.Wait()
	t.Logf("%d writes, %d of them acknowledged with %d MB; %d reads, %d that failed; %d removals", total.written, total.acked,
		total.bytes/1e6, total.read, total.unread, total.removed)
	if total.acked == 0 {
		t.Error("no write was acknowledged: nothing was proved")
	}
	if t.Failed() {
		return
	}
	// What nobody reads, parity above all, is found by a scrub. It begins a minute after a node's start.
	for i, s := range c.Servers()[1:] {
		s.Kill()
		_ = os.Remove(filepath.Join(c.disk(i), "pieces", ".hemera-scrub"))
	}
	bad := c.bad()
	for _, s := range c.Servers()[1:] {
		s.Start()
	}
	c.AwaitOnline(nodes)
	abandoned := c.abandoned() // after the start, which seals the pending pieces that are whole
	took := c.Await("every bad piece is repaired or removed", func() bool { return len(without(c.bad(), abandoned)) == 0 })
	t.Logf("%d pieces that were bad after the storm are good after %s", len(without(bad, abandoned)), took)
	// A piece that is gone is found by its readers, else by an audit, which comes an hour after the node's end at the earliest.
	// This is that audit.
	report, _ := c.Admin("fsck", "repair")
	t.Logf("fsck repairs what is missing:\n%s", report)
	took = c.Await("no disagreement of namespace and disks", func() bool { _, err := c.Admin("fsck", "report"); return err == nil })
	t.Logf("fsck has nothing to say after %s", took)
	for _, w := range list { // once more: nothing was lost by a repair
		w.settle()
	}
	c.returned(t, abandoned)
}

// returned removes all files and waits until nothing of them takes room. The contents that were abandoned stay.
func (c *cluster) returned(t *testing.T, abandoned map[string]bool) {
	t.Helper()
	for dir := range layouts {
		c.Must("rm", "-r", "--yes", "/"+dir)
	}
	left := func() []string { return without(c.sealed(), abandoned) }
	t.Cleanup(func() {
		// What is left says which part forgot it.
		for _, name := range left() {
			out, err := c.Admin("piece", "show", name)
			t.Logf("%s is left: %v\n%s", name, err, out)
		}
	})
	took := c.Await("all pieces are removed", func() bool { return len(left()) == 0 })
	t.Logf("all pieces are removed after %s", took)
	// What a write leaves that was cut off expires when its capability has, an hour later.
	var pending []string
	for i := range nodes {
		match, _ := filepath.Glob(filepath.Join(c.disk(i), "pieces", "pending", "*"))
		for _, name := range match {
			if !strings.HasSuffix(name, ".sums") {
				pending = append(pending, name)
			}
		}
	}
	t.Logf("%d pending pieces of writes that were cut off wait for their end", len(pending))
}
