package namespace_test

import (
	"context"
	"fmt"

	"hemera/namespace"
	"hemera/platform/kv/memkv"
	"hemera/words/hemera"
)

// A write has two steps in the namespace. Prepare reserves an id and checks rights; nothing is written. Commit makes
// the content visible, when its pieces are sealed on their disks.
func ExampleOpen() {
	ctx := context.Background()
	tree, err := namespace.Open(ctx, memkv.New(), namespace.Options{})
	if err != nil {
		panic(err)
	}
	alice := hemera.Identity{Name: "alice", UID: 1000, GID: 1000}
	if _, err := tree.Tree.Mkdir(ctx, alice, "/run7", 0o755, false); err != nil {
		panic(err)
	}

	open, err := tree.Writes.Prepare(ctx, alice, hemera.OpenRequest{Path: "/run7/events", Access: hemera.AccessCreate, Mode: 0o644})
	if err != nil {
		panic(err)
	}
	_, err = tree.Tree.Stat(ctx, alice, "/run7/events")
	fmt.Println("before the commit:", err)

	_, err = tree.Writes.Commit(ctx, namespace.Commit{ID: open.ID, Gen: open.Gen, Parent: open.Parent.ID, Name: "events",
		Mode: open.Mode, UID: alice.UID, GID: alice.GID, Size: 4096, Layout: hemera.Replica(2), Space: "default",
		Pieces: []hemera.Piece{{Index: 0, Disk: 1}, {Index: 1, Disk: 4}}, Who: alice.Name})
	if err != nil {
		panic(err)
	}
	dir, err := tree.Tree.Stat(ctx, alice, "/run7")
	fmt.Println("totals of the directory:", dir.Tree.Files, "file,", dir.Tree.Bytes, "bytes,", dir.Tree.Physical, "on disks,", err)
	pieces, bytes, err := tree.Pieces.DiskUsage(ctx, 4)
	fmt.Println("on disk 4:", pieces, "piece,", bytes, "bytes,", err)
	// Output:
	// before the commit: namespace.Stat /run7/events: no such file or directory
	// totals of the directory: 1 file, 4096 bytes, 8192 on disks, <nil>
	// on disk 4: 1 piece, 4096 bytes, <nil>
}
