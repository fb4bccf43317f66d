package requests

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
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
	c, err := s.AddConversion(ctx, hemera.Conversion{
		ConversionRequest: hemera.ConversionRequest{Path: "/a", Recursive: true, Form: hemera.Form{Layout: hemera.ReedSolomon(4, 2), BlockSize: 1 << 20, Space: "s", Checksum: hemera.SHA256}},
		Root:              7, Who: "root", Asked: at,
	})
	if err != nil || c.ID != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	c.Cursor, c.Done, c.Why, c.Ended = "b/c", 3, "a reason", at.Add(time.Hour)
	tree := hemera.RuleTree{Dir: 9, Since: at, Scanned: at.Add(time.Minute)}
	if err := errors.Join(s.PutConversion(ctx, c), s.PutRuleTree(ctx, tree), s.PutRuleTree(ctx, hemera.RuleTree{Dir: 2})); err != nil {
		t.Fatal(err)
	}
	s = open(t, store)
	if got := s.Conversions(); !reflect.DeepEqual(got, []hemera.Conversion{c}) {
		t.Errorf("%+v, want %+v", got, c)
	}
	if got := s.RuleTrees(); !reflect.DeepEqual(got, []hemera.RuleTree{{Dir: 2}, tree}) {
		t.Errorf("%+v", got)
	}
	// Ids go on behind the newest.
	if c, err := s.AddConversion(ctx, hemera.Conversion{}); err != nil || c.ID != 2 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := errors.Join(s.RemoveConversion(ctx, 1), s.RemoveConversion(ctx, 1), s.RemoveRuleTree(ctx, 2), s.RemoveRuleTree(ctx, 2)); err != nil {
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
		if _, err := s.AddConversion(ctx, hemera.Conversion{}); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if _, err := s.AddConversion(ctx, hemera.Conversion{}); !errors.Is(err, errs.Overloaded) || errs.RemedyOf(err) == "" {
		t.Errorf("one too many: %v", err)
	}
	for i := range treesMax {
		if err := s.PutRuleTree(ctx, hemera.RuleTree{Dir: hemera.FileID(i + 1)}); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if err := s.PutRuleTree(ctx, hemera.RuleTree{Dir: treesMax + 1}); !errors.Is(err, errs.Overloaded) || errs.RemedyOf(err) == "" {
		t.Errorf("one too many: %v", err)
	}
	if err := s.PutRuleTree(ctx, hemera.RuleTree{Dir: 1, Scanned: time.Now()}); err != nil {
		t.Errorf("one that is known: %v", err)
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
