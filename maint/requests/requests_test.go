package requests

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/rules/lifecycle"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// open opens the requests of a store again, as another process would.
func open(t *testing.T, store kv.Store) *Store {
	t.Helper()
	w, err := store.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), store, w)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatIsPutIsThereAgain(t *testing.T) {
	store := memkv.New()
	s, ctx := open(t, store), t.Context()
	at := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	c, err := s.AddConversion(ctx, adminapi.Conversion{
		ConversionRequest: adminapi.ConversionRequest{Path: "/a", Recursive: true, Form: hemera.Form{Layout: hemera.ReedSolomon(4, 2), BlockSize: 1 << 20, Space: "s", Checksum: hemera.SHA256}},
		Root:              7, Who: "root", Asked: at,
	})
	if err != nil || c.ID != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	c.Cursor, c.Done, c.Why, c.Ended = "b/c", 3, "a reason", at.Add(time.Hour)
	tree := lifecycle.Tree{Dir: 9, Since: at, Scanned: at.Add(time.Minute), By: hemera.Setter{UID: 5}}
	if err := errors.Join(s.PutConversion(ctx, c), putTree(ctx, s, tree), putTree(ctx, s, lifecycle.Tree{Dir: 2})); err != nil {
		t.Fatal(err)
	}
	s = open(t, store)
	if got := s.Conversions(); !reflect.DeepEqual(got, []adminapi.Conversion{c}) {
		t.Errorf("%+v, want %+v", got, c)
	}
	if got := s.RuleTrees(); !reflect.DeepEqual(got, []lifecycle.Tree{{Dir: 2}, tree}) {
		t.Errorf("%+v", got)
	}
	// Ids go on behind the newest.
	if c, err := s.AddConversion(ctx, adminapi.Conversion{}); err != nil || c.ID != 2 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := errors.Join(s.RemoveConversion(ctx, 1), s.RemoveConversion(ctx, 1), dropTree(ctx, s, 2), dropTree(ctx, s, 2)); err != nil {
		t.Fatal(err)
	}
	s = open(t, store)
	if c, r := s.Conversions(), s.RuleTrees(); len(c) != 1 || c[0].ID != 2 || len(r) != 1 || r[0].Dir != 9 {
		t.Errorf("%+v, %+v", c, r)
	}
}

