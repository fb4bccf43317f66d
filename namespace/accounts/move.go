package accounts

import (
	"path"

	"hemera/namespace/schema"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// What a move costs depends on what is moved. A file's usage is known, so it can change realms. A quota node takes
// its set of accounts along, whatever is above it. For any other directory nobody knows how much of it belongs to
// whom without counting it, which may take hours; so it may not leave its realm, as XFS refuses to rename between
// projects.

// Move is the move of an entry to another directory.
type Move struct {
	Entry    *hemera.Entry
	From, To []*hemera.Entry // the directories from the root, before and after
	Op       string          // that moves it, for errors: Rename, Restore
}

// ChargeMove charges the move of an entry between directories. A file takes its usage along, a quota node its realm. Any
// other tree must stay within its realm: what each user and group has in it is not known without counting. Unsupported.
func (l Ledger) ChargeMove(m Move) error {
	if !Limited(m.From) && !Limited(m.To) {
		return nil
	}
	if l.Judge != nil && l.Judge.op == "" { // versions that follow are not what was asked for
		l.Judge.Named(m.Op, pathTo(m.To, len(m.To)-1))
	}
	if !m.Entry.IsDir() {
		// Where both are in one realm, or below one project, what it loses it gains.
		if err := l.Charge(m.From, m.Entry, nil); err != nil {
			return err
		}
		return l.Charge(m.To, nil, m.Entry)
	}
	from, err := l.realm(m.From)
	if err != nil {
		return err
	}
	to, err := l.realm(m.To)
	if err != nil {
		return err
	}
	s, err := l.Directory(m.Entry.ID)
	if err != nil {
		return err
	}
	if from != to {
		if err := l.checkMovesWhole(pathTo(m.From, len(m.From)-1), m.Entry, s.Tree); err != nil {
			return err
		}
	}
	// Its accounts stay, or come along. Totals follow from the move itself.
	used := schema.TreeUsage(s.Tree)
	if err := l.gain(m.From, used.Negate()); err != nil {
		return err
	}
	return l.gain(m.To, used)
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

// ChargeOwner charges the change of a file's owner in the last of dirs.
func (l Ledger) ChargeOwner(dirs []*hemera.Entry, before, after *hemera.Entry) error {
	if after.IsDir() || after.UID == before.UID && after.GID == before.GID {
		return nil
	}
	l.Judge.Named("SetOwner", after.Name)
	return l.Charge(dirs, before, after)
}
