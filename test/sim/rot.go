package sim

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"hemera/rules/layout"
	"hemera/words/hemera"
)

// rot flips bits of some files, at places where too many pieces of a file are bad for one page, and at places where they are
// not. A file is lost if one of its pages is; any number of pieces may be bad at different pages.
func (j ruiner) rot(ctx context.Context, files map[string]hemera.Entry) {
	rng := j.w.plan.random("ruin pages")
	var touched []string
	for _, path := range slices.Sorted(maps.Keys(files)) {
		e := files[path]
		// One that lacks pieces has less to lose, and another rule would say when it is lost.
		if e.Size == 0 || len(e.Pieces) < layout.Count(e.Layout, e.Size) || rng.IntN(2) == 0 {
			continue
		}
		touched = append(touched, path)
		// One page or two: each is judged by itself.
		pages := rng.Perm(int((layout.PieceMax(e.Layout, e.Size) + hemera.PageSize - 1) / hemera.PageSize))
		for _, page := range pages[:min(len(pages), 1+rng.IntN(2))] {
			if left := j.rotPage(rng, e, int64(page)*hemera.PageSize); !layout.Readable(e.Layout, e.Size, left) {
				j.w.trace.Add("sim", "%s, fxid %s, layout %s, is lost at %d of its pieces: good are %v", path, e.ID.Hex(), e.Layout, page*hemera.PageSize, left)
				j.w.lost[e.ID] = true
			}
		}
	}
	j.judge.checkReads(ctx)
	// Reads find what they need. A check finds the rest, and repairs it.
	for _, path := range touched {
		if _, err := j.w.head.Load().Maint.CheckFile(ctx, path, true); err != nil {
			j.w.fail("file check %s: %v", path, err)
		}
	}
	if left := j.judge.mendedIn(ctx, 10*time.Minute); left != "" {
		j.w.fail("not mended in time after bits were flipped: %s", left)
	}
	j.judge.checkReads(ctx)
	j.judge.checkParity(ctx)
	j.sees(ctx)
}

// rotPage flips a bit of one page in some pieces of a file that have it. It returns the pieces that are good there.
func (j ruiner) rotPage(rng *rand.Rand, e hemera.Entry, off int64) layout.Set {
	good := layout.Indexes(e.Pieces)
	// Up to one more than it survives, and up to one fewer than that.
	most := 1 + rng.IntN(e.Layout.Losses()+2)
	for _, i := range rng.Perm(len(e.Pieces)) {
		p := e.Pieces[i]
		size := layout.PieceSize(e.Layout, e.Size, p.Index)
		// A short piece has no such page, and reads as zeros there.
		if most == 0 || off >= size {
			continue
		}
		d, _ := j.w.head.Load().Cluster.View().Disk(p.Disk)
		if j.w.drive(d).flip(rng, hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index}, off, min(hemera.PageSize, size-off)) {
			good = good.Without(int(p.Index))
			most--
		}
	}
	return good
}

// flip flips a bit in a range of a piece.
// It is false if the drive does not have the piece, or is gone.
func (d *drive) flip(rng *rand.Rand, id hemera.PieceID, off, n int64) bool {
	for _, name := range d.files() {
		if strings.HasSuffix(name, "/"+id.String()) && !strings.Contains(name, "/pending/") {
			return d.memory.Corrupt(name, off+rng.Int64N(n), 1<<rng.IntN(8)) == nil
		}
	}
	return false
}
