package maint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"hemera/maint/move"
	"hemera/rules/layout"
	"hemera/rules/place"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// checker verifies what disks have of one file, for an admin who waits for the answer.
type checker struct {
	base   *base
	broken *broken
	piecer *pieceRepairer // repairs what stays bad
}

// Check has every piece of a file read and verified. With repair, bad pages are rewritten from good
// pieces, and pieces that are missing or wrong are made again elsewhere. What is bad afterwards waits for repair, and is known to all who ask, like
// any piece that a read or a scrub found bad.
func (ck *checker) Check(ctx context.Context, entry hemera.Entry, repair bool) ([]adminapi.PieceCheck, error) {
	view := ck.base.Cluster.View()
	checks := make([]adminapi.PieceCheck, len(entry.Pieces))
	var wg sync.WaitGroup
	for i, p := range entry.Pieces {
		// A file has at most PiecesMax pieces, all on different disks, so they are read at the same time.
		ck.base.Panics.Go(&wg, "maint.Check", about(entry.ID), func() {
			checks[i] = adminapi.PieceCheck{Piece: p, Error: "it was not checked, by a defect of the program"}
			checks[i] = ck.verify(ctx, view, entry, p)
		})
	}
	wg.Wait()
	if repair {
		ck.repairAll(ctx, entry, checks)
	}
	for _, c := range checks {
		// No read may come soon. If nothing good is left for it, the file counts as lost from then on.
		if !c.OK && !c.Repaired && !c.Offline {
			ck.piecer.repairSoon(pieceOn(entry, c.Piece))
		}
	}
	return checks, ctx.Err()
}

// repairAll repairs what the checks found bad, and notes in them what became of it.
func (ck *checker) repairAll(ctx context.Context, entry hemera.Entry, checks []adminapi.PieceCheck) {
	// All that failed are known before the first is repaired, so that no new piece is made from another bad one.
	var bad []hemera.DiskID
	for _, c := range checks {
		if !c.OK {
			bad = append(bad, c.Piece.Disk)
		}
	}
	// One after the other: each changes where the file's pieces are, and a file is relocated once at a time.
	// Those with bad pages come first: once they are good, the others can be made from them too.
	for _, pages := range []bool{true, false} {
		for i, c := range checks {
			if c.OK || (c.BadPages > 0) != pages {
				continue
			}
			if checks[i] = ck.repair(ctx, entry, c, bad); checks[i].OK {
				bad = slices.DeleteFunc(bad, func(d hemera.DiskID) bool { return d == c.Piece.Disk })
			}
		}
	}
}

// verify has the node of a piece read and check all of it. It reports failures in the result and returns none.
func (ck *checker) verify(ctx context.Context, view *hemera.View, entry hemera.Entry, p hemera.Piece) adminapi.PieceCheck {
	c := adminapi.PieceCheck{Piece: p}
	d, ok := view.Disk(p.Disk)
	n, _ := view.Node(d.Node)
	c.Host = n.Host()
	if !ok || !d.Readable() || n.Status != hemera.NodeOnline {
		c.Error, c.Offline = place.Unreadable(view, []hemera.Piece{p}, nil), true
		return c
	}
	order := hemera.Order{
		Kind: hemera.OrderVerify, Disk: p.Disk, Piece: hemera.PieceID{File: entry.ID, Gen: entry.Gen, Index: p.Index},
	}
	// A piece of a striped layout has not the whole content, so its node cannot compute the file's checksum.
	if len(entry.Checksums) > 0 && entry.Layout.Data <= 1 {
		order.Checksum = entry.Checksums[0].Kind
	}
	r, err := ck.base.Orders.Do(ctx, d.Node, order)
	c.Checksums, c.BadPages = r.Checksums, r.BadPages
	if len(r.Pieces) > 0 {
		c.Size = r.Pieces[0].Size
	}
	if err != nil {
		// A node that cannot be asked proves nothing about the piece: it is offline and not bad.
		c.Error, c.Offline = errs.Reason(err, ""), errors.Is(err, errs.Unavailable)
		return c
	}
	c.Error = judge(entry, r)
	if c.OK = c.Error == ""; c.OK {
		// Every page was read and is good, so an older finding is outdated.
		ck.broken.setBroken(ctx, pieceOn(entry, p), false)
	}
	return c
}

