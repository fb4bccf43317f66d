package cluster

import (
	"errors"
	"testing"

	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

func TestFirstSpaceIsAsConfigured(t *testing.T) {
	store := memkv.New()
	wish := hemera.Space{
		Name: "ignored", Headroom: 5e9,
		Policy: hemera.Policy{Layout: hemera.Replica(3), Checksum: hemera.BLAKE3, PiecesMin: 2},
	}
	c := openWith(t, store, Options{Space: wish})
	wish.Name, wish.Policy.Space = hemera.DefaultSpace, hemera.DefaultSpace
	if s, _ := c.View().Space(hemera.DefaultSpace); s != wish {
		t.Errorf("%+v", s)
	}
	// What the cluster has wins over what a later start is told.
	c = openWith(t, store, Options{Space: hemera.Space{Policy: hemera.Policy{Layout: hemera.Plain()}}})
	if s, _ := c.View().Space(hemera.DefaultSpace); s != wish {
		t.Errorf("after a restart: %+v", s)
	}
}

func TestRemoveNode(t *testing.T) {
	c := open(t, memkv.New(), nil)
	ctx := t.Context()
	h := hello(1, 1)
	w := register(t, c, h)
	if err := c.Admin.RemoveNode(ctx, w.ID); !errors.Is(err, errs.NotEmpty) || errs.RemedyOf(err) == "" {
		t.Fatalf("a node with a disk: %v", err)
	}
	if err := c.Admin.RemoveDisk(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if err := c.Admin.AddDisk(ctx, w.ID, hemera.AttachDisk{Path: "/new", Space: ""}); err != nil {
		t.Fatal(err)
	}
	if err := c.Admin.RemoveNode(ctx, w.ID); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.View().Node(w.ID); ok || len(c.roster.attaches) != 0 {
		t.Error("the node, or what was asked of it, is still there")
	}
	if _, err := c.Leases.Heartbeat(w.ID, w.Epoch, hemera.NodeReport{}); !errors.Is(err, errs.Fenced) {
		t.Errorf("its heartbeat: %v", err)
	}
	h.ID = w.ID
	if _, err := c.Leases.Register(ctx, h); !errors.Is(err, errs.NotFound) || errs.RemedyOf(err) == "" {
		t.Errorf("it registers: %v", err)
	}
	if err := c.Leases.Member(w.ID); !errors.Is(err, errs.NotFound) || errs.RemedyOf(err) == "" {
		t.Errorf("a member: %v", err)
	}
	if err := c.Admin.RemoveNode(ctx, w.ID); !errors.Is(err, errs.NotFound) {
		t.Errorf("again: %v", err)
	}
}
