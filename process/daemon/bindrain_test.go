package daemon

import (
	"bytes"
	"fmt"
	"testing"

	"hemera/rules/recycle"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// TestWhatIsInABinIsMovedBetweenNodes drains a disk with pieces of removed files, plain and coded. All pieces leave the
// disk, and each file is restored with its bytes.
func TestWhatIsInABinIsMovedBetweenNodes(t *testing.T) {
	ctx, root := t.Context(), hemera.SystemIdentity()
	u, stop := startUp(t, t.TempDir())
	defer stop()
	c, content := newClient(t, u), bytes.Repeat([]byte("0123456789abcdef"), 10_000)
	for _, layout := range []string{"replica:2", "rs:2+1"} {
		of := "/" + layout[:2]
		if _, err := u.Manager.Names.Mkdir(ctx, root, of, 0o777, false); err != nil {
			t.Fatal(err)
		}
		for key, value := range map[string]string{"sys.forced.layout": layout, recycle.Attr: "1d"} {
			if err := u.Manager.Attributes.SetXattr(ctx, root, of, key, []byte(value), false); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 8 {
			path := fmt.Sprintf("%s/%d", of, i)
			c.put(path, content)
			if err := u.Manager.Names.Remove(ctx, root, path, hemera.KindFile); err != nil {
				t.Fatal(err)
			}
		}
	}
	const disk = 1
	if err := u.Manager.Admin.SetDisk(ctx, disk, "configstatus", "drain"); err != nil {
		t.Fatal(err)
	}
	until(t, "the disk is empty", func() bool {
		v, err := u.Manager.Admin.View(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range v.Disks {
			if d.ID == disk {
				return d.Config == hemera.ConfigEmpty
			}
		}
		return false
	})
	var bin []adminapi.Recycled
	err := u.Manager.Recycle.ListRecycled(ctx, root, adminapi.RecycleQuery{All: true}, func(r adminapi.Recycled) error {
		bin = append(bin, r)
		return nil
	})
	if err != nil || len(bin) != 16 {
		t.Fatalf("%d in the bin, %v", len(bin), err)
	}
	for _, r := range bin {
		path, err := u.Manager.Recycle.Restore(ctx, root, adminapi.RestoreRequest{ID: r.Entry.ID})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.get(path); !bytes.Equal(got, content) {
			t.Errorf("%s has %d bytes, or others", path, len(got))
		}
	}
}
