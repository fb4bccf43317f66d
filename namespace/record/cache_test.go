package record

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestACacheThatKnowsAllNames: what the cache says is not in the store is not there, however much of
// it was evicted; and while nothing was, it does say so.
func TestACacheThatKnowsAllNames(t *testing.T) {
	for _, size := range []int64{64 << 20, 512 << 10, 64 << 10} {
		r := rand.New(rand.NewPCG(uint64(size), 0))
		c := newCache(size, 'e', 10)
		stored := map[string]bool{}
		said := 0
		for dir := range 4 {
			c.markComplete(setKey(dir, ""))
		}
		for seq := range uint64(20_000) {
			k := setKey(r.IntN(5), fmt.Sprint(r.IntN(2000))) // the last was there before
			hash := c.hash(k)
			_, _, known := c.peek(hash, k)
			switch absent := c.knownAbsent(k); {
			case absent && !known && stored[string(k)]:
				t.Fatalf("%d bytes: %q is in the store", size, k)
			case absent && !known:
				said++
			}
			if r.IntN(2) == 0 {
				stored[string(k)] = true
				c.put(hash, k, record{value: &text{}, seq: seq})
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

// setKey returns a key of a set, or the prefix of its keys.
func setKey(set int, name string) []byte {
	return append(binary.BigEndian.AppendUint64([]byte("ne"), uint64(set)), name...)
}
