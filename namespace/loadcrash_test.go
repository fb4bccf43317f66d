package namespace_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hemera/measure/nsload"
	"hemera/namespace"
	"hemera/platform/kv/pebblekv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestLoadIsCutOffAnywhere cuts the power before each write of a load: all of the tree is there or
// nothing, Check finds nothing either way, and ids go on where they must.
func TestLoadIsCutOffAnywhere(t *testing.T) {
	cam := &camera{fs: vfs.NewCrashableMem(), r: rand.New(rand.NewPCG(1, 6))}
	store := must[*pebblekv.Store](t)(pebblekv.Open("db", engineOptions(errorfs.Wrap(cam.fs, cam))))
	n := open(t, store, namespace.Options{})
	var last hemera.FileID
	for i := range 20 {
		last = put(t, n, alice(), fmt.Sprintf("/f%d", i), 10).ID
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	cam.images = nil
	cam.begun.Store(1)
	shape := nsload.Shape{Files: 300, FilesPerDir: 10, DirsPerDir: 4, Size: 1000, Disks: []hemera.DiskID{1, 2, 3}}
	tree := must[hemera.TreeTotals](t)(nsload.Load(t.Context(), store, nsload.Options{Path: "/load", Shape: shape}))
	cam.acked.Store(1)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	there, images := 0, some(cam.images)
	for _, m := range images {
		found, err := m.loaded(t, tree, last)
		if err != nil || m.acked > 0 && !found {
			t.Errorf("power cut before %s: the tree is there: %t, %v", m.at, found, err)
		}
		if found {
			there++
		}
	}
	if there == 0 || there == len(images) {
		t.Errorf("the tree was there %d times of %d: nothing was cut off", there, len(images))
	}
}

// loaded says whether the tree is there, and what is wrong with the rest.
func (m image) loaded(t *testing.T, tree hemera.TreeTotals, last hemera.FileID) (found bool, err error) {
	ctx := t.Context()
	store, err := pebblekv.Open("db", engineOptions(m.fs))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	n, err := namespace.Open(ctx, store, namespace.Options{})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	e, err := n.Tree.Stat(ctx, system(), "/load")
	found = err == nil
	if found && e.Tree != tree || !found && !errors.Is(err, errs.NotFound) {
		return found, fmt.Errorf("%+v instead of %+v, %w", e.Tree, tree, err)
	}
	fresh := put(t, n, alice(), "/fresh", 1)
	if fresh.ID <= last || found && fresh.ID < e.ID+hemera.FileID(tree.Files+tree.Dirs) {
		return found, fmt.Errorf("id %s is given out again", fresh.ID)
	}
	return found, flawless(ctx, n)
}
