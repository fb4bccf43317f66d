package maint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hemera/maint/move"
	"hemera/rules/layout"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// explainFiles bounds the files of a disk that an explanation reads to find what delays the disk's job.
const explainFiles = 256

// Hold is one reason why pieces of a disk are still there.
type Hold struct {
	Text, Remedy string        // as of a adminapi.Reason
	Files        int           // of those looked at
	Example      hemera.FileID // the first of them
}

// explainer says why work on a file or a disk is not done yet.
type explainer struct {
	base      *base
	piecer    *pieceRepairer
	drainer   *drainer
	converter *converter
}

// FoundBad reports whether a piece of the file was found bad, and waits to be judged or repaired, or is being.
func (ex *explainer) FoundBad(e hemera.Entry, p hemera.Piece) bool {
	return ex.piecer.queued(hemera.BadPiece{Disk: p.Disk, Piece: hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index}})
}

// Explain says what becomes of the pieces that the file lacks, and what could be done. They are made one
// after the other, so what stands in the way of the first stands in the way of all.
func (ex *explainer) Explain(entry hemera.Entry) []adminapi.Reason {
	lacks := layout.Missing(entry.Layout, entry.Size, entry.Pieces)
	if len(lacks) == 0 {
		return nil
	}
	text, remedy := ex.explain(entry, move.Spec{Index: lacks[0]})
	about := fmt.Sprintf("piece %d", lacks[0])
	if last := lacks[len(lacks)-1]; last != lacks[0] {
		about = fmt.Sprintf("pieces %d to %d", lacks[0], last)
	}
	return []adminapi.Reason{{About: about, Text: "missing: " + text, Remedy: remedy}}
}

// explain decides a relocation as it would be decided now, and says what stands in its way.
func (ex *explainer) explain(entry hemera.Entry, w move.Spec) (text, remedy string) {
	if ex.base.mover.FileLocked(entry.ID) {
		return "a piece of the file is being copied now", ""
	}
	w.Seed = uint64(entry.ID) // any: the answer says whether there is a disk, the real move may choose another
	m, err := move.NewPlan(ex.base.Cluster.View(), entry, w)
	var failed *errs.Error
	switch {
	case errors.As(err, &failed):
		return "it cannot be made now: " + failed.Text, failed.Remedy
	case err != nil:
		return "it cannot be made now: " + errs.Reason(err, ""), ""
	}
	now := ex.base.Now()
	id := hemera.PieceID{File: entry.ID, Gen: entry.Gen, Index: w.Index}
	if b, held := ex.base.setbacks.holds(id, readable(ex.base.Cluster.View(), entry), now); held {
		return fmt.Sprintf("it could not be made: %s; it is tried again in %s, and when a disk with another piece comes back",
			errs.Reason(b.err, ""), b.again.Sub(now).Round(time.Second)), ""
	}
	if copies, full := ex.base.mover.Busy(); copies > 0 {
		return fmt.Sprintf("it waits for its turn: %d copies are under way, and %d disks have as many as they take", copies, full), ""
	}
	return fmt.Sprintf("it is to be made on disk %d within seconds", m.Add.Disk), ""
}

// Holds says why the first pieces of a disk that is to be emptied are still there.
func (ex *explainer) Holds(ctx context.Context, disk hemera.DiskID) (holds []Hold, err error) {
	entries, err := ex.base.Files.DiskFiles(ctx, disk, 0, explainFiles)
	if err != nil {
		return nil, errs.Wrap(err, "maint.Explain", "disk "+disk.String())
	}
	wait := ex.drainer.waits(disk)
	for _, entry := range entries {
		for _, p := range entry.Pieces {
			if p.Disk != disk {
				continue
			}
			text, remedy := fmt.Sprintf("it is made elsewhere if the disk is still away in %s", wait.Round(time.Second)), "hemera fs set "+disk.String()+" drain has it made now"
			if wait == 0 {
				text, remedy = ex.explain(entry, move.Spec{Index: p.Index, Drop: []hemera.Piece{p}})
			}
			// Reasons are few, so they are compared one by one.
			at := -1
			for i := range holds {
				if holds[i].Text == text {
					at = i
				}
			}
			if at < 0 {
				at, holds = len(holds), append(holds, Hold{Text: text, Remedy: remedy, Example: entry.ID})
			}
			holds[at].Files++
		}
	}
	return holds, nil
}
