package namespace_test

import (
	"testing"
	"testing/synctest"

	"hemera/namespace"
	"hemera/platform/kv/kvtest"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestRelaxedDoesNotWait: the caller who asked for it does not wait for the disk; everybody else still
// waits for what they see of it.
func TestRelaxedDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := kvtest.NewGate(memkv.New())
		n := open(t, gate, namespace.Options{})
		must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), "/old", 0o755, false))
		gate.Shut()
		relaxed := namespace.Relaxed(t.Context())
		for what, fn := range map[string]func() error{
			"mkdir":  func() error { _, err := n.Tree.Mkdir(relaxed, alice(), "/new", 0o755, false); return err },
			"list":   func() error { return n.Tree.List(relaxed, alice(), "/", func(hemera.Entry) error { return nil }) },
			"remove": func() error { return n.Tree.Remove(relaxed, alice(), "/old", 0) },
		} {
			done, result := answer(fn)
			if !done() {
				t.Fatalf("%s waits", what)
			}
			if err := result(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		strict, seen := answer(func() error { _, err := n.Tree.Stat(t.Context(), alice(), "/old"); return swap(err, errs.NotFound) })
		if strict() {
			t.Error("another's answer did not wait for what it saw")
		}
		gate.Open(nil)
		if err := seen(); err != nil {
			t.Error(err)
		}
		checked(t, n)
	})
}
