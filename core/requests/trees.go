package requests

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"hemera"
	"hemera/errs"
)

// treesMax bounds the directories with lifecycle rules.
const treesMax = 10_000

// treePrefix begins the keys of directories with rules.
const treePrefix = Prefix + "rules/"

// treeKey is the key of a directory with rules.
func treeKey(dir hemera.FileID) string { return fmt.Sprintf("%s%016x", treePrefix, uint64(dir)) }

// loadTree takes the record of a directory with rules into memory.
func (s *Store) loadTree(key string, value []byte) error {
	var t hemera.RuleTree
	if err := json.Unmarshal(value, &t); err != nil || treeKey(t.Dir) != key {
		return errs.New(errs.Corrupt, "requests.Open", key, "the record cannot be read")
	}
	s.trees[t.Dir] = t
	return nil
}

// RuleTrees are all directories with rules, by id.
func (s *Store) RuleTrees() []hemera.RuleTree {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.trees), func(a, b hemera.RuleTree) int { return cmp.Compare(a.Dir, b.Dir) })
}

// PutRuleTree makes a directory with rules known, or what is new of it, durably. Overloaded for a new one when there are
// too many.
func (s *Store) PutRuleTree(ctx context.Context, t hemera.RuleTree) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	s.mu.Lock()
	// What is new of a known one is always taken.
	_, known := s.trees[t.Dir]
	full := !known && len(s.trees) >= treesMax
	s.mu.Unlock()
	if full {
		return errs.New(errs.Overloaded, "requests.PutRuleTree", "fid:"+t.Dir.String(), fmt.Sprintf("%d directories have lifecycle rules already", treesMax)).
			WithRemedy("set the rules at a directory above: they hold for all that is below it")
	}
	return s.save(ctx, treeKey(t.Dir), t, func() { s.trees[t.Dir] = t })
}

// RemoveRuleTree forgets a directory that has no rules any more. One that is not known is no error.
func (s *Store) RemoveRuleTree(ctx context.Context, dir hemera.FileID) error {
	// A directory that gets rules again is put again.
	return s.forget(ctx, treeKey(dir), func() { delete(s.trees, dir) })
}
