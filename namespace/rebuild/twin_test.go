package rebuild

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hemera/rules/layout"
	"hemera/words/hemera"
)

// twin says slowly and obviously what choose is to find: every way to take pieces of one content is looked at.
type twin []found

// contents splits the pieces by what they say of the file. What all of them say is kept is none.
func (t twin) contents() (list []twin) {
	for _, p := range t {
		if p.Layout.Validate() != nil {
			continue
		}
		said := func(p found) string { return fmt.Sprint(p.ID.File, p.ID.Gen, p.Layout, p.FileSize, p.Checksums) }
		i := slices.IndexFunc(list, func(c twin) bool { return said(c[0]) == said(p) })
		if i < 0 {
			list, i = append(list, nil), len(list)
		}
		list[i] = append(list[i], p)
	}
	return slices.DeleteFunc(list, func(c twin) bool {
		return !slices.ContainsFunc(c, func(p found) bool { return !p.Kept })
	})
}

// sets returns all ways to take pieces that can be those of a file: each index once, each disk once, each of the right size.
func (t twin) sets() (all []twin) {
	for bits := 1; bits < 1<<len(t); bits++ {
		var set twin
		good := true
		for i, p := range t {
			if bits>>i&1 == 0 {
				continue
			}
			good = good && p.ID.Index < p.Layout.Pieces && p.Size == layout.PieceSize(p.Layout, p.FileSize, p.ID.Index) &&
				(!p.Layout.Coded() || layout.Stored(p.Layout, p.FileSize, p.ID.Index)) &&
				!slices.ContainsFunc(set, func(o found) bool { return o.disk == p.disk || o.ID.Index == p.ID.Index })
			set = append(set, p)
		}
		if good {
			all = append(all, set)
		}
	}
	return all
}

// readable reports whether the pieces are enough.
func (t twin) readable() bool {
	var have layout.Set
	for _, p := range t {
		have = have.With(int(p.ID.Index))
	}
	return layout.Readable(t[0].Layout, t[0].FileSize, have)
}

// best returns the generation that the file gets, whether it can be read, and how many pieces the best content of it has; 0 if there is none.
func (t twin) best() (gen hemera.Generation, readable bool, pieces int) {
	for _, c := range t.contents() {
		for _, set := range c.sets() {
			g, r, n := set[0].ID.Gen, set.readable(), len(set)
			better := r && !readable || r == readable && (g > gen || g == gen && n > pieces)
			if better {
				gen, readable, pieces = g, r, n
			}
		}
	}
	return gen, readable, pieces
}

// randomPieces returns pieces of one file as disks may have them after any history: of several contents, complete or not, moved and copied, with
// sizes and checksums that disagree.
func randomPieces(r *rand.Rand) (pieces []found) {
	layouts := []hemera.Layout{hemera.Replica(2), hemera.Replica(3), hemera.ReedSolomon(2, 1), hemera.ReedSolomon(3, 2), hemera.Local(2, 2, 1), hemera.Local(4, 2, 1)}
	l := layouts[r.IntN(len(layouts))]
	kept := hemera.Generation(r.IntN(8)) // all of its pieces are marked, or all but those that could not be reached
	reached := 2 + r.IntN(20)
	for range 1 + r.IntN(8) {
		p := piece(1+r.IntN(4), 5, 1+r.IntN(3), r.IntN(int(l.Pieces)), r.IntN(5), "/f")
		p.Layout, p.FileSize = l, 3<<20
		if p.ID.Gen == 3 && r.IntN(2) == 0 { // converted
			p.Layout = layouts[r.IntN(len(layouts))]
		}
		switch r.IntN(12) {
		case 0:
			p.FileSize = 2 << 20
		case 1:
			p.Checksums = []hemera.Checksum{{Kind: hemera.Adler32}}
		case 2:
			p.Layout.Kind = 14
		case 3: // two of its columns have no bytes
			p.FileSize = 100
		}
		if p.Layout.Kind != 14 {
			p.Size = layout.PieceSize(p.Layout, p.FileSize, p.ID.Index)
		}
		if r.IntN(12) == 0 {
			p.Size++
		}
		p.Kept = p.ID.Gen == kept && r.IntN(reached) > 0
		// A disk has one piece of an id.
		if !slices.ContainsFunc(pieces, func(o found) bool { return o.disk == p.disk && o.ID == p.ID }) {
			pieces = append(pieces, p)
		}
	}
	return pieces
}

// TestChooseLikeItsTwin: of random pieces the newest content that can be read is taken, with as many pieces as can be had, in whatever order
// disks name them. What a lost disk had, and what a node keeps, is not there to be chosen.
func TestChooseLikeItsTwin(t *testing.T) {
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		pieces := randomPieces(r)
		if lost := hemera.DiskID(r.IntN(6)); lost > 0 { // 5 is none of them
			pieces = slices.DeleteFunc(pieces, func(p found) bool { return p.disk == lost })
		}
		if kept := hemera.Generation(r.IntN(6)); kept > 0 {
			pieces = slices.DeleteFunc(pieces, func(p found) bool { return p.ID.Gen == kept })
		}
		gen, readable, count := twin(pieces).best()
		got, _, ok := choose(pieces)
		if ok != (gen > 0) {
			t.Fatalf("seed %d: a content is found: %t, its twin finds generation %d of %+v", seed, ok, gen, pieces)
		}
		if !ok {
			continue
		}
		if got.about().ID.Gen != gen || got.readable != readable || len(got.pieces) != count {
			t.Fatalf("seed %d: generation %d, readable %t, %d pieces; its twin has %d, %t, %d of %+v", seed, got.about().ID.Gen, got.readable, len(got.pieces), gen, readable, count, pieces)
		}
		for i := range got.pieces { // they count if another one says that it was committed
			got.pieces[i].Kept = false
		}
		if len(twin(got.pieces).contents()) != 1 || !slices.ContainsFunc(twin(got.pieces).sets(), func(s twin) bool { return len(s) == count }) {
			t.Fatalf("seed %d: the pieces are not those of a file: %+v", seed, got.pieces)
		}
		r.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		if again, _, _ := choose(pieces); !slices.EqualFunc(again.pieces, got.pieces, func(a, b found) bool { return a.disk == b.disk && a.ID == b.ID }) {
			t.Fatalf("seed %d: in another order %+v, not %+v", seed, again.pieces, got.pieces)
		}
	}
}
