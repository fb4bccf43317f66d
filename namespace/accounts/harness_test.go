package accounts_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"

	"hemera/namespace/accounts"
	"hemera/namespace/schema"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/test/fixture/records"
	"hemera/words/hemera"
)

// interrupted is a store that calls a function before each scan of it or of a snapshot. What the counter does in between are
// whole changes, so the function stands at the instants at which others come first, or a process ends.
type interrupted struct {
	kv.Store
	before func() error // nil: nothing
}

// call calls the function, which may scan itself.
func (s *interrupted) call() error {
	f := s.before
	if f == nil {
		return nil
	}
	s.before = nil
	defer func() { s.before = f }()
	return f()
}

func (s *interrupted) Scan(ctx context.Context, lo, hi []byte, visit func(k, v []byte) bool) error {
	if err := s.call(); err != nil {
		return err
	}
	return s.Store.Scan(ctx, lo, hi, visit)
}

func (s *interrupted) Snapshot(ctx context.Context) (kv.Snapshot, error) {
	snap, err := s.Store.Snapshot(ctx)
	return interruptedSnapshot{snap, s}, err
}

type interruptedSnapshot struct {
	kv.Snapshot
	of *interrupted
}

func (s interruptedSnapshot) Scan(ctx context.Context, lo, hi []byte, visit func(k, v []byte) bool) error {
	if err := s.of.call(); err != nil {
		return err
	}
	return s.Snapshot.Scan(ctx, lo, hi, visit)
}

// tree is a tree with quotas, and a counter of them.
type tree struct {
	*records.Tree
	store   *interrupted
	counter *accounts.Counter
}

func newTree(tb testing.TB, dirs ...string) *tree {
	tb.Helper()
	store := &interrupted{Store: memkv.New()}
	t := &tree{Tree: records.New(tb, store), store: store}
	t.counter = accounts.NewCounter(t.Records, t.Numbers, slog.New(slog.DiscardHandler))
	for _, dir := range dirs {
		t.Mkdir(dir)
	}
	return t
}

// count makes all usage exact.
func (t *tree) count(tb testing.TB) {
	tb.Helper()
	if err := t.counter.CountAll(context.Background()); err != nil {
		tb.Fatal(err)
	}
}

// nodes returns the stored states of all quota nodes, by path.
func (t *tree) nodes() map[string]schema.QuotaNode {
	out := map[string]schema.QuotaNode{}
	t.Scan(schema.TableKey(schema.TableQuotaNode), func(k, raw []byte) {
		q, err := schema.DecodeQuotaNode(k, raw)
		if err != nil {
			panic(err)
		}
		t.View(func(l accounts.Ledger) error {
			e, err := l.ByID(schema.IDOf(k))
			if err != nil {
				return err
			}
			_, p, err := l.Above(e)
			out[max(p, "/")] = *q
			return err
		})
	})
	return out
}

// marked counts the directories that say that they are quota nodes.
func (t *tree) marked() (n int64) {
	t.Scan(schema.TableKey(schema.TableEntry), func(k, raw []byte) {
		if e, err := schema.DecodeEntry(k, raw); err == nil && e.Quota {
			n++
		}
	})
	return n
}

// problems checks all accounts.
func (t *tree) problems() (out []string) {
	err := accounts.Check(context.Background(), t.store.Store, t.marked(), func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) })
	if err != nil {
		out = append(out, err.Error())
	}
	return out
}

// rows lists the quotas by whose they are.
func (t *tree) rows() map[hemera.QuotaKey]hemera.QuotaRow {
	all, err := accounts.List(context.Background(), t.store.Store, nil)
	if err != nil {
		panic(err)
	}
	out := map[hemera.QuotaKey]hemera.QuotaRow{}
	for _, r := range all {
		out[r.QuotaKey] = r
	}
	return out
}

// file is a file of a model.
type file struct {
	uid, gid uint32
	size     int64
	copies   int64
}

func (f file) usage() hemera.QuotaAmount {
	return hemera.QuotaAmount{Files: 1, Bytes: f.size, Physical: f.size * f.copies}
}

// usage works out from all files of a model what rows say: of each user and group at the nearest of the nodes, and of all below a node.
func usage(files map[string]file, nodes []string) map[hemera.QuotaKey]hemera.QuotaAmount {
	out := map[hemera.QuotaKey]hemera.QuotaAmount{}
	add := func(k hemera.QuotaKey, f file) { out[k] = out[k].Add(f.usage()) }
	for p, f := range files {
		if at := records.Nearest(p, nodes); at != "" {
			add(hemera.QuotaKey{Path: at, Kind: hemera.QuotaUser, ID: f.uid}, f)
			add(hemera.QuotaKey{Path: at, Kind: hemera.QuotaGroup, ID: f.gid}, f)
		}
		for _, dir := range nodes {
			if records.Below(p, dir) {
				add(hemera.QuotaKey{Path: dir, Kind: hemera.QuotaProject}, f)
			}
		}
	}
	return out
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
