package cluster

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera/platform/kv/memkv"
	"hemera/rules/capability"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// joins admits a node by its token, and returns what calls of it come with.
func joins(t *testing.T, c *Cluster) (hemera.NodeID, context.Context) {
	t.Helper()
	id, err := c.Admin.ReserveNode(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id, hemera.WithCaller(t.Context(), id)
}

func TestANodeWaitsForAnAdmin(t *testing.T) {
	store := memkv.New()
	c := openWith(t, store, Options{Approve: true, DisksOff: true})
	id, ctx := joins(t, c)
	h := hello(1, 2)
	h.ID = id
	for range 2 {
		w, err := c.Leases.Register(ctx, h)
		if !errors.Is(err, errs.Denied) || errs.RemedyOf(err) == "" || len(w.Keys) != 0 {
			t.Fatalf("%v, %d keys", err, len(w.Keys))
		}
	}
	if err := c.Leases.Member(id); !errors.Is(err, errs.Denied) {
		t.Errorf("it is a member: %v", err)
	}
	c = openWith(t, store, Options{Approve: true, DisksOff: true}) // who waits is remembered
	if v := c.View(); len(v.Disks) != 0 || len(v.Nodes) != 1 || v.Nodes[0].Status != hemera.NodeWaiting || v.Nodes[0].Addr != h.Addr {
		t.Fatalf("%+v, %d disks", v.Nodes, len(v.Disks))
	}
	if err := c.Admin.AdmitNode(t.Context(), id+1); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
	if err := c.Admin.AdmitNode(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := c.Admin.AdmitNode(t.Context(), id); !errors.Is(err, errs.Invalid) {
		t.Errorf("admitted twice: %v", err)
	}
	w, err := c.Leases.Register(ctx, h)
	if err != nil || len(w.Keys) == 0 {
		t.Fatal(err)
	}
	if err := c.Leases.Member(id); err != nil {
		t.Error(err)
	}
	for _, d := range c.View().Disks {
		if d.Config != hemera.ConfigOff {
			t.Errorf("disk %d is %s", d.ID, d.Config)
		}
	}
	own := hello(2, 1)
	if _, err := c.Leases.Register(t.Context(), own); err != nil { // a node of the manager's own process
		t.Fatal(err)
	}
	if d := c.View().Disks[2]; d.Config != hemera.ConfigRW {
		t.Errorf("its disk is %s", d.Config)
	}
}

func TestARemovedNodeIsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		c := open(t, store, nil)
		gone, other := register(t, c, hello(1, 2)), register(t, c, hello(2, 1))
		key := signs(t, c)
		if err := c.Admin.RemoveNode(t.Context(), gone.ID); !errors.Is(err, errs.NotEmpty) || !strings.Contains(errs.RemedyOf(err), "--now") {
			t.Fatalf("with disks: %v", err)
		}
		if err := c.Admin.ExpelNode(t.Context(), gone.ID); err != nil {
			t.Fatal(err)
		}
		refused := func(c *Cluster) {
			t.Helper()
			h := hello(1, 2)
			h.ID = gone.ID
			if _, err := c.Leases.Register(t.Context(), h); !errors.Is(err, errs.NotFound) {
				t.Errorf("it registers: %v", err)
			}
			if _, err := c.Leases.Heartbeat(gone.ID, gone.Epoch, hemera.NodeReport{}); err == nil {
				t.Error("its lease is in force")
			}
			for _, err := range []error{c.Leases.Member(gone.ID), c.Leases.Leased(gone.ID)} {
				if !errors.Is(err, errs.NotFound) {
					t.Errorf("it is a member: %v", err)
				}
			}
		}
		refused(c)
		if v := c.View(); len(v.Disks) != 1 || len(v.Removed) != 2 {
			t.Errorf("%d disks, %d removed", len(v.Disks), len(v.Removed))
		}
		reply, err := c.Leases.Heartbeat(other.ID, other.Epoch, hemera.NodeReport{})
		if err != nil || !slices.Equal(reply.Barred, []hemera.NodeID{gone.ID}) {
			t.Errorf("the other node is told %v, %v", reply.Barred, err)
		}
		time.Sleep(keyLead)
		if err := c.Tick(t.Context()); err != nil || signs(t, c) == key {
			t.Errorf("the key is the same: %v", err)
		}
		c = open(t, store, nil)
		refused(c)
		h := hello(2, 1)
		h.ID = other.ID
		if w := register(t, c, h); !slices.Equal(w.Barred, []hemera.NodeID{gone.ID}) {
			t.Errorf("after a restart %v", w.Barred)
		}
		time.Sleep(barTime + time.Hour)
		if err := c.Tick(t.Context()); err != nil || len(c.roster.removed.barred) != 0 {
			t.Errorf("a day later %v, %v", c.roster.removed.barred, err)
		}
		refused(c)
	})
}

func TestKeysByCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, memkv.New(), nil)
		w := register(t, c, hello(1, 1))
		old, err := c.Keys.Ring().Mint(hemera.Capability{Head: w.ID, Expires: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		good := func() bool {
			_, atManager := c.Keys.Ring().Verify(old, time.Now())
			_, atNode := capability.NewVerifier(c.Keys.nodeKeys(w.ID)...).Verify(old, time.Now())
			if (atManager == nil) != (atNode == nil) {
				t.Errorf("the manager says %v, the node %v", atManager, atNode)
			}
			return atManager == nil
		}
		before := signs(t, c)
		rotate := func(end bool) {
			t.Helper()
			if err := c.Keys.RotateKeys(t.Context(), end); err != nil {
				t.Fatal(err)
			}
			time.Sleep(keyLead)
			if err := c.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if rotate(false); signs(t, c) == before || !good() {
			t.Error("a rotation must make a key and keep what was signed")
		}
		if rotate(true); good() || len(c.Keys.table) != 1 {
			t.Errorf("%d keys after an end of all", len(c.Keys.table))
		}
		for range keysHeld - 1 {
			rotate(false)
		}
		if err := c.Keys.RotateKeys(t.Context(), false); !errors.Is(err, errs.Overloaded) {
			t.Errorf("%d keys: %v", len(c.Keys.table), err)
		}
		rotate(true)
	})
}

// Keys of another version are not used: nodes may have them.
func TestKeysThatNodesHadGo(t *testing.T) {
	store := memkv.New()
	c := open(t, store, nil)
	was := signs(t, c)
	var ch change
	shared := c.Keys.table[was.ID]
	shared.Version = 0
	ch.put(shared)
	if err := c.journal.commit(t.Context(), &ch); err != nil {
		t.Fatal(err)
	}
	c = open(t, store, nil)
	if now := signs(t, c); now.secret == was.secret || now.ID <= was.ID || len(c.Keys.table) != 1 {
		t.Errorf("key %d after key %d, %d keys", now.ID, was.ID, len(c.Keys.table))
	}
}

// TestErrorsAreCleared: by an admin, for what one process of the node has counted, also over a restart of the manager.
func TestErrorsAreCleared(t *testing.T) {
	store := memkv.New()
	c := open(t, store, nil)
	w := register(t, c, hello(1, 1))
	started := time.Unix(1_700_000_000, 5)
	report := func(sums, io int64) (int64, int64) {
		t.Helper()
		h := hello(1, 1)
		h.Disks[0].Load.ChecksumErrors, h.Disks[0].Load.IOErrors = sums, io
		if _, err := c.Leases.Heartbeat(w.ID, w.Epoch, hemera.NodeReport{Stats: hemera.NodeStats{Started: started}, Disks: h.Disks}); err != nil {
			t.Fatal(err)
		}
		if err := c.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		load := c.View().Disks[0].Load
		return load.ChecksumErrors, load.IOErrors
	}
	check := func(what string, sums, io, wantSums, wantIO int64) {
		t.Helper()
		if gotSums, gotIO := report(sums, io); gotSums != wantSums || gotIO != wantIO {
			t.Errorf("%s: %d and %d errors, want %d and %d", what, gotSums, gotIO, wantSums, wantIO)
		}
	}
	check("before", 3, 1, 3, 1)
	if err := c.Admin.SetDisk(t.Context(), 1, "errors", "1"); !errors.Is(err, errs.Invalid) || !strings.Contains(errs.RemedyOf(err), "errors=0") {
		t.Errorf("errors=1: %v", err)
	}
	if err := c.Admin.SetDisk(t.Context(), 1, "errors", "0"); err != nil {
		t.Fatal(err)
	}
	if d := c.View().Disks[0]; d.Load.ChecksumErrors != 0 || d.Load.IOErrors != 0 {
		t.Errorf("at once: %+v", d.Load)
	}
	check("cleared", 3, 1, 0, 0)
	check("new ones", 5, 1, 2, 0)
	c = open(t, store, nil)
	w = register(t, c, hello(1, 1))
	check("after a restart of the manager", 5, 2, 2, 1)
	started = started.Add(time.Hour)
	check("after a restart of the node", 1, 0, 1, 0)
	check("and later", 4, 0, 4, 0)
}

