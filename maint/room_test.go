package maint

import (
	"testing"

	"hemera/words/hemera"
)

// TestSurplusOfHeldPieces: held pieces are no reason for a want of room, and have bounds.
func TestSurplusOfHeldPieces(t *testing.T) {
	const free = 1000
	view := func(disks ...hemera.Disk) *hemera.View {
		return &hemera.View{Nodes: []hemera.NodeInfo{{ID: 1, Addr: "a:1"}, {ID: 2, Addr: "a:2"}, {ID: 3, Addr: "b:1"}}, Disks: disks}
	}
	one := hemera.Disk{ID: 1, Node: 1, Config: hemera.ConfigRW, DiskStats: hemera.DiskStats{Filesystem: 9, Free: free}}
	folder := hemera.Disk{ID: 2, Node: 2, Config: hemera.ConfigRW, DiskStats: hemera.DiskStats{Filesystem: 9, Free: free}}
	elsewhere := hemera.Disk{ID: 3, Node: 3, Config: hemera.ConfigRW, DiskStats: hemera.DiskStats{Filesystem: 9, Free: free}}
	with := func(c hemera.DiskConfig) hemera.Disk { d := one; d.Config = c; return d }
	full := one
	full.Free = 0
	for _, c := range []struct {
		what              string
		v                 *hemera.View
		d                 hemera.Disk
		held, bytes, want int64
	}{
		{"little", view(one), one, 10, free / 4, 0},
		{"more than a quarter of what is free", view(one, elsewhere), one, 10, free / 2, 5},
		{"more than its part of a shared filesystem", view(one, folder), one, 10, free / 4, 5},
		{"no room at all", view(full), full, 10, 1, 10},
		{"too many", view(one), one, heldMax + 7, 1, 7},
		{"of a drained disk", view(one), with(hemera.ConfigDrain), 10, 1, 10},
		{"of an empty disk", view(one), with(hemera.ConfigEmpty), 10, 1, 10},
		{"of a disk that is only read", view(one), with(hemera.ConfigRO), 10, 1, 0},
	} {
		if got := surplus(c.v, c.d, c.held, c.bytes); got != c.want {
			t.Errorf("%s: %d pieces go, not %d", c.what, got, c.want)
		}
	}
}