func TestBoundsOfWhatIsRemembered(t *testing.T) {
	s, ctx := open(t, memkv.New()), t.Context()
	for i := range conversionMax {
		if _, err := s.AddConversion(ctx, adminapi.Conversion{}); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if _, err := s.AddConversion(ctx, adminapi.Conversion{}); !errors.Is(err, errs.Overloaded) || errs.RemedyOf(err) == "" {
		t.Errorf("one too many: %v", err)
	}
}

// TestNoUserTakesTheRuleTreesOfOthers: each user has a share, all users have a bound, and admins one of their own.
func TestNoUserTakesTheRuleTreesOfOthers(t *testing.T) {
	store := memkv.New()
	s, ctx := open(t, store), t.Context()
	admin := hemera.Setter{Admin: true}
	next := hemera.FileID(0)
	put := func(by hemera.Setter) error {
		next++
		return putTree(ctx, s, lifecycle.Tree{Dir: next, By: by})
	}
	fill := func(by hemera.Setter, n int) {
		t.Helper()
		for i := range n {
			if err := put(by); err != nil {
				t.Fatalf("%+v: %d: %v", by, i, err)
			}
		}
		if err := put(by); !errors.Is(err, errs.Overloaded) || errs.RemedyOf(err) == "" {
			t.Errorf("%+v: one too many: %v", by, err)
		}
	}
	fill(hemera.Setter{UID: 1}, treesOfUser)
	s = open(t, store) // what is known counts after a restart as well
	fill(hemera.Setter{UID: 1}, 0)
	if err := putTree(ctx, s, lifecycle.Tree{Dir: 1, Scanned: time.Now(), By: hemera.Setter{UID: 1}}); err != nil {
		t.Errorf("one that is known: %v", err)
	}
	// A directory that an admin's rules are set in is the admins', and is not charged to the user any more.
	if err := errors.Join(putTree(ctx, s, lifecycle.Tree{Dir: 1, By: admin}), put(hemera.Setter{UID: 1})); err != nil {
		t.Error(err)
	}
	if err := putTree(ctx, s, lifecycle.Tree{Dir: 1, By: hemera.Setter{UID: 1}}); !errors.Is(err, errs.Overloaded) {
		t.Errorf("one that was the admins': %v", err)
	}
	if err := errors.Join(dropTree(ctx, s, 2), put(hemera.Setter{UID: 1})); err != nil {
		t.Errorf("in place of one that is gone: %v", err)
	}
	users := treesOfUser
	for uid := uint32(2); users+treesOfUser <= treesMax; uid++ {
		fill(hemera.Setter{UID: uid}, treesOfUser)
		users += treesOfUser
	}
	fill(hemera.Setter{UID: 1000}, treesMax-users)
	fill(admin, treesMax-1)
}

// TestRoomForARuleTreeIsReserved: what was reserved can be put, and a reservation that ends leaves nothing.
func TestRoomForARuleTreeIsReserved(t *testing.T) {
	s, ctx := open(t, memkv.New()), t.Context()
	by := hemera.Setter{UID: 1}
	var release []func()
	for i := range treesOfUser {
		done, err := s.ReserveRuleTree(lifecycle.Tree{Dir: hemera.FileID(i + 1), By: by})
		if err != nil {
			t.Fatal(err)
		}
		release = append(release, done)
	}
	again, err := s.ReserveRuleTree(lifecycle.Tree{Dir: 1, By: by})
	if err != nil {
		t.Error(err)
	}
	if _, err := s.ReserveRuleTree(lifecycle.Tree{Dir: 1000, By: by}); !errors.Is(err, errs.Overloaded) || errs.RemedyOf(err) == "" {
		t.Errorf("one too many: %v", err)
	}
	if err := putTree(ctx, s, lifecycle.Tree{Dir: 1000, By: by}); !errors.Is(err, errs.Overloaded) {
		t.Errorf("beside reservations: %v", err)
	}
	if err := putTree(ctx, s, lifecycle.Tree{Dir: 1, By: by}); err != nil {
		t.Errorf("one that was reserved: %v", err)
	}
	again()
	for _, done := range release {
		done()
	}
	if len(s.reserved) != 0 || !reflect.DeepEqual(s.treesOf, map[hemera.Setter]int{by: 1}) {
		t.Errorf("it is left with %v, %v", s.reserved, s.treesOf)
	}
}

func TestRecordsThatCannotBeRead(t *testing.T) {
	for _, key := range []string{conversionKey(5), treeKey(5)} {
		store := memkv.New()
		w, err := store.Acquire(t.Context(), "test")
		if err != nil {
			t.Fatal(err)
		}
		var b kv.Batch
		b.Put([]byte(key), []byte(fmt.Sprintf(`{"ID":%d}`, 6)))
		if ticket, err := w.Enqueue(&b); err != nil || ticket.Wait(t.Context()) != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), store, w); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// putTree makes a directory with rules known as it is given.
func putTree(ctx context.Context, s *Store, t lifecycle.Tree) error {
	return s.ChangeRuleTree(ctx, t.Dir, func(lifecycle.Tree, bool) (lifecycle.Tree, bool) { return t, true })
}

// dropTree forgets one.
func dropTree(ctx context.Context, s *Store, dir hemera.FileID) error {
	return s.ChangeRuleTree(ctx, dir, func(t lifecycle.Tree, _ bool) (lifecycle.Tree, bool) { return t, false })
}

// TestNoChangeOfRulesIsLost: users set rules while a worker notes that it has looked.
func TestNoChangeOfRulesIsLost(t *testing.T) {
	s, changes := open(t, memkv.New()), 100
	var all sync.WaitGroup
	for _, add := range []func(*lifecycle.Tree){
		func(t *lifecycle.Tree) { t.Changed = t.Changed.Add(time.Second) },
		func(t *lifecycle.Tree) { t.Scanned = t.Scanned.Add(time.Second) },
		func(t *lifecycle.Tree) { t.Since = t.Since.Add(time.Second) },
	} {
		all.Go(func() {
			for range changes {
				err := s.ChangeRuleTree(t.Context(), 7, func(t lifecycle.Tree, _ bool) (lifecycle.Tree, bool) {
					add(&t)
					return t, true
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	want := time.Time{}.Add(time.Duration(changes) * time.Second)
	if got, _ := s.RuleTree(7); !got.Changed.Equal(want) || !got.Scanned.Equal(want) || !got.Since.Equal(want) || got.Dir != 7 {
		t.Errorf("it is %+v", got)
	}
}

// counting is a writer that counts batches.
type counting struct {
	kv.Writer
	batches int
}

func (w *counting) Enqueue(b *kv.Batch) (kv.Ticket, error) {
	w.batches++
	return w.Writer.Enqueue(b)
}

// TestWhatStaysAsItIsCostsNoSync: a directory that is looked at again each day is stored when something about it is new.
func TestWhatStaysAsItIsCostsNoSync(t *testing.T) {
	store := memkv.New()
	w, err := store.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	writer := &counting{Writer: w}
	s, err := Open(t.Context(), store, writer)
	if err != nil {
		t.Fatal(err)
	}
	tree := lifecycle.Tree{Dir: 7, By: hemera.Setter{UID: 3}}
	for _, c := range []struct {
		name  string
		by    uint32
		keep  bool
		batch int
	}{
		{"forget what is not known", 3, false, 0}, {"a new one", 3, true, 1}, {"the same", 3, true, 0}, {"another user's", 4, true, 1}, {"forget it", 4, false, 1}, {"forget it again", 4, false, 0},
	} {
		before := writer.batches
		err := s.ChangeRuleTree(t.Context(), 7, func(lifecycle.Tree, bool) (lifecycle.Tree, bool) {
			next := tree
			next.By.UID = c.by
			return next, c.keep
		})
		if err != nil || writer.batches-before != c.batch {
			t.Errorf("%s: %d batches, %v", c.name, writer.batches-before, err)
		}
	}
}
