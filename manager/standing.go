package manager

import (
	"fmt"
	"slices"
	"strings"

	"hemera/rules/layout"
	"hemera/rules/place"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// standing says how a file's pieces are.
type standing int

const (
	readable standing = iota
	away              // enough pieces, but not where they can be read now
	lostFile          // too few pieces on disks that are of the cluster
)

// brokenSet is the pieces that are known to be bad and cannot be repaired.
type brokenSet map[hemera.BadPiece]bool

// newBrokenSet returns the set of a list.
func newBrokenSet(list []hemera.BadPiece) brokenSet {
	set := make(brokenSet, len(list))
	for _, b := range list {
		set[b] = true
	}
	return set
}

// has reports whether the entry's piece is known to be bad.
func (s brokenSet) has(e hemera.Entry, p hemera.Piece) bool {
	return len(s) > 0 && s[hemera.BadPiece{Disk: p.Disk, Piece: hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index}}]
}

// brokenList is a list of the pieces that are known to be bad and cannot be repaired, and its version. The maintenance keeps it.
type brokenList func() ([]hemera.BadPiece, uint64)

// set returns the list as a set.
func (b brokenList) set() brokenSet {
	list, _ := b()
	return newBrokenSet(list)
}

// readableNow returns the pieces of a file that can be read now.
func readableNow(v *hemera.View, e hemera.Entry, broken brokenSet) (here layout.Set) {
	for _, p := range e.Pieces {
		if d, ok := v.Disk(p.Disk); ok && d.Readable() && !broken.has(e, p) {
			here = here.With(int(p.Index))
		}
	}
	return here
}

// stand judges a file, and names the first of its disks that cannot be read, or that has a broken piece of it.
func stand(v *hemera.View, e hemera.Entry, broken brokenSet) (s standing, first hemera.DiskID) {
	// known: good pieces on disks of the cluster.
	var known layout.Set
	here := readableNow(v, e, broken)
	for _, p := range e.Pieces {
		if _, ok := v.Disk(p.Disk); ok && !broken.has(e, p) {
			known = known.With(int(p.Index))
		}
		if !here.Has(int(p.Index)) && (first == 0 || p.Disk < first) {
			first = p.Disk
		}
	}
	switch {
	case e.IsDir() || layout.Readable(e.Layout, e.Size, here):
		return readable, first
	case layout.Readable(e.Layout, e.Size, known):
		return away, first
	}
	return lostFile, first
}

// lastSeen says where the pieces of a lost file were.
func lastSeen(v *hemera.View, e hemera.Entry) string {
	var parts []string
	for _, p := range e.Pieces {
		where := "disk " + p.Disk.String()
		if was, ok := v.RemovedDisk(p.Disk); ok {
			where += ", last seen at " + was.Where()
		} else if _, ok := v.Disk(p.Disk); !ok {
			where += ", which is not in the cluster"
		}
		parts = append(parts, where)
	}
	if len(parts) == 0 {
		return "it has no pieces"
	}
	return strings.Join(parts, "; ")
}

// enough reports whether a file of size bytes can be read from pieces at these places.
func enough(l hemera.Layout, size int64, at []hemera.Target) bool {
	if !l.Coded() {
		return size == 0 || len(at) > 0
	}
	return layout.Readable(l, size, layout.TargetIndexes(at))
}

// noReplicas says why a file cannot be read from the pieces that can be read, at these places; the reasons are those of
// the other pieces. A file on tape only lacks none: it is to be brought to disk first.
func (b brokenList) noReplicas(v *hemera.View, path string, e *hemera.Entry, at []hemera.Target, tried []hemera.NodeID) error {
	if e.Evicted() {
		return errs.New(errs.NoReplicas, "manager.Open", path, "the file is on tape only").
			WithRemedy("bring it to disk first: `xrdfs HOST prepare -s " + path + "`, or `hemera tape stage " + path + "`")
	}
	lacking := slices.DeleteFunc(slices.Clone(e.Pieces), func(p hemera.Piece) bool {
		return slices.ContainsFunc(at, func(t hemera.Target) bool { return t.Disk == p.Disk && t.Index == p.Index })
	})
	// It names each disk and what is wrong with it, since this is the error that admins are called for.
	text := "none of its pieces can be read now: " + place.Unreadable(v, lacking, tried)
	if len(at) > 0 {
		text = fmt.Sprintf("%d of its pieces can be read now, and layout %s takes %d", len(at), e.Layout, layout.Needed(e.Layout, e.Size))
		if len(lacking) > 0 {
			text += ": " + place.Unreadable(v, lacking, tried)
		}
	}
	remedy := "`hemera why " + path + "` says for each piece what to do"
	if s, _ := stand(v, *e, b.set()); s == lostFile {
		remedy = "the file is lost unless a good piece comes back: `hemera why " + path + "` has the commands; else restore it from elsewhere, or remove it"
	}
	return errs.New(errs.NoReplicas, "manager.Open", path, text).WithRemedy(remedy)
}
