package tapes

import (
	"context"
	"slices"

	"hemera"
)

// ReadBack notes that the files of a tape before fSeq next were read back, or count as such. It never goes back, and may be called again.
func (c *Catalogue) ReadBack(ctx context.Context, vid string, next uint64) error {
	return c.update(ctx, func(t Txn) error {
		old, err := t.Tape(vid)
		if err != nil || old == nil || old.UnreadFSeq == 0 || next <= old.UnreadFSeq {
			return err
		}
		tape := *old
		if tape.UnreadFSeq = next; next > tape.LastFSeq {
			tape.UnreadFSeq = 0
		}
		t.putTape(&tape)
		return nil
	})
}

// DropCopy takes a copy from a file that is on disk, as it cannot be read back, and queues it to be written again. It reports whether it did:
// a file that has another content or no disk copy keeps what it has. It may be called again.
func (c *Catalogue) DropCopy(ctx context.Context, row hemera.TapeFile, why string) (dropped bool, err error) {
	err = c.update(ctx, func(t Txn) error {
		dropped = false
		e, err := t.fileOf(row.File, row.ArchiveID)
		if err != nil || e == nil || len(e.Pieces) == 0 {
			return err
		}
		at := slices.Index(e.Tape, row.TapeCopy)
		if at < 0 {
			return nil
		}
		if err := t.bury(e, row.TapeCopy, "", why); err != nil {
			return err
		}
		out := attributed(e, map[string]string{hemera.AttrArchiveError: short(why)})
		out.Tape = slices.Delete(slices.Clone(e.Tape), at, at+1) // readers share the old slice
		t.PutEntry(out)
		dropped = true
		return t.queueMissing(out, c.Rules())
	})
	return dropped, err
}
