package rebuild

import (
	"cmp"
	"fmt"
	"slices"

	"hemera/namespace"
	"hemera/rules/layout"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// found is a piece on a disk.
type found struct {
	disk hemera.DiskID
	hemera.PieceStat
}

// content is pieces of one file that agree about it.
type content struct {
	pieces   []found // one of each index, on different disks
	readable bool
}

// about returns the fields that the footers of the pieces agree about.
func (c *content) about() hemera.PieceStat { return c.pieces[0].PieceStat }

// choose decides which content a file gets, from all of its pieces that were found: the newest that can be read, else
// the newest. Contents that are kept for a person do not count. It is pure. findings tell about the pieces that the content does not have. ok
// is false if there is no content that this version knows.
func choose(pieces []found) (chosen content, findings []adminapi.RebuildFinding, ok bool) {
	// Contents that can be a file, whether they can be read or not.
	var contents []content
	for _, same := range agreeing(pieces) {
		first := same[0].PieceStat
		// What cannot be judged is not touched: a later version may know it.
		if err := first.Layout.Validate(); err != nil {
			findings = append(findings, finding(adminapi.RebuildUnknown, first, len(same), err.Error()))
			continue
		}
		// A commit first takes the mark off the pieces that it can reach.
		if !slices.ContainsFunc(same, func(p found) bool { return !p.Kept }) {
			findings = append(findings, finding(adminapi.RebuildKept, first, len(same), "its client did not come back, and it was not committed"))
			continue
		}
		c := pick(same)
		if len(c.pieces) == 0 {
			findings = append(findings, finding(adminapi.RebuildDiffers, first, len(same), "the pieces do not fit their layout"))
			continue
		}
		contents = append(contents, c)
	}
	if len(contents) == 0 {
		return chosen, findings, false
	}
	// Readable ones come first, then newer ones, then those with more pieces. The rest is for every run to take the same.
	slices.SortStableFunc(contents, func(a, b content) int {
		x, y := a.latest(), b.latest()
		return cmp.Or(compareBool(b.readable, a.readable), cmp.Compare(b.about().ID.Gen, a.about().ID.Gen), cmp.Compare(len(b.pieces), len(a.pieces)),
			newer(x, y))
	})
	chosen = contents[0]
	// All others stay on their disks, and an admin hears of them.
	gen := chosen.about().ID.Gen
	for _, c := range contents[1:] {
		s := c.about()
		switch {
		case s.ID.Gen == gen:
			findings = append(findings, finding(adminapi.RebuildDiffers, s, len(c.pieces), "other pieces of the same content say otherwise"))
		case s.ID.Gen > gen && !c.readable:
			findings = append(findings, finding(adminapi.RebuildUnreadable, s, len(c.pieces), "an older content is taken: "+shortage(c)))
		default:
			findings = append(findings, finding(adminapi.RebuildOlder, s, len(c.pieces), doubt(c)))
		}
	}
	return chosen, findings, true
}

// doubt says what speaks against a newer content. A commit has the pieces of what it replaces removed, so as long as all of them are
// there, the newer one may have been sealed by a head that died before it could commit.
func doubt(older content) string {
	s := older.about()
	if !older.readable || len(older.pieces) < layout.Count(s.Layout, s.FileSize) {
		return ""
	}
	return "all of its pieces are there, so the newer content may not have been committed"
}

// agreeing groups pieces of one file by what they say of it.
func agreeing(pieces []found) (groups [][]found) {
	for _, p := range pieces {
		i := slices.IndexFunc(groups, func(g []found) bool { return agree(g[0].PieceStat, p.PieceStat) })
		if i < 0 {
			groups, i = append(groups, nil), len(groups)
		}
		groups[i] = append(groups[i], p)
	}
	return groups
}

// agree reports whether two pieces are of the same content, by all that their footers say of it.
func agree(a, b hemera.PieceStat) bool {
	return a.ID.File == b.ID.File && a.ID.Gen == b.ID.Gen && a.Layout == b.Layout && a.FileSize == b.FileSize && slices.Equal(a.Checksums, b.Checksums)
}

// pick takes one piece of each index from pieces that agree, of as many indexes as it can. Copies of one piece are equal, so any will
// do: the one that was made last knows the newest path. A disk gives one piece at most, as two would be lost together. So an
// older copy is taken where the newest is on a disk that another index needs.
func pick(pieces []found) (c content) {
	pieces = slices.Clone(pieces)
	slices.SortStableFunc(pieces, newer)
	l, size := pieces[0].Layout, pieces[0].FileSize
	of := map[uint8][]found{}
	var order []uint8 // of indexes, that with the newest piece first
	for _, p := range pieces {
		index := p.ID.Index
		// A coded file has no pieces without bytes, a copy of an empty file may be there.
		if index >= l.Pieces || l.Coded() && !layout.Stored(l, size, index) || layout.PieceSize(l, size, index) != p.Size {
			continue
		}
		if of[index] == nil {
			order = append(order, index)
		}
		of[index] = append(of[index], p)
	}
	c = match(of, order)
	// Of such a layout it matters which pieces there are, not only how many.
	if l.Kind == hemera.LayoutLocal && len(c.pieces) > 0 && !c.readable {
		s := search{of: of, tries: searchMax}
		if better, ok := s.without(order, 0, len(order)-len(c.pieces)); ok {
			return better
		}
	}
	return c
}

// match takes a piece of as many of the indexes as it can, one of a disk. An index goes before those that follow it.
func match(of map[uint8][]found, order []uint8) (c content) {
	m := matching{of: of, at: map[hemera.DiskID]found{}}
	for _, index := range order {
		m.place(index, map[hemera.DiskID]bool{})
	}
	var have layout.Set
	for _, p := range m.at {
		c.pieces = append(c.pieces, p)
		have = have.With(int(p.ID.Index))
	}
	if len(c.pieces) == 0 {
		return c
	}
	slices.SortFunc(c.pieces, func(a, b found) int { return cmp.Compare(a.ID.Index, b.ID.Index) })
	s := c.about()
	c.readable = layout.Readable(s.Layout, s.FileSize, have)
	return c
}

// searchMax bounds the ways that a search tries: it is about some pieces that share disks, and never about many.
const searchMax = 1 << 12

// search looks for indexes that can be taken together and read. All largest choices leave out equally many, so it tries which ones.
type search struct {
	of    map[uint8][]found
	tries int // left
}

// without leaves out n of the indexes, at or behind from.
func (s *search) without(order []uint8, from, n int) (content, bool) {
	if n == 0 {
		s.tries--
		c := match(s.of, order)
		return c, c.readable && len(c.pieces) == len(order)
	}
	for i := from; i <= len(order)-n && s.tries > 0; i++ {
		if c, ok := s.without(slices.Delete(slices.Clone(order), i, i+1), i, n-1); ok {
			return c, true
		}
	}
	return content{}, false
}

// matching gives indexes disks.
type matching struct {
	of map[uint8][]found       // the pieces of each index
	at map[hemera.DiskID]found // what is taken of each disk
}

// place takes a piece of the index, the first of its list if that can be: what is taken of its disk is taken of another one then. It
// reports whether there is a way; seen are disks that were tried.
func (m *matching) place(index uint8, seen map[hemera.DiskID]bool) bool {
	for _, p := range m.of[index] {
		if seen[p.disk] {
			continue
		}
		seen[p.disk] = true
		other, taken := m.at[p.disk]
		if !taken || m.place(other.ID.Index, seen) {
			m.at[p.disk] = p
			return true
		}
	}
	return false
}

// newer orders pieces: those that were sealed later first. Disk and index decide between equals.
func newer(a, b found) int {
	return cmp.Or(b.Sealed.Compare(a.Sealed), cmp.Compare(a.disk, b.disk), cmp.Compare(a.ID.Index, b.ID.Index))
}

// latest returns the piece that was sealed last.
func (c *content) latest() found { return slices.MinFunc(c.pieces, newer) }

// path returns the newest path of a piece that a file can have, else the newest that a piece names. A repair writes into its
// piece where the file is by then: under a new name, in a recycle bin, or in /lost+found, where no file has its own place.
// A path of the greatest length may be the end of a longer one, and does not count.
func (c *content) path() (path string) {
	var newest found
	for _, p := range c.pieces {
		if p.Path == "" || len(p.Path) == hemera.PathMax {
			continue
		}
		good, better := namespace.Adoptable(p.Path), namespace.Adoptable(path)
		// One that can be used comes before one that is newer and cannot.
		if path == "" || good && !better || good == better && p.Sealed.After(newest.Sealed) {
			path, newest = p.Path, p
		}
	}
	return path
}

// written returns the time at which the first piece was sealed, which is the time at which the content was written:
// pieces that were moved or repaired came later.
func (c *content) written() found {
	return slices.MinFunc(c.pieces, func(a, b found) int { return a.Sealed.Compare(b.Sealed) })
}

// owner returns the newest owner and mode that a piece knows; nil if none does.
func (c *content) owner() (owner *hemera.FileOwner) {
	var newest found
	for _, p := range c.pieces {
		if p.Owner != nil && (owner == nil || p.Sealed.After(newest.Sealed)) {
			owner, newest = p.Owner, p
		}
	}
	return owner
}

// shortage says how many pieces were found.
func shortage(c content) string {
	s := c.about()
	return fmt.Sprintf("%d of the %d pieces were found that layout %s needs", len(c.pieces), layout.Needed(s.Layout, s.FileSize), s.Layout)
}

// finding returns the report about pieces of a content.
func finding(tag string, s hemera.PieceStat, pieces int, why string) adminapi.RebuildFinding {
	return adminapi.RebuildFinding{Tag: tag, File: s.ID.File, Gen: s.ID.Gen, Pieces: pieces, Path: s.Path, Why: why}
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	// Equal ones are left to the next criterion.
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
