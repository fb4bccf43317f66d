package namespace

import (
	"context"

	"hemera/namespace/schema"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Evict removes all disk copies of a file that has copies on tape, in one batch, and returns how
// many bytes its disks get back. may decides within the transaction, with the file as it is then;
// its error is returned. A file on tape without disk copies is no error, so an empty one that is
// archived is none. NotFound; Conflict for one that is not on tape.
func (n *Pieces) Evict(ctx context.Context, id hemera.FileID, may func(*hemera.Entry) error) (freed int64, err error) {
	err = n.engine.update(ctx, func(t tx) error {
		freed = 0
		now, err := t.ByID(id)
		switch {
		case err != nil:
			return err
		case now != nil && now.IsDir():
			return refuse(errs.IsDirectory, "Evict", "fid:"+id.String(), "only files are on tape").
				WithRemedy("name its files, or add -r")
		case now == nil:
			return refuse(errs.NotFound, "Evict", "fid:"+id.String(), "no such file")
		case !now.OnTape() && now.Size == 0:
			return refuse(errs.Conflict, "Evict", "fid:"+id.String(), "the file is not archived, and is empty: no disk has anything of it")
		case !now.OnTape():
			return refuse(errs.Conflict, "Evict", "fid:"+id.String(), "the file is not on tape: its disk copies are all there is").
				WithRemedy("have it archived first: `hemera tape archive PATH`; `hemera tape why PATH` says when it is")
		case len(now.Pieces) == 0:
			return nil
		}
		if err := may(now); err != nil {
			return err
		}
		e := *now
		e.Pieces = nil
		t.tapes().Evicted(&e)
		parent, err := t.Parent(&e)
		if err != nil {
			return err
		}
		dirs, path, err := t.Above(parent)
		if err != nil {
			return err
		}
		freed = schema.Physical(now)
		if err := t.Adjust(dirs, hemera.TreeTotals{Physical: -freed}); err != nil {
			return err
		}
		if err := t.ledger().Charge(dirs, now, &e); err != nil {
			return err
		}
		// At once, without a hold: what they are evicted for is room, and tape has the content.
		if err := t.pieces().drop(now, now.Pieces); err != nil {
			return err
		}
		t.PutEntry(&e)
		t.pieces().indexIncomplete(now, &e)
		t.Event(hemera.Event{Kind: hemera.EventPieces, File: id, Path: path + "/" + e.Name, Bytes: e.Size})
		return nil
	})
	return freed, err
}
