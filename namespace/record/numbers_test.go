package record

import (
	"encoding/binary"
	"sync"
	"testing"

	"hemera/platform/kv/memkv"
)

// TestIDsAreTakenOnce: however many callers there are, and whatever is reserved meanwhile, a number is given
// out once, and only when the store says that it is taken.
func TestIDsAreTakenOnce(t *testing.T) {
	engine, key := memkv.New(), []byte("nmi")
	s := openTest(t, engine)
	n := NewNumbers(s, key, 2, encodeNumber)
	const takers, each = 8, numberRange / 3
	taken := make([]bool, (takers*each/numberRange+4)*numberRange)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range takers {
		wg.Go(func() {
			var mine []uint64
			for i := range each {
				id, err := n.Take(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if i%1000 == 0 {
					if stored, err := engine.Get(t.Context(), key); err != nil || id >= binary.BigEndian.Uint64(stored) {
						t.Errorf("id %d, but the store has %x, %v", id, stored, err)
					}
				}
				mine = append(mine, id)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, id := range mine {
				if taken[id] {
					t.Errorf("id %d was given out twice", id)
				}
				taken[id] = true
			}
		})
	}
	wg.Wait()
	stored, err := engine.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	again := NewNumbers(openTest(t, engine), key, binary.BigEndian.Uint64(stored), encodeNumber)
	id, err := again.Take(t.Context())
	if err != nil || id < takers*each {
		t.Errorf("after a restart: id %d, %v", id, err)
	}
	if int(id) < len(taken) && taken[id] {
		t.Errorf("id %d was given out before the restart", id)
	}
}
