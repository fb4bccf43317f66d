package tier

import (
	"context"

	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// recalls queues what brings files to disk.
type recalls struct {
	env       *env
	settings  *settings
	libraries *libraries
}

// chooseCopy picks the copy of a file to read: on a tape that may be
// mounted and is in a library, the lowest number; else one whose tape may
// come back. errs.IO when no tape can be read: the file exists.
func (t *recalls) chooseCopy(known map[hemera.VID]tapeapi.Tape, not map[uint8]bool) func(e *hemera.Entry) (hemera.TapeCopy, error) {
	return func(e *hemera.Entry) (hemera.TapeCopy, error) {
		now := t.libraries.now()
		var best hemera.TapeCopy
		rank := 0
		for _, c := range e.Tape {
			is := 1
			// 0: not at all; 1: when it is repaired; 2: when it is in a library;
			// 3: now.
			switch tape := known[c.VID]; {
			case not[c.Number]:
				is = 0
			case tape.State == tapeapi.Broken || tape.State == tapeapi.Exported || tape.State == "":
				is = 0
			case (tape.State == tapeapi.Active || tape.State == tapeapi.Repacking) && now.libraryOf(c.VID) != nil:
				is = 3
			case tape.State == tapeapi.Active:
				is = 2
			}
			if is > rank {
				best, rank = c, is
			}
		}
		if rank == 0 {
			why, remedy := (&Shelf{tapes: known}).Trouble(e)
			return best, errs.New(errs.IO, "tier.Recall", "fxid:"+e.ID.Hex(), "no tape with a copy of the file can be read: "+why).WithRemedy(remedy)
		}
		return best, nil
	}
}

// otherCopy finds another copy to read for a recall, nil when there is
// none.
func (t *recalls) otherCopy(ctx context.Context, k tapeapi.JobKey) *hemera.TapeCopy {
	e, _, err := t.env.Tree.Resolve(ctx, k.File)
	if err != nil || len(e.Tape) < 2 {
		return nil
	}
	known, err := t.env.knownTapes(ctx)
	if err != nil {
		return nil
	}
	c, err := t.chooseCopy(known, map[uint8]bool{k.Copy: true})(&e)
	if err != nil {
		return nil
	}
	return &c
}

// recall queues the recall of one file, which no request names.
func (t *recalls) recall(ctx context.Context, e hemera.Entry, uid uint32, groups []uint32) (hemera.Entry, error) {
	known, err := t.env.knownTapes(ctx)
	if err != nil {
		return e, err
	}
	e, err = t.recallFrom(ctx, known, catalogue.RecallRequest{File: e.ID, UID: uid, Groups: groups})
	if err == nil {
		t.env.wake.ring()
	}
	return e, err
}

// recallFrom queues the recall of one file from one of the tapes. It wakes
// no drive: a caller with many files does that once.
func (t *recalls) recallFrom(ctx context.Context, known map[hemera.VID]tapeapi.Tape, r catalogue.RecallRequest) (hemera.Entry, error) {
	r.Choose, r.Sooner = t.chooseCopy(known, nil), policies{t.settings.now()}.sooner
	return t.env.catalogue.Recall(ctx, r)
}
