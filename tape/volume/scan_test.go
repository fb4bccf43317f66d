package volume_test

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"testing"

	"hemera/tape/volume"
	"hemera/words/errs"
)

// scan returns what a scan finds, in the order of the tape.
func scan(t *testing.T, v *volume.Volume, o volume.ScanOptions) (found []volume.Record) {
	t.Helper()
	if err := v.Scan(t.Context(), o, func(r volume.Record) error { found = append(found, r); return nil }); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(found)
	if !slices.IsSortedFunc(found, func(a, b volume.Record) int {
		return cmp.Or(cmp.Compare(a.FSeq, b.FSeq), cmp.Compare(a.Member, b.Member))
	}) {
		t.Errorf("not in order: %+v", found)
	}
	return found
}

func index(t *testing.T, a *volume.Appender) volume.Written {
	t.Helper()
	w, _, err := a.Index(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// twoSessions writes files 1 to 9: two sessions with two indexes and one, and a file at the end without one.
func twoSessions(t *testing.T, v *volume.Volume) (indexes []volume.Written) {
	t.Helper()
	a := appendTo(t, v, volume.Last{})
	put(t, a, 101, 1000, 1000)
	put(t, a, 102, 600_000, 1<<20)
	indexes = append(indexes, index(t, a)) // 3
	put(t, a, 104, 5000, 1000)
	indexes = append(indexes, index(t, a)) // 5
	if w := index(t, a); w != (volume.Written{}) {
		t.Errorf("an index without news: %+v", w)
	}
	a = appendTo(t, v, volume.Last{FSeq: 5, ArchiveID: volume.IndexID(5)})
	put(t, a, 106, 262144, 1000)
	put(t, a, 107, 262145, 1000)
	indexes = append(indexes, index(t, a)) // 8
	put(t, a, 109, 600_000, 1000)
	return indexes
}

var wanted = []struct {
	kind volume.RecordKind
	id   uint64
	size int64
}{
	{volume.KindFile, 101, 1000}, {volume.KindFile, 102, 600_000}, {volume.KindIndex, volume.IndexID(3), 0}, {volume.KindFile, 104, 5000},
	{volume.KindIndex, volume.IndexID(5), 0}, {volume.KindFile, 106, 262144}, {volume.KindFile, 107, 262145}, {volume.KindIndex, volume.IndexID(8), 0},
	{volume.KindFile, 109, 600_000},
}

func compare(t *testing.T, found []volume.Record, sums func(i int) bool) {
	t.Helper()
	if len(found) != len(wanted) {
		t.Fatalf("%d records: %+v", len(found), found)
	}
	for i, w := range wanted {
		r := found[i]
		if r.FSeq != uint64(i+1) || r.Kind != w.kind || r.ArchiveID != w.id || w.size != 0 && r.Size != w.size || r.Size == 0 {
			t.Errorf("record %d: %+v, want %+v", i, r, w)
		}
		if w.kind == volume.KindFile && sums(i) != (len(r.Sums) == 1 && r.Sums[0] == adler(content(r.ArchiveID, int(r.Size)))) {
			t.Errorf("record %d: checksums %v", i, r.Sums)
		}
	}
}

func TestAScanReadsIndexesAndLabels(t *testing.T) {
	_, v := labelled(t)
	twoSessions(t, v)
	found := scan(t, v, volume.ScanOptions{})
	compare(t, found, func(i int) bool { return i != 8 })
	if found[0].Path != "/f" || found[8].Path != "" {
		t.Errorf("paths %q and %q", found[0].Path, found[8].Path)
	}
	compare(t, scan(t, v, volume.ScanOptions{Data: true}), func(int) bool { return true })
}

func TestAScanWithoutIndexesReadsLabels(t *testing.T) {
	m, v := labelled(t)
	for _, w := range twoSessions(t, v) {
		m.Damage(int(w.Block)+4, 100)
	}
	compare(t, scan(t, v, volume.ScanOptions{}), func(int) bool { return false })
	compare(t, scan(t, v, volume.ScanOptions{Data: true}), func(int) bool { return true })
}

func TestAScanVisitsOneIndexOfASession(t *testing.T) {
	m, v := labelled(t)
	a := appendTo(t, v, volume.Last{})
	for i := range 50 {
		put(t, a, uint64(i+1), 1000, 1000)
		index(t, a)
	}
	before := m.Locates
	if found := scan(t, v, volume.ScanOptions{}); len(found) != 100 {
		t.Errorf("%d records", len(found))
	}
	if n := m.Locates - before; n > 6 {
		t.Errorf("%d locates for one session", n)
	}
}

func TestAScanOfAnEmptyTapeFindsNothing(t *testing.T) {
	_, v := labelled(t)
	if found := scan(t, v, volume.ScanOptions{}); len(found) != 0 {
		t.Errorf("%+v", found)
	}
}

// TestAScanAfterAPowerCut cuts at every object behind the last flush: what was complete is found, the rest is left out.
func TestAScanAfterAPowerCut(t *testing.T) {
	for some := range 30 {
		m, v := labelled(t)
		a := appendTo(t, v, volume.Last{})
		put(t, a, 1, 1000, 1000)
		index(t, a) // 2
		put(t, a, 3, 300_000, 1000)
		put(t, a, 4, 1000, 1000)
		m.PowerCut(some)
		v, err := volume.Open(t.Context(), m, vid, writer())
		if err != nil {
			t.Fatal(err)
		}
		want := 2
		if some >= 11 {
			want++
		}
		if some >= 11+10 {
			want++
		}
		if found := scan(t, v, volume.ScanOptions{}); len(found) != want {
			t.Errorf("%d objects behind the flush: %d records, want %d", some, len(found), want)
		}
		// And the next session goes on behind what the catalogue has.
		a = appendTo(t, v, volume.Last{FSeq: 2, ArchiveID: volume.IndexID(2)})
		check(t, v, put(t, a, 30, 5000, 1000))
	}
}

func TestMembersOfAContainerAreReadAlone(t *testing.T) {
	m, v := labelled(t)
	a := appendTo(t, v, volume.Last{})
	put(t, a, 1, 1000, 1000)
	fseq, block := a.Next()
	var members []volume.Record
	var data []byte
	for i, size := range []int{1, 300_000, 5, 262144, 77} {
		id := uint64(200 + i)
		members = append(members, volume.Record{ArchiveID: id, Size: int64(size), Path: "/small"})
		data = append(data, content(id, size)...)
	}
	if err := a.Begin(t.Context(), volume.ContainerID(fseq)); err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{volume.Table(vid, fseq, block, members), data} {
		if err := a.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	w, err := a.End(t.Context())
	if err != nil || w.FSeq != fseq || w.Block != block {
		t.Fatalf("%+v, %v; Next said %d, %d", w, err, fseq, block)
	}
	last := put(t, a, 3, 1000, 1000)
	c, err := v.OpenContainer(t.Context(), volume.Place{FSeq: fseq, Block: block})
	if err != nil || len(c.Members()) != len(members) {
		t.Fatalf("%+v, %v", c, err)
	}
	for _, n := range []uint32{4, 1, 2, 3, 5} {
		var got []byte
		err := c.ReadMember(t.Context(), n, func(b []byte) error { got = append(got, b...); return nil })
		if want := content(uint64(199+n), int(members[n-1].Size)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("member %d: %d bytes, %v", n, len(got), err)
		}
	}
	// In their order, and on to the next file, the tape never stops: neither for a block with the end of one member and the begin of the next, nor
	// for what is left out.
	before := m.Locates
	for _, n := range []uint32{1, 2, 4, 5} {
		if n == 1 {
			if c, err = v.OpenContainer(t.Context(), volume.Place{FSeq: fseq, Block: block}); err != nil {
				t.Fatal(err)
			}
			before = m.Locates
		}
		var got []byte
		err := c.ReadMember(t.Context(), n, func(b []byte) error { got = append(got, b...); return nil })
		if want := content(uint64(199+n), int(members[n-1].Size)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("member %d: %d bytes, %v", n, len(got), err)
		}
	}
	if _, err := v.OpenFile(t.Context(), volume.Place{FSeq: last.FSeq, Block: last.Block}); err != nil || m.Locates != before {
		t.Errorf("%d locates, %v", m.Locates-before, err)
	}
	// What cannot be read between is gone past.
	if c, err = v.OpenContainer(t.Context(), volume.Place{FSeq: fseq, Block: block}); err != nil {
		t.Fatal(err)
	}
	before = m.Locates
	m.Bad = map[uint64]bool{last.Block - 6: true}
	if _, err := v.OpenFile(t.Context(), volume.Place{FSeq: last.FSeq, Block: last.Block}); err != nil || m.Locates != before+1 {
		t.Errorf("%d locates, %v", m.Locates-before, err)
	}
	m.Bad = nil
	if err := c.ReadMember(t.Context(), 6, nil); !errors.Is(err, errs.NotFound) {
		t.Errorf("%v, want NotFound", err)
	}
	check(t, v, last)
	// Nobody noted the container, so a scan reads its table.
	found := scan(t, v, volume.ScanOptions{})
	if len(found) != 8 || found[1].Kind != volume.KindContainer || found[3].Member != 2 || found[3].ArchiveID != 201 || found[3].Path != "/small" {
		t.Errorf("%+v", found)
	}
}
