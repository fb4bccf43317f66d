package namespace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/test/fixture/effort"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// restored returns a store made of what a picture of another holds.
func restored(t *testing.T, from kv.Reader, taken, now time.Time) (kv.Store, namespace.Boundary, error) {
	t.Helper()
	s := memkv.New()
	w := must[kv.Writer](t)(s.Acquire(t.Context(), "restore"))
	err := from.Scan(t.Context(), nil, nil, func(k, v []byte) bool {
		if namespace.Restorable(k) {
			var b kv.Batch
			b.Put(bytes.Clone(k), bytes.Clone(v))
			must[kv.Ticket](t)(w.Enqueue(&b))
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := namespace.Restored(t.Context(), s, w, taken, now)
	return s, b, err
}

// paths lists a whole tree.
func paths(t *testing.T, n *namespace.Namespace) (all []string) {
	t.Helper()
	var down func(at string)
	down = func(at string) {
		err := n.Tree.List(t.Context(), hemera.SystemIdentity(), at, func(e hemera.Entry) error {
			path := strings.TrimSuffix(at, "/") + "/" + e.Name
			all = append(all, path)
			if e.IsDir() {
				down(path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	down("/")
	slices.Sort(all)
	return all
}

// afterEvent returns the state after an event, by the log of all that was done.
func afterEvent(events []hemera.Event, last uint64) []string {
	there := map[string]bool{}
	for _, e := range events {
		if e.Seq > last {
			break
		}
		switch e.Kind {
		case hemera.EventMkdir, hemera.EventCommit:
			there[e.Path] = true
		case hemera.EventRemove:
			delete(there, e.Path)
		case hemera.EventRename:
			for path := range maps.Clone(there) {
				if path == e.Path || strings.HasPrefix(path, e.Path+"/") {
					delete(there, path)
					there[e.To+strings.TrimPrefix(path, e.Path)] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(there))
}

// TestSnapshotUnderWritersIsOneMoment: a restored snapshot is the tree after exactly the events that
// it says it holds, and agrees with itself.
func TestSnapshotUnderWritersIsOneMoment(t *testing.T) {
	store := memkv.New()
	n := open(t, store, namespace.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() { churn(ctx, n, g) })
	}
	type picture struct {
		store kv.Store
		of    namespace.Summary
	}
	var pictures []picture
	for range 12 {
		p := must[kv.Snapshot](t)(store.Snapshot(t.Context()))
		s := must[namespace.Summary](t)(namespace.Describe(t.Context(), p))
		now := time.Now()
		again, _, err := restored(t, p, now.Add(-time.Second), now)
		if err != nil {
			t.Fatal(err)
		}
		pictures = append(pictures, picture{again, s})
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	group.Wait()
	events := must[[]hemera.Event](t)(n.Inspection.Events(t.Context(), 0, 1_000_000))
	for i, p := range pictures {
		r := open(t, p.store, namespace.Options{})
		if got, want := paths(t, r), afterEvent(events, p.of.Sequence); !slices.Equal(got, want) {
			t.Fatalf("picture %d after event %d: %d names, want %d", i, p.of.Sequence, len(got), len(want))
		}
		if s := r.Inspection.Stats(); s.Totals != p.of.Totals {
			t.Errorf("picture %d: %+v, said %+v", i, s.Totals, p.of.Totals)
		}
		if problems := must[[]string](t)(r.Inspection.Check(t.Context())); len(problems) > 0 {
			t.Errorf("picture %d: %q", i, problems)
		}
	}
}

// churn changes its own corner of the tree until the context ends.
func churn(ctx context.Context, n *namespace.Namespace, g int) {
	r := rand.New(rand.NewPCG(uint64(g), 0))
	who := alice()
	for ctx.Err() == nil {
		dir := fmt.Sprintf("/w%d/d%d", g, r.IntN(5))
		name := fmt.Sprintf("%s/f%d", dir, r.IntN(10))
		switch r.IntN(4) {
		case 0:
			_, _ = n.Tree.Mkdir(ctx, who, name, 0o755, true)
		case 1:
			p, err := n.Writes.Prepare(ctx, who, hemera.OpenRequest{Path: name, Access: hemera.AccessCreate, Parents: true})
			if err == nil && !p.Existing {
				_, _ = n.Writes.Commit(ctx, namespace.Commit{ID: p.ID, Gen: p.Gen, Parent: p.Parent.ID, Name: name[len(dir)+1:], Mode: 0o644, UID: who.UID,
					Size: 10, Layout: hemera.Layout{Kind: hemera.LayoutReplica, Data: 1, Pieces: 2}, Space: "default",
					Pieces: []hemera.Piece{{Index: 0, Disk: 1}, {Index: 1, Disk: 2}}, Who: who.Name})
			}
		case 2:
			_ = n.Tree.Remove(ctx, who, name, 0)
		default:
			_ = n.Tree.Rename(ctx, who, dir, fmt.Sprintf("/w%d/d%d", g, r.IntN(5)))
		}
	}
}

// TestIdsOfAllLivesAreApart: a namespace is lost and restored again and again, from any backup of any
// of its lives; no id or generation is ever given out twice.
func TestIdsOfAllLivesAreApart(t *testing.T) {
	type backup struct {
		store kv.Store
		taken time.Time
	}
	var backups []backup
	r := rand.New(rand.NewPCG(5, 6))
	now := time.Unix(1_700_000_000, 0)
	store := kv.Store(memkv.New())
	used := map[uint64]int{}
	for life := range effort.Of(30, 8) {
		n := open(t, store, namespace.Options{})
		for i := range 1 + r.IntN(20_000) { // more than one range of ids
			p := must[namespace.Prepared](t)(n.Writes.Prepare(t.Context(), alice(), hemera.OpenRequest{Path: "/f", Access: hemera.AccessCreate}))
			if before, twice := used[uint64(p.ID)]; twice {
				t.Fatalf("id %d of life %d was given out in life %d", p.ID, life, before)
			}
			used[uint64(p.ID)] = life
			if i%9000 == 0 {
				copied := memkv.New()
				w := must[kv.Writer](t)(copied.Acquire(t.Context(), "copy"))
				if err := store.Scan(t.Context(), nil, nil, func(k, v []byte) bool {
					var b kv.Batch
					b.Put(bytes.Clone(k), bytes.Clone(v))
					must[kv.Ticket](t)(w.Enqueue(&b))
					return true
				}); err != nil {
					t.Fatal(err)
				}
				backups = append(backups, backup{copied, now})
			}
		}
		now = now.Add(time.Second)
		b := backups[r.IntN(len(backups))]
		again, boundary, err := restored(t, b.store, b.taken, now)
		if err != nil {
			t.Fatal(err)
		}
		store = again
		n = open(t, store, namespace.Options{})
		for id := range used {
			known := id < boundary.From
			if p := (hemera.PieceID{File: hemera.FileID(id), Gen: 1}); !known && !n.Past.NewerThanRestore(p, time.Time{}) {
				t.Fatalf("a piece of id %d is taken for this life's, whose ids are below %d and from %d", id, boundary.From, boundary.To)
			}
		}
	}
}

func TestWhatIsForgotten(t *testing.T) {
	store := memkv.New()
	n := open(t, store, namespace.Options{})
	put(t, n, alice(), "/old", 10)
	taken := time.Now()
	again, b, err := restored(t, store, taken, taken.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	n = open(t, again, namespace.Options{})
	p := must[namespace.Prepared](t)(n.Writes.Prepare(t.Context(), alice(), hemera.OpenRequest{Path: "/new", Access: hemera.AccessCreate}))
	if uint64(p.ID) != b.To {
		t.Errorf("the first new id is %d, not %d", p.ID, b.To)
	}
	long := taken.Add(-30 * 24 * time.Hour)
	after := taken.Add(72 * time.Hour)
	for _, test := range []struct {
		name   string
		piece  hemera.PieceID
		sealed time.Time
		want   bool
	}{
		{"of the backup", hemera.PieceID{File: 2, Gen: 1}, long, false},
		{"the last id of the backup's range", hemera.PieceID{File: hemera.FileID(b.From - 1), Gen: 1}, long, false},
		{"the first after the backup", hemera.PieceID{File: hemera.FileID(b.From), Gen: 1}, long, true},
		{"the last before the restore", hemera.PieceID{File: hemera.FileID(b.To - 1), Gen: 1}, after, true},
		{"of the restored", hemera.PieceID{File: p.ID, Gen: 1}, after, false},
		{"never given out", hemera.PieceID{File: hemera.FileID(b.To + 1<<20), Gen: 1}, long, true},
		{"a newer generation", hemera.PieceID{File: 2, Gen: hemera.Generation(b.From + 5)}, after, true},
		{"moved after the backup", hemera.PieceID{File: 2, Gen: 1}, taken.Add(time.Hour), true},
		{"moved after the restore", hemera.PieceID{File: 2, Gen: 1}, after, false},
	} {
		if got := n.Past.NewerThanRestore(test.piece, test.sealed); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
	if events := must[[]hemera.Event](t)(n.Inspection.Events(t.Context(), 0, 10)); len(events) != 0 {
		t.Errorf("the log begins with %+v", events)
	}
	if _, _, err := restored(t, store, taken, taken.Add(-time.Second)); !errors.Is(err, errs.Invalid) || errs.RemedyOf(err) == "" {
		t.Errorf("a clock that is behind: %v", err)
	}
}
