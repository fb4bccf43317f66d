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

// TestNoDamageIsOverlooked damages one record after the other, each in every way below: the namespace
// must not open, or Check must find something. Left out are records that nothing else says anything
// about: the marks of removed files, and of some others what could as well be right.
func TestNoDamageIsOverlooked(t *testing.T) {
	pristine := storeOfEverything(t)
	var keys, values [][]byte
	if err := pristine.Scan(t.Context(), nil, nil, func(k, v []byte) bool {
		keys, values = append(keys, bytes.Clone(k)), append(values, bytes.Clone(v))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	tables := map[byte]int{}
	for i, k := range keys {
		if k[0] != 'n' || k[1] == 'r' {
			continue
		}
		tables[k[1]]++
		damages := map[string]func(b *kv.Batch){
			"deleted":       func(b *kv.Batch) { b.Delete(k) },
			"a byte longer": func(b *kv.Batch) { b.Put(k, append(bytes.Clone(values[i]), 0)) },
			"under another key": func(b *kv.Batch) {
				other := bytes.Clone(k)
				other[len(other)-1] ^= 0x40
				b.Delete(k)
				b.Put(other, values[i])
			},
		}
		if len(values[i]) > 0 {
			damages["cut"] = func(b *kv.Batch) { b.Put(k, values[i][:len(values[i])-1]) }
			damages["of another version"] = func(b *kv.Batch) {
				v := bytes.Clone(values[i])
				v[0] ^= 0x40
				b.Put(k, v)
			}
		}
		switch {
		case k[1] == 'u' || k[1] == 'b': // another piece, or another user
			delete(damages, "under another key")
		case string(k) == "nmi": // more ids
			delete(damages, "of another version")
		}
		for name, damage := range damages {
			s := copied(t, keys, values, damage)
			if err := whole(t, s); err == nil {
				t.Errorf("%q, which is %x, %s: not noticed", k, values[i], name)
			}
		}
	}
	if len(tables) < 12 {
		t.Errorf("records of only %d tables: %v", len(tables), tables)
	}
}

// storeOfEverything has records in every table.
func storeOfEverything(t *testing.T) kv.Store {
	t.Helper()
	s := memkv.New()
	n := open(t, s, namespace.Options{})
	ctx := t.Context()
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), "/a/b", 0o755, true))
	put(t, n, alice(), "/a/f", 10)
	put(t, n, bob(), "/g", 20)
	short := prepare(t, n, alice(), "/a/short")
	short.Size, short.Pieces = 30, short.Pieces[:1]
	must[hemera.Entry](t)(n.Writes.Commit(ctx, short))
	put(t, n, alice(), "/a/f", 11)
	put(t, n, alice(), "/gone", 5)
	err := errors.Join(
		n.Tree.SetXattr(ctx, alice(), "/a/f", "user.x", []byte("y"), false),
		n.Tree.Remove(ctx, alice(), "/gone", 0),
		n.Quotas.SetQuota(ctx, system(), hemera.QuotaKey{Path: "/a", Kind: hemera.QuotaUser, ID: 1000}, hemera.QuotaAmount{Files: 100}),
		n.Quotas.SetQuota(ctx, system(), hemera.QuotaKey{Path: "/", Kind: hemera.QuotaProject}, hemera.QuotaAmount{Bytes: 1 << 40}),
		n.Quotas.CountQuotas(ctx),
		n.Close())
	if err != nil {
		t.Fatal(err)
	}
	if err := whole(t, s); err != nil {
		t.Fatal(err)
	}
	return s
}

func copied(t *testing.T, keys, values [][]byte, damage func(b *kv.Batch)) kv.Store {
	t.Helper()
	s := memkv.New()
	w := must[kv.Writer](t)(s.Acquire(t.Context(), "copy"))
	b := new(kv.Batch)
	for i := range keys {
		b.Put(keys[i], values[i])
	}
	damage(b)
	must[kv.Ticket](t)(w.Enqueue(b))
	return s
}

// whole returns the problems of a store.
func whole(t *testing.T, s kv.Store) error {
	n, err := namespace.Open(t.Context(), s, namespace.Options{})
	if err != nil {
		return err
	}
	return errors.Join(flawless(t.Context(), n), n.Close())
}

// TestAFileWithoutItsDirectoryIsCorrupt: a directory whose location is gone is damage that calls name, whatever they do with a file in it.
func TestAFileWithoutItsDirectoryIsCorrupt(t *testing.T) {
	s, ctx := memkv.New(), t.Context()
	n := open(t, s, namespace.Options{})
	dir := must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), "/d", 0o777, false))
	f := put(t, n, alice(), "/d/f", 10)
	c := prepare(t, n, alice(), "/d/f")
	good(t, n.Close())
	plant(t, s, []change{gone("ni" + be(uint64(dir.ID)))})
	n = open(t, s, namespace.Options{})
	_, _, err := n.Inspection.Resolve(ctx, f.ID)
	wantKind(t, "resolve", err, errs.Corrupt)
	_, _, err = n.Lifecycle.RuleAttributes(ctx, f.ID)
	wantKind(t, "rules", err, errs.Corrupt)
	_, _, err = n.Writes.PrepareConversion(ctx, f.ID, f.Gen)
	wantKind(t, "conversion", err, errs.Corrupt)
	wantKind(t, "move of a piece", n.Pieces.MovePieces(ctx, namespace.PieceMove{File: f.ID, Gen: f.Gen, Drop: f.Pieces[:1], Add: []hemera.Piece{{Disk: 7}}}), errs.Corrupt)
	c.Size = 11
	_, err = n.Writes.Commit(ctx, c)
	wantKind(t, "commit", err, errs.Corrupt)
}
