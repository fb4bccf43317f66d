package catalogue

import (
	"context"
	"slices"

	"hemera/namespace/record"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// ReadBack notes that the files of a tape before fSeq next were read back, or count as such. It never goes back, and may be called again.
func (c *Catalogue) ReadBack(ctx context.Context, vid hemera.VID, next uint64) error {
	return c.update(ctx, func(t Txn) error {
		old, err := t.Tape(vid)
		if err != nil || old == nil || old.UnreadFSeq == 0 || next <= old.UnreadFSeq {
			return err
		}
		tape := *old
		Return(&tape, tape.UnreadFSeq)
		if tape.UnreadFSeq = next; next > tape.LastFSeq {
			tape.UnreadFSeq = 0
		}
		return t.putTape(&tape)
	})
}

// Return notes that files of a tape from fSeq on may lose their disk copies now. The note stays until [Catalogue.Returned].
func Return(tape *tapeapi.Tape, from uint64) {
	if tape.ReturnFSeq == 0 || from < tape.ReturnFSeq {
		tape.ReturnFSeq = from
	}
	tape.Returns++
}

// Returned notes that the disk copies of a tape's files were looked at, since it came back for the time that returns counts. It does nothing if the
// tape came back once more.
func (c *Catalogue) Returned(ctx context.Context, vid hemera.VID, returns uint64) error {
	return c.update(ctx, func(t Txn) error {
		old, err := t.Tape(vid)
		if err != nil || old == nil || old.ReturnFSeq == 0 || old.Returns != returns {
			return err
		}
		tape := *old
		tape.ReturnFSeq = 0
		return t.putTape(&tape)
	})
}

// Unread reports whether a copy was not read back after it was written.
func Unread(tape *tapeapi.Tape, c hemera.TapeCopy) bool {
	return tape != nil && tape.UnreadFSeq > 0 && c.FSeq >= tape.UnreadFSeq
}

// Unread reports whether a file has pieces on disks and copies on tape, and no tape copy was read back.
func (c *Catalogue) Unread(ctx context.Context, e *hemera.Entry) (unread bool, err error) {
	if len(e.Tape) == 0 || len(e.Pieces) == 0 {
		return false, nil
	}
	err = c.records.View(ctx, func(raw *record.Txn) error {
		unread = true
		for _, copied := range e.Tape {
			tape, err := txnOf(raw).Tape(copied.VID)
			if err != nil {
				return err
			}
			unread = unread && Unread(tape, copied)
		}
		return nil
	})
	return unread, err
}

// DropCopy takes a copy from a file that is on disk, as it cannot be read back, and queues it to be written again. It reports whether it did:
// a file that has another content or no disk copy keeps what it has. It may be called again.
func (c *Catalogue) DropCopy(ctx context.Context, row tapeapi.File, why string) (dropped bool, err error) {
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
		return t.queueMissing(out, c.Settings())
	})
	return dropped, err
}
