package journal

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// found is all records of a file.
func found(t *testing.T, file []byte, m Mark) []record {
	t.Helper()
	var all []record
	for from := newRecords(bytes.NewReader(file), m); ; {
		r, err := from.next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		r.batch = bytes.Clone(r.batch)
		all = append(all, r)
	}
}

func same(a, b record) bool {
	return a.number == b.number && a.durable == b.durable && bytes.Equal(a.batch, b.batch)
}

// TestRecordsBehindDamage: whichever byte is changed or wherever the file is cut off, all records but the one that has
// the place are found.
func TestRecordsBehindDamage(t *testing.T) {
	m := Mark{1, 2, 3, 1, 2, 3, 1, 2} // which begins again within itself
	wrote := []record{{1, 0, []byte("first")}, {2, 0, bytes.Repeat(m[:], 3)}, {2, 2, nil}, {3, 2, m[:4]}, {4, 3, []byte("last")}}
	file := []byte(magic)
	var ends []int
	for _, r := range wrote {
		file = r.appendTo(file, m)
		ends = append(ends, len(file))
	}
	file = append(file, make([]byte, 50)...)
	for at := range file {
		changed := bytes.Clone(file)
		changed[at] ^= 0x10
		for what, damaged := range map[string][]byte{"changed": changed, "cut": file[:at]} {
			var want []record
			start := len(magic)
			for i, r := range wrote {
				if what == "changed" && (at < start || at >= ends[i]) || what == "cut" && at >= ends[i] {
					want = append(want, r)
				}
				start = ends[i]
			}
			got := found(t, damaged, m)
			ok := len(got) == len(want)
			for i := range min(len(got), len(want)) {
				ok = ok && same(got[i], want[i])
			}
			if !ok {
				t.Fatalf("%s at %d: %v, not %v", what, at, got, want)
			}
		}
	}
}

// TestRecordsOfAnotherLife: what has another mark is none, whatever a user puts into a value.
func TestRecordsOfAnotherLife(t *testing.T) {
	ours, other := Mark{1}, Mark{2}
	forged := record{1 << 40, 1 << 39, []byte("forged")}.appendTo(nil, other)
	file := record{7, 6, forged}.appendTo(append([]byte(magic), forged...), ours)
	if got := found(t, file, ours); len(got) != 1 || got[0].number != 7 {
		t.Errorf("%v", got)
	}
}

// TestRecordsInALargeFile: records are found behind more than what is looked at at a time.
func TestRecordsInALargeFile(t *testing.T) {
	m := Mark{9, 9, 9, 9, 9, 9, 9, 8}
	for _, gap := range []int{recordHead + batchMax - 9, recordHead + batchMax - 3, recordHead + batchMax + 5, 3 * batchMax} {
		large := record{5, 4, bytes.Repeat([]byte{9}, batchMax)}
		file := bytes.Repeat([]byte{9}, gap)
		file = record{6, 5, []byte("x")}.appendTo(large.appendTo(file, m), m)
		if got := found(t, file, m); len(got) != 2 || !same(got[0], large) || got[1].number != 6 {
			t.Errorf("behind %d bytes: %d records", gap, len(got))
		}
	}
}

// FuzzRecords: no content of a file makes a reader of it fail or go beyond it.
func FuzzRecords(f *testing.F) {
	m := Mark{1, 2, 3, 4, 5, 6, 7, 8}
	f.Add(record{2, 1, []byte("batch")}.appendTo(nil, m))
	f.Add(append(m[:], 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff))
	f.Fuzz(func(t *testing.T, file []byte) {
		size := 0
		for _, r := range found(t, file, m) {
			size += recordHead + len(r.batch)
		}
		if size > len(file) {
			t.Errorf("%d bytes of records in %d", size, len(file))
		}
	})
}
