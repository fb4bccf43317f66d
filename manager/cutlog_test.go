package manager

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"

	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestALastCommitThatTheLogLost: the manager told the head of a write that its content is in the store. A store without it ends the manager when
// that node registers, before an audit takes the pieces for those of a write that failed.
func TestALastCommitThatTheLogLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 2)
		cut := memkv.New()
		w, err := cut.Acquire(t.Context(), "copy")
		if err != nil {
			t.Fatal(err)
		}
		g := r.mustOpen("/last", hemera.AccessCreate)
		request := r.seal(g, 20)
		var all kv.Batch
		if err := r.store.Scan(t.Context(), []byte{0}, nil, func(k, v []byte) bool {
			all.Put(bytes.Clone(k), bytes.Clone(v))
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Enqueue(&all); err != nil {
			t.Fatal(err)
		}
		seen, err := r.m.Control.Commit(t.Context(), request)
		if err != nil || len(seen) != hemera.SeenMarkBytes {
			t.Fatalf("%x, %v", seen, err)
		}
		// Other changes may have been made meanwhile: the mark begins with the life of the store and the number of its last change.
		if again, err := r.m.Control.Commit(t.Context(), request); err != nil || len(again) != len(seen) || bytes.Compare(again[:16], seen[:16]) < 0 {
			t.Errorf("asked again: %x, %v", again, err)
		}
		r.store = cut
		r.restart()
		n := r.nodes[0]
		for what, mark := range map[string][]byte{"that knows nothing of it": nil, "that was told": seen} {
			_, err := r.m.Control.Register(t.Context(), hemera.NodeHello{ID: n.id, Addr: n.addr, Seen: mark})
			if (mark == nil) != (err == nil) || mark != nil && !errors.Is(err, errs.Corrupt) {
				t.Errorf("a node %s: %v", what, err)
			}
		}
	})
}
