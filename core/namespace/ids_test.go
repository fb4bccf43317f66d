package namespace

import (
	"hemera/core/namespace/schema"
	"sync"
	"testing"

	"hemera/platform/kv/memkv"
)

// TestIDsAreTakenOnce: whoever asks how often, and whatever is reserved meanwhile, a number is given
// out once, and only when the store says that it is taken.
func TestIDsAreTakenOnce(t *testing.T) {
	s := memkv.New()
	n, err := Open(t.Context(), s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const takers, each = 8, idRange / 3
	taken := make([]bool, (takers*each/idRange+4)*idRange)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range takers {
		wg.Go(func() {
			var mine []uint64
			for i := range each {
				id, err := n.takeID(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if i%1000 == 0 {
					if stored, err := n.pair(t.Context(), schema.MetaIDs); err != nil || id >= stored[0] {
						t.Errorf("id %d, but the store has %d, %v", id, stored[0], err)
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
	again, err := Open(t.Context(), s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	id, err := again.takeID(t.Context())
	if err != nil || id < takers*each {
		t.Errorf("after a restart: id %d, %v", id, err)
	}
	if int(id) < len(taken) && taken[id] {
		t.Errorf("id %d was given out before the restart", id)
	}
}
