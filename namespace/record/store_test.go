package record

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
)

// text is a record of the tests.
type text struct{ s string }

func decodeText(_, raw []byte) (*text, error) {
	if len(raw) == 0 {
		return nil, errors.New("damaged")
	}
	return &text{string(raw)}, nil
}

func encodeNumber(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// testOptions have keys that begin with 'n'; records of the table 'e' are cached, and form sets by the third byte.
func testOptions() Options {
	return Options{CacheBytes: 1 << 20, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Owner: "test", Schema: Schema{
		Cached: func(k []byte) bool { return k[1] == 'e' },
		Append: func(b []byte, value any) []byte {
			if v, ok := value.(*text); ok {
				return append(b, v.s...)
			}
			return b
		},
		Damaged:  func(_ []byte, err error) error { return err },
		SetTable: 'e', SetPrefix: 3,
		Log: LogSchema{Key: func(k []byte, seq uint64) []byte { return binary.BigEndian.AppendUint64(append(k, "nl"...), seq) },
			Bounds: []byte("nmb"), Max: 100,
			Encode: func(b []byte, first, next uint64) []byte {
				return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, first), next)
			}},
	}}
}

func openTest(t *testing.T, engine kv.Store) *Store {
	t.Helper()
	s, err := Open(t.Context(), engine, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	s.Begin(1, 1, Counters{})
	return s
}

func put(key, value string) func(t *Txn) error {
	return func(t *Txn) error {
		t.Set([]byte(key), &text{value}, []byte(value))
		return nil
	}
}

// read returns the record that a view finds at a key, "" for nothing.
func read(t *testing.T, s *Store, key string) (out string) {
	t.Helper()
	if err := s.View(t.Context(), func(t *Txn) error {
		v, err := Get(t, []byte(key), decodeText)
		out = ""
		if v != nil {
			out = v.s
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAFailedChangeLeavesNothing: records, counters and log entries of a change that fails are not there.
func TestAFailedChangeLeavesNothing(t *testing.T) {
	s := openTest(t, memkv.New())
	if err := s.Update(t.Context(), put("ne1", "first")); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("no")
	err := s.Update(t.Context(), func(t *Txn) error {
		_ = put("ne1", "second")(t)
		t.Count(0, 7)
		t.Log([]byte("entry"))
		return failed
	})
	if !errors.Is(err, failed) || read(t, s, "ne1") != "first" || s.Counter(0) != 0 {
		t.Errorf("%v, %q, counter %d", err, read(t, s, "ne1"), s.Counter(0))
	}
	if err := s.Exclusive(func(_ *Txn, first, next uint64) error {
		if first != 1 || next != 1 {
			t.Errorf("the log holds %d to %d", first, next-1)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestTheLogIsBounded: entries have consecutive numbers, and the oldest go.
func TestTheLogIsBounded(t *testing.T) {
	engine := memkv.New()
	s := openTest(t, engine)
	for i := range 250 {
		if err := s.Update(t.Context(), func(t *Txn) error {
			t.Log([]byte(strconv.Itoa(i)))
			t.Count(1, 2)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	var kept []string
	if err := engine.Scan(t.Context(), []byte("nl"), []byte("nm"), func(_, v []byte) bool {
		kept = append(kept, string(v))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if len(kept) != 100 || kept[0] != "150" || kept[99] != "249" || s.Counter(1) != 500 {
		t.Errorf("%d entries, %v, counter %d", len(kept), kept, s.Counter(1))
	}
	if bounds, err := engine.Get(t.Context(), []byte("nmb")); err != nil || binary.BigEndian.Uint64(bounds) != 151 || binary.BigEndian.Uint64(bounds[8:]) != 251 {
		t.Errorf("bounds %x, %v", bounds, err)
	}
}

// TestADraftIsNotWritten: it says what a change would write, in the order of keys, and nobody sees it.
func TestADraftIsNotWritten(t *testing.T) {
	engine := memkv.New()
	s := openTest(t, engine)
	ops, err := s.Draft(t.Context(), func(t *Txn) error {
		t.Log([]byte("entry"))
		return put("ne1", "draft")(t)
	})
	if err != nil || len(ops) != 3 || string(ops[0].Key) != "ne1" || string(ops[2].Key) != "nmb" {
		t.Errorf("%v, %v", ops, err)
	}
	if read(t, s, "ne1") != "" {
		t.Error("a draft is seen")
	}
}

// TestCheckCacheFindsWhatDiffers: a record that was changed behind the store's back is named, and no other.
func TestCheckCacheFindsWhatDiffers(t *testing.T) {
	s := openTest(t, memkv.New())
	for _, k := range []string{"ne1", "ne2", "ne3"} {
		if err := s.Update(t.Context(), put(k, "right")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Writer().Enqueue(&kv.Batch{Ops: []kv.Op{{Key: []byte("ne2"), Value: []byte("wrong")}}}); err != nil {
		t.Fatal(err)
	}
	var wrong []string
	if err := s.CheckCache(t.Context(), func(k string) { wrong = append(wrong, k) }); err != nil || len(wrong) != 1 || wrong[0] != "ne2" {
		t.Errorf("%v, %v", wrong, err)
	}
}

// TestAClosedStoreRefuses: with the error that it was closed with.
func TestAClosedStoreRefuses(t *testing.T) {
	s := openTest(t, memkv.New())
	closed := errs.New(errs.Unavailable, "record.Test", "", "closed")
	if err := s.Close(closed); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), put("ne1", "late")); !errors.Is(err, closed) {
		t.Errorf("update: %v", err)
	}
	if err := s.View(t.Context(), func(*Txn) error { return nil }); !errors.Is(err, closed) {
		t.Errorf("view: %v", err)
	}
}

// TestSettleWaitsForWhatIsSent: a reader of the engine itself gets its answer only when what it may have seen is visible.
func TestSettleWaitsForWhatIsSent(t *testing.T) {
	h, s := openHeld(t)
	change := make(chan error)
	go func() { change <- s.Update(context.Background(), put("ne1", "sent")) }()
	<-h.entered
	settled := make(chan error)
	go func() { settled <- s.Settle(context.Background()) }()
	select {
	case <-settled:
		t.Error("it did not wait")
	case <-time.After(10 * time.Millisecond):
	}
	h.resume <- struct{}{}
	if err := errors.Join(<-settled, <-change); err != nil {
		t.Error(err)
	}
}
