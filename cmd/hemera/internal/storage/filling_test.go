package storage

import (
	"testing"
	"time"

	"hemera/cmd/hemera/internal/cli"
	"hemera/words/hemera"
)

// TestOneScale: room that is kept free does not count as room, and all tables show the same usage for a disk and for a
// node or space with this disk alone.
func TestOneScale(t *testing.T) {
	d := hemera.Disk{ID: 1, Node: 1, Space: "default", Active: true, DiskStats: hemera.DiskStats{Used: 96, Free: 4, Capacity: 110}}
	v := &hemera.View{Nodes: []hemera.NodeInfo{{ID: 1, Addr: "n1:1"}}, Disks: []hemera.Disk{d}, Spaces: []hemera.Space{{Name: "default"}}}
	for name, got := range map[string]any{
		"fs ls": diskRecord(v, d, nil).Get("stat.usage"), "node ls": nodeRecord(&cli.Env{Now: time.Now}, v, v.Nodes[0], nil).Get("usage"),
		"space ls": spaceRecord(v, v.Spaces[0], nil).Get("usage"),
		"status":   100 * v.Room(v.Disks).Filling(),
	} {
		if got != 96.0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}
