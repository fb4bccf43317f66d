package cluster

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/platform/pki"
	"hemera/rules/capability"
	"hemera/words/errs"
	"hemera/words/hemera"
)

func open(t *testing.T, store kv.Store, now func() time.Time) *Cluster {
	t.Helper()
	return openWith(t, store, Options{ManagerAddr: "m:1094", Now: now})
}

func openWith(t *testing.T, store kv.Store, o Options) *Cluster {
	t.Helper()
	w, err := store.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(t.Context(), store, w, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func hello(node int, disks int) hemera.NodeHello {
	h := hemera.NodeHello{Addr: fmt.Sprintf("n%d:1095", node), Zone: "hall", Version: "1"}
	for d := range disks {
		h.Disks = append(h.Disks, hemera.NodeDisk{
			UUID: fmt.Sprintf("u%d.%d", node, d), Path: fmt.Sprintf("/d%d", d), Health: hemera.HealthOK, DiskStats: hemera.DiskStats{Capacity: 1 << 40, Free: 1 << 39},
		})
	}
	return h
}

func register(t *testing.T, c *Cluster, h hemera.NodeHello) hemera.NodeWelcome {
	t.Helper()
	w, err := c.Leases.Register(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestFreshClusterIsUsableAtOnce(t *testing.T) {
	c := open(t, memkv.New(), nil)
	w := register(t, c, hello(1, 2))
	if w.ID == 0 || w.Epoch == 0 || len(w.DiskIDs) != 2 || len(w.Keys) != 1 || w.ManagerAddr != "m:1094" || w.Headroom[1] != 1<<30 {
		t.Errorf("welcome %+v", w)
	}
	v := c.View()
	if len(v.Disks) != 2 || !v.Disks[0].Writable() || v.Disks[0].Space != hemera.DefaultSpace || v.Disks[0].Zone != "hall" {
		t.Errorf("disks %+v", v.Disks)
	}
	s, ok := v.Space(hemera.DefaultSpace)
	if !ok || s.Policy.Layout != hemera.Replica(2) || s.Policy.Checksum != hemera.Adler32 || !s.Policy.Sync || s.Policy.PiecesMin != 0 {
		t.Errorf("space %+v", s)
	}
}

func TestEverythingSurvivesARestart(t *testing.T) {
	store := memkv.New()
	c := open(t, store, nil)
	w := register(t, c, hello(1, 2))
	register(t, c, hello(2, 1))
	ctx := t.Context()
	for _, err := range []error{
		c.Admin.SetSpace(ctx, "ssd", "define", ""), c.Admin.SetSpace(ctx, "ssd", "policy.layout", "replica:3"),
		c.Admin.SetDisk(ctx, 2, "space", "ssd"), c.Admin.SetDisk(ctx, 2, "configstatus", "ro"), c.Admin.SetNode(ctx, 2, "status", "off"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before, key := c.View(), signs(t, c)
	c = open(t, store, nil)
	if v := c.View(); len(v.Disks) != 3 || v.Disks[0].Active || v.Nodes[0].Status != hemera.NodeOffline {
		t.Errorf("disks are active before their node came: %+v", v.Disks)
	}
	h := hello(1, 2)
	h.ID = w.ID
	again := register(t, c, h)
	register(t, c, hello(2, 1))
	if again.ID != w.ID || again.Epoch <= w.Epoch || again.DiskIDs["u1.1"] != w.DiskIDs["u1.1"] {
		t.Errorf("from %+v to %+v", w, again)
	}
	after := c.View()
	for i, d := range after.Disks {
		if !reflect.DeepEqual(d, before.Disks[i]) {
			t.Errorf("disk was %+v, is %+v", before.Disks[i], d)
		}
	}
	if !slices.Equal(after.Spaces, before.Spaces) || len(after.Spaces) != 2 {
		t.Errorf("spaces were %+v, are %+v", before.Spaces, after.Spaces)
	}
	if got := signs(t, c); got != key {
		t.Error("the key changed")
	}
}

func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, memkv.New(), nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = c.Run(ctx) }()
		h := hello(1, 1)
		w := register(t, c, h)
		beat := func(epoch hemera.Epoch) error {
			_, err := c.Leases.Heartbeat(w.ID, epoch, hemera.NodeReport{Disks: h.Disks})
			return err
		}
		for range 20 {
			time.Sleep(hemera.HeartbeatInterval)
			if err := beat(w.Epoch); err != nil {
				t.Fatal(err)
			}
		}
		if err := beat(w.Epoch - 1); !errors.Is(err, errs.Fenced) {
			t.Errorf("older epoch: %v", err)
		}
		time.Sleep(hemera.HeartbeatTimeout - time.Second)
		if !c.View().Disks[0].Active {
			t.Error("offline before the timeout")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if v := c.View(); v.Disks[0].Active || v.Nodes[0].Status != hemera.NodeOffline {
			t.Error("still online after the timeout")
		}
		if err := beat(w.Epoch); !errors.Is(err, errs.Fenced) {
			t.Errorf("late heartbeat: %v", err)
		}
		w2 := register(t, c, h)
		if w2.ID != w.ID || !c.View().Disks[0].Active || c.Leases.Check(w.ID, w2.Epoch) != nil {
			t.Error("registering again does not help")
		}
		if err := c.Leases.Check(w.ID, w.Epoch); !errors.Is(err, errs.Fenced) {
			t.Errorf("fenced epoch: %v", err)
		}
	})
}

func TestDisksAreKnownByUUID(t *testing.T) {
	c := open(t, memkv.New(), nil)
	one := register(t, c, hello(1, 2))
	h := hello(2, 0)
	moved := hello(1, 2).Disks[1]
	moved.Path = "/elsewhere"
	h.Disks = append(h.Disks, moved)
	before := hello(1, 2)
	before.Disks[1].Health = hemera.HealthGone
	if _, err := c.Leases.Heartbeat(one.ID, one.Epoch, hemera.NodeReport{Disks: before.Disks}); err != nil {
		t.Fatal(err)
	}
	two := register(t, c, h)
	if two.ID == one.ID {
		t.Fatal("a running node's disk made another node take its id")
	}
	d, _ := c.View().Disk(one.DiskIDs["u1.1"])
	if d.Node != two.ID || d.Path != "/elsewhere" {
		t.Errorf("carried disk %+v", d)
	}
	foreign := hello(3, 1)
	foreign.Disks[0].ID = 77
	if w := register(t, c, foreign); len(w.DiskIDs) != 0 {
		t.Errorf("took a foreign disk: %v", w.DiskIDs)
	}
	lost := hello(1, 2) // state lost, same address
	if w := register(t, c, lost); w.ID != one.ID {
		t.Errorf("node %d became %d", one.ID, w.ID)
	}
}

func TestMissingDiskIsGone(t *testing.T) {
	c := open(t, memkv.New(), nil)
	h := hello(1, 2)
	w := register(t, c, h)
	if _, err := c.Leases.Heartbeat(w.ID, w.Epoch, hemera.NodeReport{Disks: h.Disks[:1]}); err != nil {
		t.Fatal(err)
	}
	d := c.View().Disks[1]
	if d.Active || d.Health != hemera.HealthGone || d.Why == "" || d.Capacity == 0 {
		t.Errorf("%+v", d)
	}
}

func TestAddAndRemoveDisk(t *testing.T) {
	c := open(t, memkv.New(), nil)
	ctx := t.Context()
	h := hello(1, 1)
	w := register(t, c, h)
	beat := func() (hemera.HeartbeatReply, error) {
		return c.Leases.Heartbeat(w.ID, w.Epoch, hemera.NodeReport{Disks: h.Disks})
	}
	if err := c.Admin.AddDisk(ctx, w.ID, hemera.AttachDisk{Path: "/new", Space: ""}); err != nil {
		t.Fatal(err)
	}
	reply, err := beat()
	if err != nil || len(reply.Attach) != 1 || reply.Attach[0] != (hemera.AttachDisk{Path: "/new", Space: "default"}) {
		t.Fatalf("%+v, %v", reply, err)
	}
	h.Disks = append(h.Disks, hemera.NodeDisk{UUID: "fresh", Path: "/new", Health: hemera.HealthOK})
	if _, err := beat(); !errors.Is(err, errs.Fenced) {
		t.Fatalf("a new disk in a heartbeat: %v", err)
	}
	w = register(t, c, h)
	id := w.DiskIDs["fresh"]
	if id == 0 {
		t.Fatal("no id for the new disk")
	}
	h.Disks[1].ID = id
	if reply, err := beat(); err != nil || len(reply.Attach) != 0 {
		t.Fatalf("%+v, %v", reply, err)
	}
	if err := c.Admin.RemoveDisk(ctx, id); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.View().Disk(id); ok || !slices.Equal(c.Admin.Removed(), []hemera.DiskID{id}) {
		t.Error("removed disk is in the view, or not remembered")
	}
	if reply, err := beat(); err != nil || !slices.Equal(reply.Detach, []hemera.DiskID{id}) {
		t.Errorf("%+v, %v", reply, err)
	}
	if err := c.Admin.ForgetDisk(ctx, id); err != nil || len(c.Admin.Removed()) != 0 {
		t.Error("not buried")
	}
	if w := register(t, c, h); w.DiskIDs["fresh"] != 0 {
		t.Error("a removed disk came back by itself")
	}
	if err := c.Admin.AddDisk(ctx, w.ID, hemera.AttachDisk{Path: "/new", Space: ""}); err != nil {
		t.Fatal(err)
	}
	if w := register(t, c, h); w.DiskIDs["fresh"] == 0 || w.DiskIDs["fresh"] == id {
		t.Errorf("added again: %v", w.DiskIDs)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	c := open(t, memkv.New(), nil)
	ctx := t.Context()
	w := register(t, c, hello(1, 1))
	for what, err := range map[string]error{
		"disk value":    c.Admin.SetDisk(ctx, 1, "configstatus", "broken"),
		"disk empty":    c.Admin.SetDisk(ctx, 1, "configstatus", "empty"),
		"disk key":      c.Admin.SetDisk(ctx, 1, "colour", "red"),
		"disk zone":     c.Admin.SetDisk(ctx, 1, "zone", "a b"),
		"node value":    c.Admin.SetNode(ctx, w.ID, "status", "maybe"),
		"node key":      c.Admin.SetNode(ctx, w.ID, "x", "y"),
		"space layout":  c.Admin.SetSpace(ctx, "default", "policy.layout", "raid7"),
		"space count":   c.Admin.SetSpace(ctx, "default", "policy.nstripes", "33"),
		"space blocks":  c.Admin.SetSpace(ctx, "default", "policy.blocksize", "4k"),
		"space min":     c.Admin.SetSpace(ctx, "default", "policy.minpieces", "33"),
		"space sum":     c.Admin.SetSpace(ctx, "default", "policy.checksum", "crc16"),
		"space room":    c.Admin.SetSpace(ctx, "default", "headroom", "-1"),
		"space room 2":  c.Admin.SetSpace(ctx, "default", "headroom", "99999999T"),
		"space name":    c.Admin.SetSpace(ctx, "a/b", "define", ""),
		"space key":     c.Admin.SetSpace(ctx, "default", "policy.colour", "red"),
		"relative path": c.Admin.AddDisk(ctx, w.ID, hemera.AttachDisk{Path: "d", Space: ""}),
	} {
		if !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := c.Admin.SetSpace(ctx, "default", "policy.layout", "rs:40+2"); !errors.Is(err, errs.Invalid) || errs.RemedyOf(err) == "" {
		t.Errorf("too many pieces: %v; %s", err, errs.RemedyOf(err))
	}
	for what, err := range map[string]error{
		"disk": c.Admin.SetDisk(ctx, 9, "configstatus", "rw"), "node": c.Admin.SetNode(ctx, 9, "status", "on"),
		"space": c.Admin.SetSpace(ctx, "none", "headroom", "1G"), "disk's space": c.Admin.SetDisk(ctx, 1, "space", "none"),
		"add": c.Admin.AddDisk(ctx, 9, hemera.AttachDisk{Path: "/x", Space: ""}), "add's space": c.Admin.AddDisk(ctx, w.ID, hemera.AttachDisk{Path: "/x", Space: "none"}), "remove": c.Admin.RemoveDisk(ctx, 9),
	} {
		if !errors.Is(err, errs.NotFound) || errs.RemedyOf(err) == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := c.Admin.SetSpace(ctx, "default", "define", ""); !errors.Is(err, errs.Exists) {
		t.Error(err)
	}
	if err := c.Admin.AddDisk(ctx, w.ID, hemera.AttachDisk{Path: "/d0", Space: ""}); !errors.Is(err, errs.Exists) {
		t.Error(err)
	}
}

func TestSpaceSettings(t *testing.T) {
	c := open(t, memkv.New(), nil)
	ctx := t.Context()
	register(t, c, hello(1, 1))
	for _, s := range []struct {
		key, value string
		ok         func(hemera.Space) bool
	}{
		{"space.policy.layout", "plain", func(s hemera.Space) bool { return s.Policy.Layout == hemera.Plain() }},
		{"policy.layout", "replica", func(s hemera.Space) bool { return s.Policy.Layout == hemera.Replica(2) }},
		{"policy.nstripes", "3", func(s hemera.Space) bool { return s.Policy.Layout == hemera.Replica(3) }},
		{"policy.layout", "replica", func(s hemera.Space) bool { return s.Policy.Layout == hemera.Replica(3) }},
		{"policy.layout", "replica:4", func(s hemera.Space) bool { return s.Policy.Layout == hemera.Replica(4) }},
		{"policy.checksum", "blake3", func(s hemera.Space) bool { return s.Policy.Checksum == hemera.BLAKE3 }},
		{"policy.minpieces", "2", func(s hemera.Space) bool { return s.Policy.PiecesMin == 2 }},
		{"policy.minpieces", "auto", func(s hemera.Space) bool { return s.Policy.PiecesMin == 0 }},
		{"policy.minpieces", "2", func(s hemera.Space) bool { return s.Policy.PiecesMin == 2 }},
		{"policy.layout", "rs:4+2", func(s hemera.Space) bool {
			return s.Policy.Layout == hemera.ReedSolomon(4, 2) && s.Policy.PiecesMin == 5
		}},
		{"policy.blocksize", "4M", func(s hemera.Space) bool { return s.Policy.Layout.BlockSize == 4<<20 && s.Policy.BlockSize == 4<<20 }},
		{"space.policy.nstripes", "12", func(s hemera.Space) bool {
			return s.Policy.Layout == hemera.ReedSolomon(10, 2).WithBlockSize(4<<20) && s.Policy.PiecesMin == 11
		}},
		{"policy.layout", "qrain", func(s hemera.Space) bool { return s.Policy.Layout == hemera.ReedSolomon(8, 4).WithBlockSize(4<<20) }},
		{"policy.blocksize", "auto", func(s hemera.Space) bool {
			return s.Policy.Layout == hemera.ReedSolomon(8, 4) && s.Policy.BlockSize == 0
		}},
		{"policy.layout", "plain", func(s hemera.Space) bool { return s.Policy.Layout == hemera.Plain() && s.Policy.PiecesMin == 2 }},
		{"policy.layout", "lrc:12+2+2", func(s hemera.Space) bool {
			return s.Policy.Layout == hemera.Local(12, 2, 2) && s.Policy.PiecesMin == 14
		}},
		{"policy.layout", "replica:2", func(s hemera.Space) bool { return s.Policy.Layout == hemera.Replica(2) && s.Policy.PiecesMin == 2 }},
		{"policy.sync", "off", func(s hemera.Space) bool { return !s.Policy.Sync }},
		{"headroom", "2G", func(s hemera.Space) bool { return s.Headroom == 2e9 }},
	} {
		if err := c.Admin.SetSpace(ctx, "default", s.key, s.value); err != nil {
			t.Error(err)
		}
		if got, _ := c.View().Space("default"); !s.ok(got) {
			t.Errorf("%s=%s: %+v", s.key, s.value, got)
		}
	}
	for _, s := range Settings() {
		if s.Help == "" || s.Values == "" || !slices.Contains([]string{"fs", "node", "space"}, s.Of) {
			t.Errorf("%+v", s)
		}
	}
}

// A minimum from which no file can be read, and a number of pieces that is no more than the parities, are refused with
// what to do.
func TestSpaceSettingsOfCodedLayouts(t *testing.T) {
	c := open(t, memkv.New(), nil)
	for _, s := range []struct{ layout, key, value string }{
		{"rs:4+2", "policy.minpieces", "3"}, {"rs:4+2", "policy.nstripes", "2"}, {"lrc:4+2+1", "policy.minpieces", "4"},
	} {
		if err := c.Admin.SetSpace(t.Context(), "default", "policy.layout", s.layout); err != nil {
			t.Fatal(err)
		}
		if err := c.Admin.SetSpace(t.Context(), "default", s.key, s.value); !errors.Is(err, errs.Invalid) || errs.RemedyOf(err) == "" {
			t.Errorf("%s: %s=%s: %v", s.layout, s.key, s.value, err)
		}
	}
}

// A record of an earlier version, which took the data pieces of a locally repairable layout for enough.
func TestAMinimumOfAnEarlierVersion(t *testing.T) {
	s := spaceRecord{Layout: hemera.Local(12, 2, 2), PiecesMin: 12}
	if s.setLayout(hemera.Replica(2)); s.PiecesMin != 1 {
		t.Errorf("at least %d", s.PiecesMin)
	}
}

func TestDrainEndsEmpty(t *testing.T) {
	c := open(t, memkv.New(), nil)
	ctx := t.Context()
	register(t, c, hello(1, 1))
	if err := c.Admin.SetEmpty(ctx, 1); err != nil || c.View().Disks[0].Config != hemera.ConfigRW {
		t.Error("a disk that does not drain became empty")
	}
	if err := c.Admin.SetDisk(ctx, 1, "configstatus", "drain"); err != nil {
		t.Fatal(err)
	}
	if err := c.Admin.SetEmpty(ctx, 1); err != nil || c.View().Disks[0].Config != hemera.ConfigEmpty {
		t.Error("not empty")
	}
}

func TestBadHellos(t *testing.T) {
	c := open(t, memkv.New(), nil)
	twice := hello(1, 1)
	twice.Disks = append(twice.Disks, twice.Disks[0])
	for _, h := range []hemera.NodeHello{{}, {Addr: "nohost"}, {Addr: ":1095"}, twice, {Addr: "a:1", Disks: []hemera.NodeDisk{{}}}} {
		if _, err := c.Leases.Register(t.Context(), h); !errors.Is(err, errs.Invalid) {
			t.Errorf("%+v: %v", h, err)
		}
	}
	if _, err := c.Leases.Register(t.Context(), hemera.NodeHello{ID: 5, Addr: "a:1"}); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
	if len(c.View().Nodes) != 0 {
		t.Error("a refused node is in the view")
	}
}

// signing is the key that tokens are made with now, as they say it.
type signing struct {
	ID     uint32
	secret string
}

// signs asks the ring which key it signs with.
func signs(t *testing.T, c *Cluster) signing {
	t.Helper()
	token, err := c.Keys.Ring().Mint(hemera.Capability{})
	if err != nil {
		t.Fatal(err)
	}
	for id, k := range c.Keys.table {
		if again, err := capability.NewKeyring(k.secret()).Mint(hemera.Capability{}); err == nil && again == token {
			return signing{id, string(k.Secret)}
		}
	}
	t.Fatal("no key of the cluster signs")
	return signing{}
}

func TestKeysRotateAheadOfUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, memkv.New(), nil)
		ctx := t.Context()
		first := signs(t, c)
		time.Sleep(keyLifetime + time.Second)
		if err := c.Tick(ctx); err != nil {
			t.Fatal(err)
		}
		w := register(t, c, hello(1, 0))
		if len(w.Keys) != 2 || w.Keys[0].ID <= first.ID || signs(t, c).ID != first.ID {
			t.Error("a new key signs before nodes can know it")
		}
		time.Sleep(keyLead)
		if err := c.Tick(ctx); err != nil || signs(t, c).ID != w.Keys[0].ID {
			t.Error("the new key does not sign")
		}
		for range 5 {
			time.Sleep(keyLifetime + keyLead)
			if err := c.Tick(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(c.Keys.table); n != keysKept+1 {
			t.Errorf("%d keys kept", n)
		}
	})
}

// A clock that was years ahead, or behind, when a key was made must not keep that key for ever.
func TestAKeyOfAWrongClockEnds(t *testing.T) {
	for _, off := range []time.Duration{14 * 365 * 24 * time.Hour, -50 * 365 * 24 * time.Hour} {
		store := memkv.New()
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		first := signs(t, open(t, store, func() time.Time { return now.Add(off) }))
		c := open(t, store, func() time.Time { return now })
		if err := c.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		if keys := c.Keys.nodeKeys(1); len(keys) != 2 || keys[0].ID == first.ID || keys[1].ID != first.ID {
			t.Errorf("off by %v: %d keys", off, len(keys))
		}
		if err := c.Tick(t.Context()); err != nil || len(c.Keys.table) != 2 {
			t.Errorf("off by %v: %d keys after another tick, %v", off, len(c.Keys.table), err)
		}
	}
}

func TestJoinTokensAreDurable(t *testing.T) {
	store := memkv.New()
	ctx := t.Context()
	id := [32]byte{1}
	want := pki.TokenRecord{Expires: time.Unix(1e9, 0).UTC(), Uses: 3}
	if err := open(t, store, nil).Tokens.PutToken(ctx, id, want); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, store, nil).Tokens.Token(ctx, id)
	if err != nil || !got.Expires.Equal(want.Expires) || got.Uses != 3 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := open(t, store, nil).Tokens.Token(ctx, [32]byte{2}); !errors.Is(err, errs.NotFound) {
		t.Errorf("unknown token: %v", err)
	}
}

func TestReservedNodeRegisters(t *testing.T) {
	store := memkv.New()
	ctx := t.Context()
	c := open(t, store, nil)
	first, err := c.Admin.ReserveNode(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := c.Admin.ReserveNode(ctx); err != nil || second == first {
		t.Fatalf("reserved %v twice, %v", second, err)
	}
	w, err := c.Leases.Register(ctx, hemera.NodeHello{ID: first, Addr: "10.0.0.1:1095"})
	if err != nil || w.ID != first {
		t.Errorf("registered as %v, %v", w.ID, err)
	}
}

// A node that says that it has ended is offline at once, and online with its next lease.
func TestANodeThatHasEndedIsOffline(t *testing.T) {
	c := open(t, memkv.New(), nil)
	h := hello(1, 1)
	w := register(t, c, h)
	status := func() (hemera.NodeInfo, bool) {
		v := c.View()
		return v.Nodes[0], v.Disks[0].Active
	}
	if _, err := c.Leases.Heartbeat(w.ID, w.Epoch, hemera.NodeReport{Disks: h.Disks, Stopping: true}); err != nil {
		t.Fatal(err)
	}
	if n, active := status(); n.Status != hemera.NodeOnline || !n.Stopping || !active || !c.View().Disks[0].Stopping {
		t.Errorf("a node that stops: %+v", n)
	}
	if _, err := c.Leases.Heartbeat(w.ID, w.Epoch, hemera.NodeReport{Disks: h.Disks, Stopping: true, Ended: true}); err != nil {
		t.Fatal(err)
	}
	if n, active := status(); n.Status != hemera.NodeOffline || n.Stopping || active {
		t.Errorf("a node that has ended: %+v", n)
	}
	if _, err := c.Leases.Heartbeat(w.ID, w.Epoch, hemera.NodeReport{Disks: h.Disks}); !errors.Is(err, errs.Fenced) {
		t.Errorf("a report after the last one: %v", err)
	}
	h.ID = w.ID
	register(t, c, h)
	if n, active := status(); n.Status != hemera.NodeOnline || n.Stopping || !active {
		t.Errorf("a node that has started again: %+v", n)
	}
}
