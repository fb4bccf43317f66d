package manager

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"hemera/maint"
	"hemera/rules/condition"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestAnOlderCopyOfADiskIsNotCountedOn: it takes no pieces, other pieces of its files may not go, what it lacks is made again, and what was removed
// does not come back. A manager that ends meanwhile does not forget it.
func TestAnOlderCopyOfADiskIsNotCountedOn(t *testing.T) {
	running(t, 2, 1, func(t *testing.T, r *rig) {
		n := r.nodes[0]
		disk, other := n.disks[0].ID, r.nodes[1].disks[0].ID
		come := func(changes uint64, pieces map[hemera.PieceID]hemera.PieceStat) {
			n.mu.Lock()
			n.disks = slices.Clone(n.disks)
			n.disks[0].Changes = changes
			if pieces != nil {
				n.pieces[disk] = pieces
			}
			n.mu.Unlock()
			n.register()
		}
		removed := r.write("/removed", 10)
		r.write("/changed", 10)
		come(1, nil)
		n.mu.Lock()
		yesterday := maps.Clone(n.pieces[disk])
		n.mu.Unlock()
		if err := r.m.Names.Remove(t.Context(), alice, "/removed", 0); err != nil {
			t.Fatal(err)
		}
		r.write("/changed", 20)
		r.write("/new", 30)
		time.Sleep(5 * time.Minute)
		come(2, nil)

		come(1, yesterday)
		if codes, _ := r.codes(); !slices.Contains(codes, condition.DiskOlder) {
			t.Errorf("conditions %q", codes)
		}
		for _, p := range r.write("/later", 40).Pieces {
			if p.Disk == disk {
				t.Error("it took a piece")
			}
		}
		if sum, err := r.m.Status.Impact(t.Context(), []hemera.DiskID{other}); err != nil || sum.Weakened > 0 || sum.Unreadable == 0 {
			t.Errorf("without the other disk: %+v, %v", sum, err)
		}
		if err := r.m.Admin.RemoveDisk(t.Context(), other, adminapi.Removal{Force: true}); !errors.Is(err, errs.NotEmpty) {
			t.Errorf("the other disk may go: %v", err)
		}
		for _, file := range []string{"/changed", "/new"} {
			if g := r.mustOpen(file, hemera.AccessRead); g.Permit.Targets[0].Disk != other {
				t.Errorf("%s is read there first", file)
			}
		}

		time.Sleep(maint.OrphanAge + 30*time.Minute)
		if codes, _ := r.codes(); slices.Contains(codes, condition.DiskOlder) {
			t.Errorf("conditions %q", codes)
		}
		for _, file := range []string{"/changed", "/new", "/later"} {
			r.whole(file, 2)
		}
		time.Sleep(3 * maint.OrphanAge) // an orphan is looked at twice
		for _, p := range removed.Pieces {
			if _, ok := n.get(disk, hemera.PieceID{File: removed.ID, Gen: removed.Gen, Index: p.Index}); ok {
				t.Error("a piece of a removed file is still there")
			}
		}
		if sum, err := r.m.Status.Impact(t.Context(), []hemera.DiskID{other}); err != nil || sum.Unreadable > 0 || sum.Weakened != 3 {
			t.Errorf("without the other disk: %+v, %v", sum, err)
		}
	})
}
