package treewalk_test

import (
	"context"
	"fmt"

	"hemera/platform/treewalk"
	"hemera/test/fixture"
	"hemera/words/hemera"
)

// Example lists everything below a directory, to a depth of one.
func Example() {
	ctx, tree := context.Background(), fixture.NewTree()
	who := hemera.SystemIdentity()
	top, err := tree.Stat(ctx, who, "/exp")
	if err != nil {
		fmt.Println(err)
		return
	}
	visit := func(path string, e hemera.Entry, failure error) error {
		if failure != nil {
			fmt.Println(path, "cannot be listed:", failure)
			return nil // the walk continues with the next entry
		}
		fmt.Println(path, e.IsDir())
		return nil
	}
	if err := treewalk.Walk(ctx, "/exp", top, visit, treewalk.Options{Dirs: tree, Who: who, Depth: 1}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// /exp true
	// /exp/data.root false
	// /exp/notes.txt false
	// /exp/run1 true
}
