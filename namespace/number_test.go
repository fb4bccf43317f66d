package namespace_test

import (
	"bytes"
	"errors"
	"testing"

	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestNumbersGivenOutTwice: a manager over an older copy of the store gives numbers out once more. When the right
// store is back, a write that began there fails, and does not get the file that has its number for an answer;
// a commit that comes again succeeds.
func TestNumbersGivenOutTwice(t *testing.T) {
	store := memkv.New()
	ctx := t.Context()
	put(t, open(t, store, namespace.Options{}), alice(), "/base", 5)
	older := memkv.New()
	w, err := older.Acquire(ctx, "copy")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Scan(ctx, []byte{0}, nil, func(k, v []byte) bool {
		_, err := w.Enqueue(&kv.Batch{Ops: []kv.Op{{Key: bytes.Clone(k), Value: bytes.Clone(v)}}})
		return err == nil
	}); err != nil {
		t.Fatal(err)
	}
	sum := func(b byte) []hemera.Checksum {
		return []hemera.Checksum{{Kind: hemera.CRC32C, Value: [32]byte{b}}}
	}
	right, stale := open(t, store, namespace.Options{}), open(t, older, namespace.Options{})
	for path, other := range map[string]string{"/new": "/other", "/base": "/base"} { // a file, and a content of one
		mine, theirs := prepare(t, right, alice(), path), prepare(t, stale, alice(), other)
		if mine.ID != theirs.ID || mine.Gen != theirs.Gen {
			t.Fatalf("%s: %d.%d and %d.%d", path, mine.ID, mine.Gen, theirs.ID, theirs.Gen)
		}
		mine.Size, mine.Sums = 10, sum(1)
		made := must[hemera.Entry](t)(right.Writes.Commit(ctx, mine))
		if again := must[hemera.Entry](t)(right.Writes.Commit(ctx, mine)); again.Gen != made.Gen {
			t.Errorf("%s: the commit came again: %+v", path, again)
		}
		theirs.Size, theirs.Sums = 10, sum(2)
		if _, err := right.Writes.Commit(ctx, theirs); !errors.Is(err, errs.Conflict) {
			t.Errorf("%s: other bytes: %v", path, err)
		}
		theirs.Size, theirs.Sums = 11, sum(1)
		if _, err := right.Writes.Commit(ctx, theirs); !errors.Is(err, errs.Conflict) {
			t.Errorf("%s: another size: %v", path, err)
		}
		if now := must[hemera.Entry](t)(right.Tree.Stat(ctx, alice(), path)); now.Size != 10 || now.Checksums[0] != sum(1)[0] {
			t.Errorf("%s: %+v", path, now)
		}
	}
}
