package checkpoint_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"hemera/platform/kv/checkpoint"
	"hemera/words/errs"
)

// small returns a manifest of two files.
func small() *checkpoint.Manifest {
	return &checkpoint.Manifest{Last: 0x0102, Files: []checkpoint.File{
		{Name: "a.sst", Size: checkpoint.BlockSize + 1, Sums: []uint64{0x1111, 0x2222}},
		{Name: "wal/state"},
	}}
}

// TestStoredBytes: the format is that of docs/formats/checkpoint.md, byte by byte.
func TestStoredBytes(t *testing.T) {
	b, err := small().Encode()
	if err != nil {
		t.Fatal(err)
	}
	want := hex.EncodeToString([]byte("hemera-checkpoint 1\n")) +
		"0000000000000102" + "0000000000100001" + "00000002" +
		"0005" + hex.EncodeToString([]byte("a.sst")) + "0000000000100001" + "0000000000001111" + "0000000000002222" +
		"0009" + hex.EncodeToString([]byte("wal/state")) + "0000000000000000" +
		"317c240e747ab0e8"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("stored\n%s, want\n%s", got, want)
	}
	m, err := checkpoint.Decode(b)
	if err != nil || m.Last != 0x0102 || m.Bytes() != checkpoint.BlockSize+1 || len(m.Files) != 2 || m.Files[0].Sums[1] != 0x2222 {
		t.Errorf("read %+v, %v", m, err)
	}
}

// sealed returns the bytes of a manifest that was changed, with a right sum.
func sealed(t testing.TB, m *checkpoint.Manifest, change func([]byte) []byte) []byte {
	t.Helper()
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	b = change(b[:len(b)-8])
	return binary.BigEndian.AppendUint64(b, xxh3.Hash(b))
}

// TestDecodeRefuses: no damage gets through, also not with a right sum.
func TestDecodeRefuses(t *testing.T) {
	whole, err := small().Encode()
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 1
		if _, err := checkpoint.Decode(b); err == nil {
			t.Errorf("bit %d flipped: no error", i)
		}
		if _, err := checkpoint.Decode(whole[:i]); !errors.Is(err, errs.Corrupt) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	set := func(at int, value ...byte) func([]byte) []byte {
		return func(b []byte) []byte { copy(b[at:], value); return b }
	}
	const total, count, length, name, size = 28, 36, 40, 42, 47
	for title, change := range map[string]func([]byte) []byte{
		"total":               set(total, 1),
		"many files":          set(count, 0, 0xff),
		"no files":            func(b []byte) []byte { return append(b[:count-8], make([]byte, 12)...) },
		"more files":          set(count, 0, 0, 0, 3),
		"fewer files":         set(count, 0, 0, 0, 1),
		"long name":           set(length, 0xff),
		"empty name":          set(length, 0, 0),
		"mad size":            set(size, 0xff),
		"other size":          set(size, 0, 0, 0, 0, 0, 0),
		"above the directory": set(name, []byte("../ab")...),
		"absolute":            set(name, []byte("/a.ss")...),
		"not clean":           set(name, []byte("a//bc")...),
		"dot":                 set(name, []byte("./abc")...),
		"zero byte":           set(name, 'a', 0),
		"backslash":           set(name, 'a', '\\'),
		"not in order":        set(name, 'x'),
		"more bytes":          func(b []byte) []byte { return append(b, 0) },
	} {
		m, err := checkpoint.Decode(sealed(t, small(), change))
		if !errors.Is(err, errs.Corrupt) || m != nil {
			t.Errorf("%s: %v, %v", title, m, err)
		}
	}
	if _, err := checkpoint.Decode(sealed(t, small(), set(18, '2'))); !errors.Is(err, errs.Unsupported) || errs.RemedyOf(err) == "" {
		t.Errorf("a later version: %v", err)
	}
}

// TestEncodeRefuses: what Decode would refuse is not stored.
func TestEncodeRefuses(t *testing.T) {
	for title, files := range map[string][]checkpoint.File{
		"none":              {},
		"sums without size": {{Name: "a", Sums: []uint64{1}}},
		"size without sums": {{Name: "a", Size: 1}},
		"negative":          {{Name: "a", Size: -1}},
		"twice":             {{Name: "a"}, {Name: "a"}},
		"file and parent":   {{Name: "a"}, {Name: "a-b"}, {Name: "a/b"}},
		"root":              {{Name: "."}},
		"long":              {{Name: strings.Repeat("a", 256)}},
		"deep":              {{Name: strings.Repeat("a/", 8) + "a"}},
	} {
		if _, err := (&checkpoint.Manifest{Files: files}).Encode(); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", title, err)
		}
	}
	if _, err := (&checkpoint.Manifest{Files: make([]checkpoint.File, 1<<20+1)}).Encode(); !errors.Is(err, errs.TooLarge) {
		t.Errorf("too many files: %v", err)
	}
	large := checkpoint.File{Name: "a", Size: 9 << 20 * checkpoint.BlockSize, Sums: make([]uint64, 9<<20)}
	if _, err := (&checkpoint.Manifest{Files: []checkpoint.File{large}}).Encode(); !errors.Is(err, errs.TooLarge) {
		t.Errorf("too many sums: %v", err)
	}
}

// FuzzDecode: any bytes are refused, or are those that Encode makes of the manifest.
func FuzzDecode(f *testing.F) {
	b, err := small().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[:len(b)-8], true)
	f.Add(b, false)
	f.Add([]byte("hemera-checkpoint 2\n"), true)
	f.Fuzz(func(t *testing.T, b []byte, seal bool) {
		if seal { // the fuzzer does not find a sum
			b = binary.BigEndian.AppendUint64(bytes.Clone(b), xxh3.Hash(b))
		}
		m, err := checkpoint.Decode(b)
		if err != nil {
			return
		}
		again, err := m.Encode()
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("%x is read, and stored as %x, %v", b, again, err)
		}
	})
}
