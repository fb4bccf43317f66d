package namespace

import (
	"errors"

	"hemera/namespace/accounts"
	"hemera/namespace/schema"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// All that moves or goes in the tree ends here: a bin, a version, a rename and a removal for good decide before. Totals above,
// accounts and locations follow in the same transaction.

// checkEmpty refuses to remove a directory with entries or limits; a file passes.
func (t tx) checkEmpty(op, path string, e *hemera.Entry) error {
	if !e.IsDir() {
		return nil
	}
	// The totals are exact, so nothing has to be listed to know that a directory is empty.
	s, err := t.Directory(e.ID)
	if err != nil {
		return err
	}
	if s.Tree != (hemera.TreeTotals{}) {
		return refuse(errs.NotEmpty, op, path, "the directory still has entries")
	}
	return refuseQuotaNode(op, path, e)
}

// unlink takes the found entry out of the tree for good, with everything that follows from it. A directory must be empty.
func (t tx) unlink(op, path string, f found) error {
	e := f.entry
	if err := t.checkEmpty(op, path, e); err != nil {
		return err
	}
	delta, err := t.Weight(e)
	if err != nil {
		return err
	}
	if e.IsDir() {
		t.Remove(schema.IDKey(schema.TableDirectory, e.ID))
	} else {
		if err := errors.Join(t.pieces().replace(e), t.tapes().RetireContent(e, path, "removed"), t.ledger().Charge(f.dirs, e, nil)); err != nil {
			return err
		}
		t.writes().addTombstone(e)
	}
	if schema.Incomplete(e) {
		t.Remove(schema.IDKey(schema.TableIncomplete, e.ID))
	}
	t.Remove(schema.EntryKey(e.Parent, e.Name))
	t.Remove(schema.IDKey(schema.TableLocation, e.ID))
	return t.Relist(f.dirs, delta.Negate())
}

// move gives the entry its new parent and name. depth is the number of directories above one another below it. The
// totals of directories above both places stay as they are.
func (t tx) move(f, target found, depth int64) error { return t.moveBy("Rename", f, target, depth) }

// moveBy does what move does, for an operation that is not a rename: errors name the operation.
func (t tx) moveBy(op string, f, target found, depth int64) error {
	if err := t.ledger().ChargeMove(accounts.Move{Entry: f.entry, From: f.dirs, To: target.dirs, Op: op}); err != nil {
		return err
	}
	return t.relocate(f, target, depth)
}

// above returns the number of directories above both places.
func above(a, b []*hemera.Entry) (same int) {
	for same < len(a) && same < len(b) && a[same].ID == b[same].ID {
		same++
	}
	return same
}

// relocate does what move does, after the charge.
func (t tx) relocate(f, target found, depth int64) error {
	delta, err := t.Weight(f.entry)
	if err != nil {
		return err
	}
	same := above(f.dirs, target.dirs)
	if err := t.Adjust(f.dirs[same:], delta.Negate()); err != nil {
		return err
	}
	if err := t.Adjust(target.dirs[same:], delta); err != nil {
		return err
	}
	if f.entry.IsDir() {
		if err := t.Deepen(target.dirs, depth); err != nil {
			return err
		}
	}
	// The id stays, so open files, capabilities and pieces are not concerned.
	e := *f.entry
	t.Remove(schema.EntryKey(e.Parent, e.Name))
	e.Parent, e.Name, e.Ctime = target.parent().ID, target.name, t.Now()
	t.PutEntry(&e)
	t.PutLocation(&e)
	if err := t.Touch(f.parent().ID); err != nil {
		return err
	}
	return t.Touch(e.Parent)
}

// refuseQuotaNode refuses to remove a directory that has limits: they would be gone unseen, with whatever
// they were to protect.
func refuseQuotaNode(op, path string, e *hemera.Entry) error {
	if !e.Quota {
		return nil
	}
	return errs.New(errs.Denied, "namespace."+op, path, "the directory is a quota node").
		WithRemedy("remove its limits first: `hemera quota rmnode -p " + path + "`")
}
