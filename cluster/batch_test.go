package cluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A node may come with more new disks than a batch of the store takes.
func TestANodeWithAsManyDisksAsOneMayHave(t *testing.T) {
	store := memkv.New()
	c := open(t, store, nil)
	h := hello(1, disksPerNodeMax)
	for i := range h.Disks {
		h.Disks[i].Path = fmt.Sprintf("/%s/d%d", strings.Repeat("long", 100), i)
	}
	w := register(t, c, h)
	if err := c.Tick(t.Context()); err != nil { // a view of so many disks may wait for it
		t.Fatal(err)
	}
	if len(w.DiskIDs) != disksPerNodeMax || len(c.View().Disks) != disksPerNodeMax {
		t.Fatalf("%d ids, %d disks", len(w.DiskIDs), len(c.View().Disks))
	}
	c = open(t, store, nil)
	h.ID = w.ID
	if again := register(t, c, h); len(again.DiskIDs) != disksPerNodeMax || again.DiskIDs["u1.7"] != w.DiskIDs["u1.7"] {
		t.Errorf("after a restart %d disks", len(again.DiskIDs))
	}
	h.Disks = append(h.Disks, hemera.NodeDisk{UUID: "more", Path: "/more"})
	if _, err := c.Leases.Register(t.Context(), h); !errors.Is(err, errs.TooLarge) {
		t.Errorf("one more: %v", err)
	}
}

// failing is a writer that takes some batches and then fails.
type failing struct {
	kv.Writer
	left int
}

func (f *failing) Enqueue(b *kv.Batch) (kv.Ticket, error) {
	if f.left--; f.left < 0 {
		return nil, errs.New(errs.IO, "kv.Enqueue", "", "the disk failed")
	}
	return f.Writer.Enqueue(b)
}

// A registration that is cut off between two batches is completed by the next, and no id is given out twice.
func TestARegistrationThatIsCutOff(t *testing.T) {
	store := memkv.New()
	c := open(t, store, nil)
	id, err := c.Admin.ReserveNode(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.journal.writer = &failing{c.journal.writer, 1}
	h := hello(1, disksPerNodeMax)
	h.ID = id
	for i := range h.Disks {
		h.Disks[i].Path = fmt.Sprintf("/%s/d%d", strings.Repeat("long", 100), i)
	}
	if _, err := c.Leases.Register(t.Context(), h); !errors.Is(err, errs.IO) {
		t.Fatal(err)
	}
	c = open(t, store, nil)
	given := map[hemera.DiskID]string{}
	for _, d := range c.View().Disks {
		given[d.ID] = d.UUID
	}
	if len(given) == 0 || len(given) == disksPerNodeMax {
		t.Fatalf("%d disks were recorded: nothing was cut off", len(given))
	}
	for uuid, d := range register(t, c, h).DiskIDs {
		if given[d] != "" && given[d] != uuid {
			t.Errorf("disk %v was %s and is %s", d, given[d], uuid)
		}
		given[d] = uuid
	}
	if len(given) != disksPerNodeMax {
		t.Errorf("%d disks at last", len(given))
	}
}

// A node makes no spaces: its new disks are off until an admin has made what they name, and put them there.
func TestASpaceThatANodeNames(t *testing.T) {
	c := open(t, memkv.New(), nil)
	h := hello(1, 2)
	h.Disks[0].Space = "fast"
	register(t, c, h)
	v := c.View()
	if len(v.Spaces) != 1 || v.Disks[0].Space != hemera.DefaultSpace || v.Disks[0].Config != hemera.ConfigOff || v.Disks[1].Config != hemera.ConfigRW {
		t.Errorf("spaces %+v, disks in %s as %s, in %s as %s", v.Spaces, v.Disks[0].Space, v.Disks[0].Config, v.Disks[1].Space, v.Disks[1].Config)
	}
	if err := c.Admin.SetSpace(t.Context(), "fast", "define", ""); err != nil {
		t.Fatal(err)
	}
	h = hello(2, 30)
	for i := range h.Disks {
		h.Disks[i].Space = "fast"
	}
	register(t, c, h)
	for _, d := range c.View().Disks[2:] {
		if d.Space != "fast" || d.Config != hemera.ConfigRW {
			t.Errorf("disk %d in %s as %s", d.ID, d.Space, d.Config)
		}
	}
}
