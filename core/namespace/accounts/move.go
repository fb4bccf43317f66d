package accounts

import (
	"path"

	"hemera"
	"hemera/core/namespace/schema"
	"hemera/errs"
	"hemera/rules/quota"
)

// What a move costs depends on what is moved. A file's usage is known, so it can change realms. A quota node takes
// its set of accounts along, whatever is above it. For any other directory nobody knows how much of it belongs to
// whom without counting it, which may take hours; so it may not leave its realm, as XFS refuses to rename between
// projects.

// Move is the move of an entry to another directory.
type Move struct {
	Entry    *hemera.Entry
	From, To []*hemera.Entry // the directories from the root, before and after
	Common   int             // number of directories that are above both
	Op       string          // that moves it, for errors: Rename, Restore
}

// ChargeMove charges the move of an entry between directories, and refuses it if it would exceed a limit. A file takes
// its usage along, a quota node its realm. Any other tree must stay within its realm: what each user and group has in
// it is not known without counting.
func (l Ledger) ChargeMove(m Move) error {
	if !Limited(m.From) && !Limited(m.To) {
		return nil
	}
	from, err := l.realm(m.From)
	if err != nil {
		return err
	}
	to, err := l.realm(m.To)
	if err != nil {
		return err
	}
	// Projects above both places have the entry in their totals already, and keep it.
	limits, err := l.projects(m.To, m.Common)
	if err != nil {
		return err
	}
	into := pathTo(m.To, len(m.To)-1)
	if m.Entry.IsDir() {
		return l.chargeTree(m, from != to, into, limits)
	}
	if from == to { // the accounts stay, only projects in between may say no
		return within(m.Op, into, limits, quota.Want{QuotaAmount: schema.FileUsage(m.Entry)})
	}
	accounts, err := l.accounts(m.To, schema.UserAccount(m.Entry.UID), schema.GroupAccount(m.Entry.GID))
	if err != nil {
		return err
	}
	if err := within(m.Op, into, append(limits, accounts...), quota.Want{QuotaAmount: schema.FileUsage(m.Entry)}); err != nil {
		return err
	}
	if err := l.Charge(m.From, m.Entry, nil); err != nil {
		return err
	}
	return l.Charge(m.To, nil, m.Entry)
}

// chargeTree is ChargeMove of a directory; leaves says that it leaves its realm. The totals above both places follow
// from the move itself.
func (l Ledger) chargeTree(m Move, leaves bool, into string, limits []quota.Standing) error {
	s, err := l.Directory(m.Entry.ID)
	if err != nil {
		return err
	}
	if leaves {
		if err := l.checkMovesWhole(pathTo(m.From, len(m.From)-1), m.Entry, s.Tree); err != nil {
			return err
		}
	}
	return within(m.Op, into, limits, quota.Want{QuotaAmount: schema.TreeUsage(s.Tree)})
}

// checkMovesWhole refuses to take a tree out of its realm unless it is empty or a realm of its own. A node that
// is being counted stays too: if counting is cut off, its files are looked for where they were.
func (l Ledger) checkMovesWhole(above string, dir *hemera.Entry, tree hemera.TreeTotals) error {
	empty := tree == hemera.TreeTotals{}
	if dir.Quota {
		q, err := l.node(dir.ID)
		if err != nil || q.State == schema.NodeExact {
			return err // its set comes along
		}
		empty = empty && !q.Active()
	}
	if empty {
		return nil
	}
	return errs.New(errs.Unsupported, "namespace.Rename", path.Join(above, dir.Name), "what is in the directory would count in another quota node").
		WithRemedy("move its files one by one, or copy them and remove the old; a directory that is a quota node itself can be moved once it is counted")
}

// ChargeOwner charges the change of a file's owner in the last of dirs, and refuses what would exceed the new owner's limits.
func (l Ledger) ChargeOwner(dirs []*hemera.Entry, before, after *hemera.Entry) error {
	if after.IsDir() || after.UID == before.UID && after.GID == before.GID {
		return nil
	}
	var gaining []schema.Account // those that use more afterwards
	if after.UID != before.UID {
		gaining = append(gaining, schema.UserAccount(after.UID))
	}
	if after.GID != before.GID {
		gaining = append(gaining, schema.GroupAccount(after.GID))
	}
	limits, err := l.accounts(dirs, gaining...)
	if err == nil {
		err = within("SetOwner", after.Name, limits, quota.Want{QuotaAmount: schema.FileUsage(after)})
	}
	if err != nil {
		return err
	}
	return l.Charge(dirs, before, after)
}
