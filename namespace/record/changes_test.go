package record

import (
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"testing"

	"hemera/platform/kv"
)

// TestChangesAreRolledBack holds the table against a map that is copied at every keep.
func TestChangesAreRolledBack(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 0))
		c := newChanges(maphash.MakeSeed(), nil)
		now, kept := map[string]string{}, map[string]string{}
		for step := range 1000 {
			k := fmt.Sprintf("nz%d", r.IntN(40))
			switch r.IntN(10) {
			case 0:
				c.keep()
				kept = maps.Clone(now)
			case 1:
				c.rollBack()
				now = maps.Clone(kept)
			case 2:
				c.set([]byte(k), nil, nil, 0)
				now[k] = ""
			default:
				v := fmt.Sprint(step)
				c.set([]byte(k), Opaque{}, []byte(v), len(v))
				now[k] = v
			}
			if r.IntN(500) == 0 {
				c.reset()
				now, kept = map[string]string{}, map[string]string{}
			}
			compare(t, c, now)
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
		}
	}
}

func compare(t *testing.T, c *changes, want map[string]string) {
	size := 0
	for k, v := range want {
		size += len(k) + len(v)
		if got, ok := c.get([]byte(k), maphash.String(c.seed, k)); !ok || (got == nil) != (v == "") {
			t.Errorf("%s: %v %t, want %q", k, got, ok, v)
		}
	}
	b := c.batch()
	if err := kv.Check(b); err != nil {
		t.Error(err)
	}
	last := ""
	for _, op := range b.Ops {
		k := string(op.Key)
		if k <= last || want[k] != string(op.Value) || op.Delete != (want[k] == "") {
			t.Errorf("%s: %q, deleted %t, want %q; after %s", k, op.Value, op.Delete, want[k], last)
		}
		last = k
	}
	if len(b.Ops) != len(want) || c.bytes != size {
		t.Errorf("%d changes of %d bytes, want %d of %d", len(b.Ops), c.bytes, len(want), size)
	}
}
