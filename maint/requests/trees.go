package requests

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"hemera/rules/lifecycle"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// treesMax bounds the directories with lifecycle rules that users have in all, and those that admins have.
	treesMax = 10_000
	// treesOfUser bounds those of one user: no user takes the room of the others.
	treesOfUser = 256
)

// treePrefix begins the keys of directories with rules.
const treePrefix = Prefix + "rules/"

// treeKey returns the key of a directory with rules.
func treeKey(dir hemera.FileID) string { return fmt.Sprintf("%s%016x", treePrefix, uint64(dir)) }

// loadTree takes the record of a directory with rules into memory.
func (s *Store) loadTree(key string, value []byte) error {
	var r treeRecord
	if err := json.Unmarshal(value, &r); err != nil || treeKey(hemera.FileID(r.Dir)) != key {
		return errs.New(errs.Corrupt, "requests.Open", key, "the record cannot be read")
	}
	s.putTree(r.tree())
	return nil
}

// putTree has a directory with rules in memory, and removeTree has it no more. mu is held, or the store is being opened.
func (s *Store) putTree(t lifecycle.Tree) {
	s.removeTree(t.Dir)
	s.trees[t.Dir] = t
	s.treesOf[t.By]++
}

func (s *Store) removeTree(dir hemera.FileID) {
	t, ok := s.trees[dir]
	if !ok {
		return
	}
	delete(s.trees, dir)
	s.uncountTree(t.By)
}

func (s *Store) uncountTree(by hemera.Setter) {
	if s.treesOf[by]--; s.treesOf[by] == 0 {
		delete(s.treesOf, by)
	}
}

// reservation is room that is kept for a directory with rules.
type reservation struct {
	dir hemera.FileID
	by  hemera.Setter
}

// RuleTrees returns all directories with rules, by id.
func (s *Store) RuleTrees() []lifecycle.Tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.trees), func(a, b lifecycle.Tree) int { return cmp.Compare(a.Dir, b.Dir) })
}

// RuleTree returns a directory with rules, and false if it is not known.
func (s *Store) RuleTree(dir hemera.FileID) (lifecycle.Tree, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.trees[dir]
	return t, ok
}

// ReserveRuleTree keeps room for a directory with rules until release, so that ChangeRuleTree is not refused after the rules were
// set. Overloaded if the user that it is charged to has its share, or there are too many. It does not block.
func (s *Store) ReserveRuleTree(t lifecycle.Tree) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.roomFor(t); err != nil {
		return nil, err
	}
	if known, ok := s.trees[t.Dir]; ok && known.By == t.By {
		return func() {}, nil
	}
	r := reservation{t.Dir, t.By}
	if s.reserved[r]++; s.reserved[r] == 1 { // calls for one directory share it
		s.treesOf[t.By]++
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.reserved[r]--; s.reserved[r] == 0 {
			delete(s.reserved, r)
			s.uncountTree(t.By)
		}
	}, nil
}

// roomFor fails with Overloaded if a directory with rules is one too many. mu is held.
func (s *Store) roomFor(t lifecycle.Tree) error {
	known, ok := s.trees[t.Dir]
	if ok && known.By == t.By || s.reserved[reservation{t.Dir, t.By}] > 0 {
		return nil
	}
	refuse := func(text string) error {
		return errs.New(errs.Overloaded, "requests.ChangeRuleTree", "fid:"+t.Dir.String(), text).
			WithRemedy("set the rules at a directory above, where they hold for all that is below it, or remove those of other directories")
	}
	admins := s.treesOf[hemera.Setter{Admin: true}]
	users := len(s.trees) + len(s.reserved) - admins
	switch {
	case t.By.Admin && admins >= treesMax:
		return refuse(fmt.Sprintf("admins have set lifecycle rules in %d directories already", admins))
	case t.By.Admin:
		return nil
	case s.treesOf[t.By] >= treesOfUser:
		return refuse(fmt.Sprintf("the user has lifecycle rules in %d directories already", s.treesOf[t.By]))
	case users >= treesMax:
		return refuse(fmt.Sprintf("users have lifecycle rules in %d directories already", users))
	}
	return nil
}

// ChangeRuleTree changes what is known of a directory with rules, durably, and one change after the other. change gets it as it is, and
// returns what it is to be; keep false forgets it. One that stays as it is costs no sync. Overloaded for a new one, or one that is charged
// to another user than before, as [Store.ReserveRuleTree] has it.
func (s *Store) ChangeRuleTree(ctx context.Context, dir hemera.FileID, change func(t lifecycle.Tree, known bool) (next lifecycle.Tree, keep bool)) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.turn.Release()
	old, known := s.RuleTree(dir)
	t, keep := change(old, known)
	t.Dir = dir
	switch {
	case !keep && !known, keep && known && t == old:
		return nil
	case !keep:
		return s.remove(ctx, treeKey(dir), func() { s.removeTree(dir) })
	}
	s.mu.Lock()
	err := s.roomFor(t)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.save(ctx, treeKey(dir), recordOfTree(t), func() { s.putTree(t) })
}
