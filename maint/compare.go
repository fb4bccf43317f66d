package maint

import (
	"math"
	"slices"

	"hemera/words/hemera"
)

// The tags of problems.
const (
	tagMissing = "missing"
	tagOrphan  = "orphan"
	tagNewer   = "newer" // a piece younger than the namespace, which was restored
	tagMoved   = "moved" // a piece that is not where the namespace says, as after a move that was forgotten
	tagSize    = "size_mismatch"
	tagKept    = "kept" // a piece of the file says that it is kept for a person: it could not be reached at the commit
	tagShort   = "under_replicated"
	tagLost    = "lost" // too few pieces are left anywhere
	tagOffline = "offline"
	tagBusy    = "busy" // it cannot be judged: its file is being moved or repaired
	// auditPage is the number of pieces of a disk, or of files of the namespace, in one list.
	auditPage   = 1000
	problemsMax = 1000 // file ids named of each problem
)

// finding is one thing that does not agree between the namespace and a disk.
type finding struct {
	tag   string
	entry hemera.Entry     // of missing, size_mismatch and kept
	piece hemera.PieceID   // what it is about
	stat  hemera.PieceStat // of orphan, size_mismatch and kept
}

// window is a range of files, after lo up to hi, for which both lists are complete.
type window struct {
	hi      hemera.FileID      // the last file of the window; the greatest number if last
	entries []hemera.Entry     // that the namespace has on the disk, by id
	stats   []hemera.PieceStat // that the disk has, by id
	last    bool               // nothing follows
}

// align cuts two pages, of the files after lo that the namespace has on a disk and of the pieces
// that the disk has, to the files for which both are complete. limit is what a full page holds.
func align(lo hemera.FileID, entries []hemera.Entry, stats []hemera.PieceStat, limit int) window {
	hi := hemera.FileID(math.MaxUint64)
	if len(entries) >= limit {
		// The page is full, so files after its last one may be missing from it.
		hi = entries[len(entries)-1].ID
	}
	if len(stats) >= limit {
		// More pieces of the last file may follow, unless the page has nothing else.
		if f := stats[len(stats)-1].ID.File; f <= hi {
			hi = max(f-1, lo)
			if hi == lo {
				// The page has pieces of this file only. Without this the window would be empty, and the audit would not end.
				// A piece of the entry that is cut off counts as missing until confirm finds it.
				hi = f
			}
		}
	}
	w := window{hi: hi, last: hi == math.MaxUint64}
	w.entries = slices.DeleteFunc(slices.Clone(entries), func(e hemera.Entry) bool { return e.ID > hi })
	w.stats = slices.DeleteFunc(slices.Clone(stats), func(s hemera.PieceStat) bool { return s.ID.File > hi })
	return w
}

// compare lists what does not agree in a window.
func compare(disk hemera.DiskID, w window) (found []finding) {
	there := make(map[hemera.PieceID]hemera.PieceStat, len(w.stats))
	for _, s := range w.stats {
		there[s.ID] = s
	}
	for _, e := range w.entries {
		for _, p := range e.Pieces {
			if p.Disk != disk {
				continue
			}
			id := hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index}
			s, ok := there[id]
			// The pieces left in the map in the end are on the disk and in no file.
			delete(there, id)
			switch {
			case !ok:
				found = append(found, finding{tag: tagMissing, entry: e, piece: id})
			case s.FileSize != e.Size:
				found = append(found, finding{tag: tagSize, entry: e, piece: id, stat: s})
			case s.Kept:
				found = append(found, finding{tag: tagKept, entry: e, piece: id, stat: s})
			}
		}
	}
	// The list and not the map is walked, so that findings come in the order of ids.
	for _, s := range w.stats {
		if _, left := there[s.ID]; left {
			found = append(found, finding{tag: tagOrphan, piece: s.ID, stat: s})
		}
	}
	return found
}
