package namespace

import (
	"hemera/namespace/accounts"
	"hemera/words/hemera"
)

// commitTo stores the entry and everything that follows from it. old is what the entry replaces, nil for a new
// file.
func (t commitTx) commitTo(parent, old, e *hemera.Entry, c *Commit) (*hemera.Entry, error) {
	if e.Mtime.IsZero() {
		e.Mtime = t.Now()
	}
	// The directories above now, not at the open: the file counts where it is.
	dirs, path, err := t.Above(parent)
	if err != nil {
		return nil, err
	}
	if dirs[0].ID != hemera.RootID {
		return nil, conflict(c, "the file or its directory was removed meanwhile, and is in a recycle bin")
	}
	// A conversion claimed nothing, so it has to leave room for all claims, as a rename has.
	if c.Claim != 0 && !c.Convert && accounts.Limited(dirs) {
		t.work.settles = accounts.Settlement{Claim: c.Claim, Promised: e.Size <= c.Promised}
	}
	if err := t.onTape(old, e, c, dirs, path); err != nil {
		return nil, err
	}
	if err := checkXattrs("Commit", e.Name, e.Xattrs); err != nil {
		return nil, err
	}
	delta, _ := t.Weight(e) // of a file: no error
	// A new file changes the list of names of its directory, a new content only the sums.
	adjust := t.Relist
	if old != nil {
		before, _ := t.Weight(old)
		delta, adjust = delta.Add(before.Negate()), t.Adjust
	}
	if err := adjust(dirs, delta); err != nil {
		return nil, err
	}
	ledger := c.ledger(t)
	ledger.Judge.Named("Commit", e.Name)
	if err := ledger.Charge(dirs, old, e); err != nil {
		return nil, err
	}
	if err := pieceTx(t).add(e, e.Pieces); err != nil {
		return nil, err
	}
	t.PutEntry(e)
	pieceTx(t).indexIncomplete(old, e)
	t.Event(hemera.Event{Kind: hemera.EventCommit, File: e.ID, Path: path + "/" + e.Name, Who: c.Who, Bytes: e.Size})
	return e, nil
}

// ledger returns the quota accounts for the content of the commit. One that is not a user's is charged, and not refused.
func (c *Commit) ledger(t commitTx) accounts.Ledger {
	l := tx(t).ledger()
	if c.Claim == 0 {
		l.Judge = nil
	}
	return l
}

// onTape keeps what follows from a commit for tapes: a new content is queued where its directories ask for that, what was replaced is dead on
// its tapes, and a conversion of a file that is on tape only has brought it back.
func (t commitTx) onTape(old, e *hemera.Entry, c *Commit, dirs []*hemera.Entry, path string) error {
	if c.Convert {
		if old != nil && old.Evicted() {
			return tx(t).tapes().Arrived(e)
		}
		return nil
	}
	if old != nil {
		if err := tx(t).tapes().RetireContent(old, path+"/"+old.Name, "replaced"); err != nil {
			return err
		}
	}
	return tx(t).tapes().Enlist(e, dirs, t.memory.tapes.Settings())
}

// commitTx is a commit within one transaction.
type commitTx tx
