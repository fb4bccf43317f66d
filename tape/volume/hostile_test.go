package volume_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"hemera/rules/checksum"
	"hemera/tape/internal/memtape"
	"hemera/tape/volume"
	"hemera/words/errs"
)

// members returns the members of the containers of these tests.
func members() []volume.Record {
	return []volume.Record{{ArchiveID: 3, Size: 5, Path: "/a"}, {ArchiveID: 4, Size: volume.BlockSize, Path: "/b"}, {ArchiveID: 5, Size: 7, Path: "/c"}}
}

// contained returns a tape with one container that has the table, and data behind it.
func contained(tb testing.TB, table []byte, data int) *volume.Volume {
	tb.Helper()
	return single(tb, volume.ContainerID(1), append(table, content(3, data)...))
}

// single returns a tape with one tape file.
func single(tb testing.TB, id uint64, data []byte) *volume.Volume {
	tb.Helper()
	m := &memtape.Tape{}
	if err := volume.Format(tb.Context(), m, volume.Label{VID: vid}, writer()); err != nil {
		tb.Fatal(err)
	}
	v, err := volume.Open(tb.Context(), m, vid, writer())
	if err != nil {
		tb.Fatal(err)
	}
	a, err := v.Append(tb.Context(), volume.Known{})
	if err == nil {
		err = a.Begin(tb.Context(), id)
	}
	for text := bytes.NewBuffer(data); err == nil && text.Len() > 0; {
		err = a.Write(tb.Context(), text.Next(volume.BlockSize))
	}
	if err == nil {
		_, err = a.End(tb.Context())
	}
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// resealed returns a table with a part replaced, and the checksum that it needs for that.
func resealed(tb testing.TB, table []byte, old, with string) []byte {
	tb.Helper()
	text := unsealed(table)
	if !strings.Contains(text, old) {
		tb.Fatalf("no %s in %s", old, text)
	}
	return sealed(strings.Replace(text, old, with, 1))
}

// TestATableThatCannotBe: whatever the table of a container says, with a right checksum, is an error with its place.
func TestATableThatCannotBe(t *testing.T) {
	table := volume.Table(vid, 1, 0, members())
	for _, one := range []struct{ old, with, text string }{
		{`"offset":5`, `"offset":-5`, "member 2 has 262144 bytes from byte -5 on"},
		{`"offset":5`, `"offset":4`, "the one before it ends at byte 5"},
		{`"offset":5`, `"offset":6`, "the one before it ends at byte 5"},
		{`"offset":5`, `"offset":9223372036854775807`, "member 2"},
		{`"size":5`, `"size":-5`, "member 1 has -5 bytes"},
		{`"size":262144`, `"size":9223372036854775807`, "member 2"},
		{`"member":2`, `"member":1`, "line 3 is one of member 1"},
		{`"kind":"member"`, `"kind":"file"`, "line 2"},
		{`"fSeq":1,"blockId":0,"archiveId":"3"`, `"fSeq":7,"blockId":0,"archiveId":"3"`, "of file 7"},
		{`"data":262144`, `"data":-262144`, "its data begins at byte -262144"},
		{`"data":262144`, `"data":100`, "its data begins at byte 100"},
		{`"data":262144`, `"data":9223372036854513664`, "its data begins"},
		{`"vid":"V01007"`, `"vid":"V01008"`, "V01008"},
	} {
		v := contained(t, resealed(t, table, one.old, one.with), 5+volume.BlockSize+7)
		_, err := v.OpenContainer(t.Context(), volume.Place{FSeq: 1})
		if errs.KindOf(err) != errs.Corrupt || !strings.Contains(err.Error(), one.text) || !strings.Contains(err.Error(), "container 1 at block 1") {
			t.Errorf("%s: %v", one.with, err)
		}
	}
	// Data that ends before a member does, within a block and with one.
	for _, data := range []int{5 + volume.BlockSize + 6, volume.BlockSize, 3, 0} {
		c, err := contained(t, bytes.Clone(table), data).OpenContainer(t.Context(), volume.Place{FSeq: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.ReadMember(t.Context(), 3, func([]byte) error { return nil }); err == nil {
			t.Errorf("%d bytes of data: a member that is not there was read", data)
		}
	}
}

// sealed returns a text as a table or an index: with its end, and padding to a whole block.
func sealed(text string) []byte {
	text += fmt.Sprintf("{\"end\":true,\"count\":%d,\"crc32c\":\"%08x\"}\n", strings.Count(text, "\n")-1, checksum.CRC32C([]byte(text)))
	return append([]byte(text), bytes.Repeat([]byte{'\n'}, (volume.BlockSize-len(text)%volume.BlockSize)%volume.BlockSize)...)
}

// unsealed returns the text without its end.
func unsealed(table []byte) string {
	text, _, _ := strings.Cut(string(table), `{"end":true,`)
	return text
}

// FuzzContainer reads containers with any table: no panic, and each member that is read has its size.
func FuzzContainer(f *testing.F) {
	text := unsealed(volume.Table(vid, 1, 0, members()))
	f.Add(text, 5+volume.BlockSize+7)
	f.Add(strings.Replace(text, `"offset":5`, `"offset":-5`, 1), 100)
	f.Add(strings.Replace(text, `"data":262144`, `"data":1`, 1), 100)
	f.Add("{}\n", 0)
	f.Fuzz(func(t *testing.T, text string, data int) {
		v := contained(t, sealed(text), min(max(data, 0), 2*volume.BlockSize))
		c, err := v.OpenContainer(t.Context(), volume.Place{FSeq: 1})
		if err != nil {
			return
		}
		for i, m := range c.Members() {
			n := int64(0)
			err := c.ReadMember(t.Context(), uint32(i+1), func(b []byte) error {
				n += int64(len(b))
				return nil
			})
			if err == nil && n != m.Size {
				t.Fatalf("member %d has %d bytes, not %d", i+1, n, m.Size)
			}
		}
	})
}

// FuzzTape scans tapes with any index, table or file: no panic, and an end.
func FuzzTape(f *testing.F) {
	f.Add(`{"format":"hemera tape index","version":1,"vid":"V01007","fSeq":1,"first":1}`+"\n", uint8(0), false)
	f.Add(`{"format":"hemera tape index","version":1}`+"\n", uint8(0), true)
	f.Add(unsealed(volume.Table(vid, 1, 0, members())), uint8(1), true)
	f.Add("a file", uint8(2), false)
	f.Fuzz(func(t *testing.T, text string, kind uint8, read bool) {
		v := single(t, []uint64{volume.IndexID(1), volume.ContainerID(1), 7}[kind%3], sealed(text))
		found := 0
		_ = v.Scan(t.Context(), volume.ScanOptions{Data: read}, func(volume.Record) error {
			if found++; found > len(text)+2 {
				t.Fatalf("%d records of %d bytes", found, len(text))
			}
			return nil
		})
	})
}
