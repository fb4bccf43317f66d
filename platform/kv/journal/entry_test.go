package journal_test

import (
	"bytes"
	"errors"
	"testing"

	"hemera/platform/kv/journal"
	"hemera/words/errs"
)

// TestEntryBytes holds the stored format.
func TestEntryBytes(t *testing.T) {
	e := journal.Entry{Seq: 2, Epoch: 3, Prev: 4, Batch: []byte("b")}
	got, err := e.Encode()
	want := []byte("\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x04b")
	if err != nil || !bytes.Equal(got[:len(got)-8], want) || len(got) != len(want)+8 {
		t.Errorf("encoded %q, %v", got, err)
	}
	back, at, err := journal.Decode(got)
	if err != nil || back.Seq != 2 || back.Epoch != 3 || back.Prev != 4 || string(back.Batch) != "b" || at != e.Position() {
		t.Errorf("decoded %+v at %+v, %v; the position is %+v", back, at, err, e.Position())
	}
	for i := range got { // a flipped bit anywhere
		got[i] ^= 1
		if _, _, err := journal.Decode(got); !errors.Is(err, errs.Corrupt) {
			t.Errorf("byte %d flipped: %v", i, err)
		}
		got[i] ^= 1
	}
}

// FuzzDecode: bytes of others make an error or an entry that is encoded to the same bytes.
func FuzzDecode(f *testing.F) {
	encoded, _ := journal.Entry{Seq: 1, Epoch: 1, Batch: []byte("batch")}.Encode()
	f.Add(encoded)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, _, err := journal.Decode(raw)
		if err != nil {
			return
		}
		if again, err := e.Encode(); err != nil || !bytes.Equal(again, raw) {
			t.Errorf("%q was encoded to %q, %v", raw, again, err)
		}
	})
}
