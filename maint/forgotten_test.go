package maint

import (
	"context"
	"testing"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// heldFile is a namespace with one file, whose old pieces one disk holds.
type heldFile struct {
	Files
	Removals
	Findings
	on    hemera.DiskID
	entry hemera.Entry
}

func (f *heldFile) IsUnlinked(_ context.Context, disk hemera.DiskID, _ hemera.PieceID) (bool, error) {
	return disk == f.on, nil
}

func (f *heldFile) Resolve(context.Context, hemera.FileID) (hemera.Entry, string, error) {
	return f.entry, "/f", nil
}

// TestHeldPiecesAreNotNewer: after a restore a content that nobody knows is counted; one that was replaced since, and is held for its readers, is
// known, and its disk removes it.
func TestHeldPiecesAreNotNewer(t *testing.T) {
	for held, want := range map[hemera.DiskID]int{1: 0, 2: 1} {
		files := &heldFile{on: held, entry: hemera.Entry{ID: 7, Gen: 5, Kind: hemera.KindFile, Size: 10}}
		e := New(Options{Files: files, Removals: files, Findings: files})
		counted := &tally{problems: map[problemKey]*adminapi.FsckProblem{}}
		old := hemera.PieceID{File: 7, Gen: 4}
		err := e.auditor.forgotten(t.Context(), hemera.Disk{ID: 1}, finding{piece: old, stat: hemera.PieceStat{ID: old, FileSize: 10}}, counted)
		if err != nil || len(counted.problems) != want {
			t.Errorf("held on disk %d: %v, %v", held, counted.problems, err)
		}
	}
}
