package namespace

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"hemera"
	"hemera/core/namespace/schema"
)

// TestACacheThatKnowsAllNames: what the cache says is not in the store is not there, however much of
// it was evicted; and while nothing was, it does say so.
func TestACacheThatKnowsAllNames(t *testing.T) {
	for _, size := range []int64{64 << 20, 512 << 10, 64 << 10} {
		r := rand.New(rand.NewPCG(uint64(size), 0))
		c := newCache(size)
		stored := map[string]bool{}
		said := 0
		for dir := range hemera.FileID(4) {
			c.begun(uint64(dir))
		}
		for seq := range uint64(20_000) {
			k := schema.EntryKey(hemera.FileID(r.IntN(5)), fmt.Sprint(r.IntN(2000))) // the last was there before
			hash := c.hash(k)
			_, _, known := c.again(hash, k)
			switch without := c.without(k); {
			case without && !known && stored[string(k)]:
				t.Fatalf("%d bytes: %q is in the store", size, k)
			case without && !known:
				said++
			}
			if r.IntN(2) == 0 {
				stored[string(k)] = true
				c.put(hash, k, record{value: &hemera.Entry{}, seq: seq})
			} else if known {
				delete(stored, string(k))
				c.put(hash, k, record{seq: seq})
			}
		}
		if size == 64<<20 && said < 1000 || size == 64<<10 && said > 1000 {
			t.Errorf("%d bytes: absence was known %d times", size, said)
		}
	}
}