// Nothing that a node says of itself overflows a sum or fills the manager's memory.
func TestNumbersOfABadNode(t *testing.T) {
	c := open(t, memkv.New(), nil)
	h := hello(1, 3)
	long := strings.Repeat("x", 1<<20)
	h.Version, h.Zone = long, "\x1b[31m"
	for i := range h.Disks {
		d := &h.Disks[i]
		d.Capacity, d.Free, d.Used, d.Pieces, d.Inodes, d.InodesFree = math.MaxInt64, math.MaxInt64, -1, math.MaxInt64, -5, 7
		d.Why, d.Health = long, "splendid"
		d.Load = hemera.DiskLoad{Busy: math.NaN(), ReadBytes: -1, WriteBytes: math.MaxInt64, Read: hemera.Latency{Counts: make([]int64, 1<<16)}}
	}
	w := register(t, c, h)
	nan := math.NaN()
	stats := hemera.NodeStats{Load1: nan, CPUSeconds: math.Inf(1), RSS: -1, Kernel: long, Net: make([]hemera.NetStats, 1000), Unusable: make([]hemera.UnusableDisk, 2*disksPerNodeMax)}
	stats.Net[0] = hemera.NetStats{Name: long, InRate: nan, OutRate: math.Inf(-1), Speed: -4}
	if _, err := c.Leases.Heartbeat(w.ID, w.Epoch, hemera.NodeReport{Stats: stats, Disks: h.Disks}); err != nil {
		t.Fatal(err)
	}
	if err := c.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := c.View()
	if r := v.Room(v.Disks); r.Capacity <= 0 || r.Free < 0 || r.Free > r.Capacity || r.Used < 0 {
		t.Errorf("room %+v", r)
	}
	for _, d := range v.Disks {
		if d.Capacity != capacityMax || d.Health != hemera.HealthFailing || len(d.Why) > textMax || d.Load.Busy != 0 || d.Load.ReadBytes != 0 || len(d.Load.Read.Counts) != 0 || d.Inodes != 0 || d.InodesFree != 0 {
			t.Errorf("%.300v", d)
		}
	}
	s := v.Nodes[0].Stats
	if s.Load1 != 0 || s.CPUSeconds > rateMax || s.RSS != 0 || len(s.Kernel) > textMax || len(s.Net) > netsPerNodeMax || len(s.Unusable) > disksPerNodeMax ||
		s.Net[0].InRate != 0 || s.Net[0].OutRate != 0 || s.Net[0].Speed != 0 || len(s.Net[0].Name) > textMax || v.Nodes[0].Zone != "" || len(v.Nodes[0].Version) > textMax {
		t.Errorf("%.300v", v.Nodes[0])
	}
	for _, addr := range []string{"host:1/?x=y", "a b:1", "h:1\n", strings.Repeat("h", 400) + ":1"} {
		h := hello(2, 0)
		h.Addr = addr
		if _, err := c.Leases.Register(t.Context(), h); !errors.Is(err, errs.Invalid) {
			t.Errorf("address %.40q: %v", addr, err)
		}
	}
}
