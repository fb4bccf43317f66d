package maint

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hemera/words/hemera"
)

// disagree compares whole lists without windows: it is the oracle.
func disagree(entries []hemera.Entry, stats []hemera.PieceStat) map[string]bool {
	found := map[string]bool{}
	for _, e := range entries {
		for _, p := range e.Pieces {
			if p.Disk != 1 {
				continue
			}
			id := hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index}
			i := slices.IndexFunc(stats, func(s hemera.PieceStat) bool { return s.ID == id })
			switch {
			case i < 0:
				found[tagMissing+id.String()] = true
			case stats[i].FileSize != e.Size:
				found[tagSize+id.String()] = true
			case stats[i].Kept:
				found[tagKept+id.String()] = true
			}
		}
	}
	for _, s := range stats {
		if !slices.ContainsFunc(entries, func(e hemera.Entry) bool { return has(e, s.ID, 1) }) {
			found[tagOrphan+s.ID.String()] = true
		}
	}
	return found
}

func comparePieces(a, b hemera.PieceID) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Gen, b.Gen), cmp.Compare(a.Index, b.Index))
}

// windows compares page by page, as the auditor does.
func windows(t *testing.T, entries []hemera.Entry, stats []hemera.PieceStat, limit int) map[string]bool {
	found := map[string]bool{}
	var lo hemera.FileID
	for rounds := 0; ; rounds++ {
		if rounds > len(entries)+len(stats)+1 {
			t.Fatal("the windows do not move on")
		}
		after := hemera.PieceID{File: lo, Gen: math.MaxUint64, Index: math.MaxUint8}
		var pieces []hemera.PieceStat
		for _, s := range stats {
			if comparePieces(s.ID, after) > 0 && len(pieces) < limit {
				pieces = append(pieces, s)
			}
		}
		var files []hemera.Entry
		for _, e := range entries {
			if e.ID > lo && len(files) < limit {
				files = append(files, e)
			}
		}
		w := align(lo, files, pieces, limit)
		for _, f := range compare(1, w) {
			key := f.tag + f.piece.String()
			if found[key] {
				t.Fatalf("%s found twice", key)
			}
			found[key] = true
		}
		if w.last {
			return found
		}
		lo = w.hi
	}
}

func TestWindowsAgainstWholeLists(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for round := range 2000 {
		var entries []hemera.Entry
		var stats []hemera.PieceStat
		for id := range hemera.FileID(1 + r.IntN(20)) {
			e := hemera.Entry{ID: id + 1, Gen: hemera.Generation(1 + r.IntN(3)), Size: 10, Pieces: []hemera.Piece{{Index: 0, Disk: 1}, {Index: 1, Disk: 2}}}
			if r.IntN(4) > 0 {
				entries = append(entries, e)
			}
			for gen := range hemera.Generation(4) {
				if gen == e.Gen && r.IntN(5) > 0 || r.IntN(8) == 0 {
					stats = append(stats, hemera.PieceStat{ID: hemera.PieceID{File: e.ID, Gen: gen}, FileSize: int64(10 + r.IntN(8)/7), Kept: r.IntN(6) == 0})
				}
			}
		}
		// A window must hold all generations that a disk may have of one file.
		limit := 5 + r.IntN(5)
		want, got := disagree(entries, stats), windows(t, entries, stats, limit)
		if !maps.Equal(want, got) {
			t.Fatalf("round %d, pages of %d: got %v, want %v", round, limit, got, want)
		}
	}
}

// TestAPieceOfAFileThatSaysKeptIsBad: it is made again, so that a rebuild knows that it was committed.
func TestAPieceOfAFileThatSaysKeptIsBad(t *testing.T) {
	e := hemera.Entry{ID: 1, Gen: 1, Size: 10, Layout: hemera.Replica(2)}
	s := hemera.PieceStat{ID: hemera.PieceID{File: 1, Gen: 1}, FileSize: 10, Size: 10}
	if why := judgeFooter(e, s); why != "" {
		t.Error(why)
	}
	s.Kept = true
	if why := judgeFooter(e, s); why == "" {
		t.Error("it is good")
	}
}

func TestBefore(t *testing.T) {
	for _, p := range []hemera.PieceID{{File: 5, Gen: 3, Index: 2}, {File: 5, Gen: 3}, {File: 5}} {
		if b := before(p); comparePieces(b, p) >= 0 {
			t.Errorf("%v is not before %v", b, p)
		}
	}
	if b := before(hemera.PieceID{File: 5, Gen: 3}); b != (hemera.PieceID{File: 5, Gen: 2, Index: 255}) {
		t.Error(b)
	}
}

func TestJudge(t *testing.T) {
	sum := func(b byte) hemera.Checksum {
		c, _ := hemera.MakeChecksum(hemera.Adler32, []byte{0, 0, 0, b})
		return c
	}
	e := hemera.Entry{Size: 10, Checksums: []hemera.Checksum{sum(1)}, Layout: hemera.ReedSolomon(2, 1)}
	footer := func(index uint8, size int64, sums ...hemera.Checksum) hemera.OrderResult {
		return hemera.OrderResult{Pieces: []hemera.PieceStat{{ID: hemera.PieceID{Index: index}, Size: size, FileSize: 10, Checksums: sums}}}
	}
	for i, c := range []struct {
		r    hemera.OrderResult
		good bool
	}{
		{footer(2, 10, sum(1)), true},
		{footer(2, 10), true},
		{footer(2, 10, sum(2)), false}, // another content's
		{footer(2, 9, sum(1)), false},
		{footer(1, 10, sum(1)), false}, // the file has no such piece
		{hemera.OrderResult{}, true},
		{hemera.OrderResult{Checksums: []hemera.Checksum{sum(1)}, Pieces: []hemera.PieceStat{{Size: 10, FileSize: 10}}}, true},
		{hemera.OrderResult{Checksums: []hemera.Checksum{sum(2)}}, false},
		{hemera.OrderResult{Pieces: []hemera.PieceStat{{FileSize: 9}}}, false},
		{hemera.OrderResult{BadPages: 1}, false},
	} {
		if why := judge(e, c.r); (why == "") != c.good {
			t.Errorf("%d: %q", i, why)
		}
	}
}

func FuzzAlign(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 4, 4, 4, 4, 9}, uint8(3))
	f.Fuzz(func(t *testing.T, files []byte, limit uint8) {
		if len(files) > 64 || limit < 6 {
			return
		}
		slices.Sort(files)
		var entries []hemera.Entry
		var stats []hemera.PieceStat
		seen := map[byte]hemera.Generation{}
		for _, b := range files {
			if b == 0 || seen[b] >= 4 {
				continue
			}
			seen[b]++
			stats = append(stats, hemera.PieceStat{ID: hemera.PieceID{File: hemera.FileID(b), Gen: seen[b]}})
			if seen[b] == 1 && b%3 != 0 {
				entries = append(entries, hemera.Entry{ID: hemera.FileID(b), Gen: 1, Pieces: []hemera.Piece{{Disk: 1}}})
			}
		}
		if got, want := windows(t, entries, stats, int(limit)), disagree(entries, stats); !maps.Equal(got, want) {
			t.Fatal(fmt.Sprint(got, want))
		}
	})
}
