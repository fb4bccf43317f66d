package maint

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// straysMax bounds the pieces of one file that a disk is asked for.
const straysMax = 64

// Strays asks every disk for pieces of one file id that the namespace does not have: those which an audit
// calls newer, moved or orphan. Disks that do not answer are left out; silent counts them.
func (ck *checker) Strays(ctx context.Context, id hemera.FileID) (found []adminapi.Stray, silent int, err error) {
	now, _, err := ck.base.Files.Resolve(ctx, id)
	if err != nil && !errors.Is(err, errs.NotFound) {
		return nil, 0, err
	}
	var mu sync.Mutex
	g := &errgroup.Group{}
	g.SetLimit(auditsAtOnce)
	for _, d := range ck.base.Cluster.View().Disks {
		g.Go(ck.base.Panics.Func("maint.Strays", about(id), func() error {
			var stats []hemera.PieceStat
			// A disk that cannot be asked counts as silent, like one that does not answer.
			err := error(errs.Unavailable)
			if d.Readable() {
				stats, err = ck.base.inventory(ctx, d, before(hemera.PieceID{File: id}), straysMax)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				silent++
			}
			for _, s := range stats {
				if s.ID.File == id && !has(now, s.ID, d.ID) {
					found = append(found, adminapi.Stray{Tag: ck.strayTag(now, d.ID, s), Disk: d.ID, Piece: s})
				}
			}
			return nil
		}))
	}
	// A disk that fails is counted, and the others' answers are still wanted: only a panic is an error here.
	if err := g.Wait(); err != nil {
		return nil, 0, err
	}
	slices.SortFunc(found, func(a, b adminapi.Stray) int {
		return cmp.Or(cmp.Compare(b.Piece.ID.Gen, a.Piece.ID.Gen), cmp.Compare(a.Piece.ID.Index, b.Piece.ID.Index), cmp.Compare(a.Disk, b.Disk))
	})
	return found, silent, ctx.Err()
}

// strayTag returns the tag by which an audit reports a piece that the namespace does not have.
func (ck *checker) strayTag(now hemera.Entry, disk hemera.DiskID, s hemera.PieceStat) string {
	switch {
	case !ck.base.Findings.NewerThanRestore(s.ID, s.Sealed):
		return tagOrphan
	case now.ID == s.ID.File && now.Gen == s.ID.Gen && now.Size == s.FileSize && !slices.ContainsFunc(now.Pieces, func(p hemera.Piece) bool { return p.Disk == disk }):
		return tagMoved
	}
	return tagNewer
}