// judge says what is wrong with a verified piece, or "".
func judge(entry hemera.Entry, r hemera.OrderResult) string {
	if r.BadPages > 0 {
		return fmt.Sprintf("%d pages do not match their checksums", r.BadPages)
	}
	if len(r.Pieces) > 0 {
		if why := judgeFooter(entry, r.Pieces[0]); why != "" {
			return why
		}
	}
	for _, sum := range r.Checksums {
		// Pages can agree with their own checksums and be another content's: only the file's checksum shows that.
		if want, ok := hemera.FindChecksum(entry.Checksums, sum.Kind); ok && want != sum {
			return fmt.Sprintf("the content's checksum is %s, the file's %s", sum, want)
		}
	}
	return ""
}

// judgeFooter says what a piece's footer says otherwise than the namespace, or "". Of a piece of a coded file nothing else tells
// that it is another content's.
func judgeFooter(entry hemera.Entry, s hemera.PieceStat) string {
	if s.FileSize != entry.Size {
		return fmt.Sprintf("the piece is of a file of %d bytes, the file has %d", s.FileSize, entry.Size)
	}
	if want := layout.PieceSize(entry.Layout, entry.Size, s.ID.Index); s.Size != want {
		return fmt.Sprintf("the piece has %d bytes, it should have %d", s.Size, want)
	}
	if s.Kept {
		return "the piece says that it is kept for a person, and the file was committed"
	}
	for _, sum := range s.Checksums {
		if want, ok := hemera.FindChecksum(entry.Checksums, sum.Kind); ok && want != sum {
			return fmt.Sprintf("the piece is of a content with %s, the file has %s", sum, want)
		}
	}
	return ""
}

// repair makes one bad piece good: in place when only pages are bad, else by a new one elsewhere, or again in place if
// there is no other disk for it.
func (ck *checker) repair(ctx context.Context, entry hemera.Entry, c adminapi.PieceCheck, bad []hemera.DiskID) adminapi.PieceCheck {
	if c.BadPages > 0 {
		if again, ok := ck.inPlace(ctx, entry, c); ok {
			return again
		}
	}
	_, err := ck.base.mover.Relocate(ctx, entry, move.Spec{Index: c.Piece.Index, Drop: []hemera.Piece{c.Piece}, Avoid: bad})
	if errors.Is(err, errs.NoSpace) && !c.Offline && c.BadPages == 0 {
		if again, ok := ck.inPlace(ctx, entry, c); ok {
			return again
		}
	}
	c.Repaired = err == nil
	if err != nil {
		c.Error += "; not repaired: " + errs.Reason(err, "")
	}
	return c
}

// inPlace has the piece's own node make it good, and verifies it again: the answer to the admin is what is on the disk now.
func (ck *checker) inPlace(ctx context.Context, entry hemera.Entry, c adminapi.PieceCheck) (adminapi.PieceCheck, bool) {
	view := ck.base.Cluster.View()
	// The others may be bad too, at other pages: what is read of them is verified.
	others := slices.DeleteFunc(slices.Clone(entry.Pieces), func(p hemera.Piece) bool { return p == c.Piece })
	m := move.Plan{Entry: entry, Sources: place.Order(view, others, "", nil, 0), Add: hemera.Target{Index: c.Piece.Index, Disk: c.Piece.Disk, Node: nodeOf(view, c.Piece.Disk)}}
	if ck.rewrite(ctx, view, m) != nil {
		return c, false
	}
	again := ck.verify(ctx, view, entry, c.Piece)
	again.Repaired = again.OK
	return again, again.OK
}

// nodeOf returns the node that has the disk, or zero.
func nodeOf(view *hemera.View, id hemera.DiskID) hemera.NodeID {
	d, _ := view.Disk(id)
	return d.Node
}

// rewrite has the piece's own node repair its bad pages.
func (ck *checker) rewrite(ctx context.Context, view *hemera.View, m move.Plan) error {
	d, _ := view.Disk(m.Add.Disk)
	if len(m.Sources) == 0 {
		return errs.New(errs.NoReplicas, "maint.Repair", "fxid:"+m.Entry.ID.Hex(), "no good piece can be read")
	}
	order, err := ck.base.mover.CopyOrder(m)
	if err != nil {
		return err
	}
	order.Kind = hemera.OrderRepair
	_, err = ck.base.Orders.Do(ctx, d.Node, order)
	return err
}
