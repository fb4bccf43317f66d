package pebblekv_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/platform/kv"
)

// TestLargeBatchesAfterACrash: batches larger than a memory table are unchanged when a start takes them from the log.
func TestLargeBatchesAfterACrash(t *testing.T) {
	const count = 20
	value := func(i int) []byte {
		v := make([]byte, []int{100, 60 << 10, 1 << 19}[i%3])
		_, _ = rand.NewChaCha8([32]byte{byte(i)}).Read(v)
		return v
	}
	fs := vfs.NewCrashableMem()
	s := open(t, "db", fs)
	w := acquire(t, s)

	for i := range count {
		var b kv.Batch
		b.Put(fmt.Appendf(nil, "k%06d", i), value(i))
		ticket, err := w.Enqueue(&b)
		if err == nil && i%5 == 4 {
			err = ticket.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	left := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, "db", left)
	for i := range count {
		if got, err := s.Get(t.Context(), fmt.Appendf(nil, "k%06d", i)); err != nil || !bytes.Equal(got, value(i)) {
			t.Errorf("batch %d of %d bytes: %d bytes, %v", i, len(value(i)), len(got), err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
