package accounts

import (
	"slices"

	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/namespace/tables"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Ledger is the accounts within one transaction. In its methods dirs are always the directories from the root down
// to the one that a file is in. Which of them are quota nodes is in their entries, which the caller has read
// anyway.
//
// What Judge gathers is judged by [Ledger.Decide]. Without a Judge usage is kept and nothing is refused: so a repair charges the
// pieces that it makes.
type Ledger struct {
	tables.Txn
	Judge *Judge
}

// Limited reports whether any of the directories is a quota node. Without one, nothing is charged or limited.
func Limited(dirs []*hemera.Entry) bool {
	return slices.ContainsFunc(dirs, func(dir *hemera.Entry) bool { return dir.Quota })
}

// Charge adds the change of a file below the last of dirs to the accounts of its user and its group: from what it
// was to what it is, nil for nothing. It refuses nothing: [Ledger.Decide] does. If the owner changed, both owners' accounts
// change.
func (l Ledger) Charge(dirs []*hemera.Entry, before, after *hemera.Entry) error {
	if before != nil {
		if err := l.gainOf(dirs, before, -1); err != nil {
			return err
		}
	}
	if after != nil {
		if err := l.gainOf(dirs, after, 1); err != nil {
			return err
		}
	}
	set, err := l.realm(dirs)
	if err != nil || set == 0 { // below no node, as in most trees
		return err
	}
	// Two steps, because the owners may differ; the same account is written once, as a batch has each key once.
	if before != nil {
		err = l.addUsage(set, before, schema.FileUsage(before).Negate())
	}
	if after != nil && err == nil {
		err = l.addUsage(set, after, schema.FileUsage(after))
	}
	return err
}

// RefuseUnderQuota refuses to make files in the last of dirs past what keeps accounts.
func (l Ledger) RefuseUnderQuota(dirs []*hemera.Entry, path string) error {
	set, err := l.realm(dirs)
	if err != nil || set == 0 {
		return err
	}
	return errs.New(errs.Unsupported, "namespace.Load", path, "it would be below a quota node, whose usage a load does not keep").
		WithRemedy("load the tree elsewhere, or set the quota afterwards: it counts what is there")
}

// realm returns the set of accounts in which files in the last of dirs count, zero if in none. It is that of the
// nearest active node, whatever nodes are above it.
func (l Ledger) realm(dirs []*hemera.Entry) (uint64, error) {
	_, q, err := l.nearest(dirs)
	if err != nil || q == nil {
		return 0, err
	}
	return q.Set, nil
}

// realmAbove returns the set in which the directory's files would count if it were no node.
func (l Ledger) realmAbove(dir hemera.FileID) (uint64, error) {
	if dir == hemera.RootID {
		return 0, nil
	}
	e, err := l.ByID(dir)
	if err == nil && e == nil {
		err = absent(dir)
	}
	if err != nil {
		return 0, err
	}
	// The node itself does not count: the question is where its files would be without it.
	parent, err := l.Parent(e)
	if err != nil {
		return 0, err
	}
	dirs, _, err := l.Above(parent)
	if err != nil {
		return 0, err
	}
	return l.realm(dirs)
}

// nearest returns the last active quota node of dirs and its index; nil if there is none. A node that waits to be
// counted is passed over: its files count at the next one above.
func (l Ledger) nearest(dirs []*hemera.Entry) (int, *schema.QuotaNode, error) {
	for i, dir := range slices.Backward(dirs) {
		if !dir.Quota {
			continue
		}
		if q, err := l.node(dir.ID); err != nil || q.Active() {
			return i, q, err
		}
	}
	return 0, nil, nil
}

// node reads the record of a directory that says it is a quota node.
func (l Ledger) node(dir hemera.FileID) (*schema.QuotaNode, error) {
	q, err := record.Get(l.Txn.Txn, schema.IDKey(schema.TableQuotaNode, dir), schema.DecodeQuotaNode)
	if err == nil && q == nil {
		err = errs.New(errs.Corrupt, "namespace.Read", "fid:"+dir.String(), "the quota node has no record")
	}
	return q, err
}

// putNode stores the record of a node.
func (l Ledger) putNode(dir hemera.FileID, q schema.QuotaNode) {
	l.Set(schema.IDKey(schema.TableQuotaNode, dir), &q, schema.EncodeQuotaNode(&q))
}

// unmark makes the directory one without limits: its entry says so, and its record is removed.
func (l Ledger) unmark(dir hemera.FileID) error {
	e, err := l.ByID(dir)
	if err == nil && e == nil {
		err = absent(dir)
	}
	if err != nil {
		return err
	}
	plain := *e // readers have the old one
	plain.Quota = false
	l.PutEntry(&plain)
	l.Remove(schema.IDKey(schema.TableQuotaNode, dir))
	return nil
}

// absent makes the error about a node whose directory is gone. A directory with limits cannot be removed, so only
// damage leads here.
func absent(id hemera.FileID) error {
	return errs.New(errs.NotFound, "namespace.CountQuotas", "fid:"+id.String(), "no entry has this id")
}

// addUsage adds to what the file's user and group use.
func (l Ledger) addUsage(set uint64, e *hemera.Entry, delta hemera.QuotaAmount) error {
	if err := l.add(set, schema.UserAccount(e.UID), delta); err != nil {
		return err
	}
	return l.add(set, schema.GroupAccount(e.GID), delta)
}

// add adds to an account; one that comes to nothing is removed, so that accounts of users without files take no
// room.
func (l Ledger) add(set uint64, a schema.Account, delta hemera.QuotaAmount) error {
	k := schema.AccountKey(schema.TableAccount, set, a)
	used, err := l.amount(k)
	if err != nil {
		return err
	}
	used = used.Add(delta)
	if used == (hemera.QuotaAmount{}) {
		l.Remove(k)
		return nil
	}
	l.Set(k, &used, schema.EncodeAmount(&used))
	return nil
}

// amount reads an account or a limit; there is nothing where there is no record.
func (l Ledger) amount(k []byte) (hemera.QuotaAmount, error) {
	a, err := record.Get(l.Txn.Txn, k, schema.DecodeAmount)
	if err != nil || a == nil {
		return hemera.QuotaAmount{}, err
	}
	return *a, nil
}
