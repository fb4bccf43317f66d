package checksum

import (
	"bytes"
	"testing"

	"hemera/words/hemera"
)

// linearKinds returns the kinds that Change supports.
func linearKinds() (kinds []hemera.ChecksumKind) {
	for _, k := range hemera.ChecksumKinds() {
		if SkipsZeros(k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// sumsOf computes the checksums of all of p. It is the twin of a Change.
func sumsOf(t *testing.T, p []byte) []hemera.Checksum {
	t.Helper()
	m, err := NewMulti(linearKinds()...)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = m.Write(p)
	return m.Sums()
}

// becomes changes base to now at the parts that differ, as an update does at its close.
func becomes(c *Change, base, now []byte, parts [][2]int) []hemera.Checksum {
	for _, part := range parts {
		if from, to := part[0], min(part[1], len(base)); from < to {
			c.Remove(base[from:to], int64(from))
		}
	}
	c.Resize(int64(len(now)))
	for _, part := range parts {
		if from, to := part[0], min(part[1], len(now)); from < to {
			c.Add(now[from:to], int64(from))
		}
	}
	return c.Sums()
}

func TestChange(t *testing.T) {
	base := randomBytes(1, 20_000)
	over := bytes.Clone(base)
	copy(over[5000:], randomBytes(2, 300))
	over[19_999]++
	for _, c := range []struct {
		name      string
		base, now []byte
		parts     [][2]int
	}{
		{"nothing", base, base, nil},
		{"all of an empty content", nil, base, [][2]int{{0, 20_000}}},
		{"to nothing", base, nil, [][2]int{{0, 20_000}}},
		{"overwritten in two places", base, over, [][2]int{{5000, 5300}, {19_999, 20_000}}},
		{"appended", base, append(bytes.Clone(base), 1, 2, 3), [][2]int{{20_000, 20_003}}},
		{"appended behind a hole", base, append(bytes.Clone(base), make([]byte, 70_000)...), nil},
		{"cut", base, base[:3], [][2]int{{3, 20_000}}},
		{"bytes that did not change", base, base, [][2]int{{10, 20}}},
		{"zeros", make([]byte, 300), make([]byte, 400), [][2]int{{10, 20}}},
	} {
		got := becomes(NewChange(int64(len(c.base)), sumsOf(t, c.base)), c.base, c.now, c.parts)
		for i, want := range sumsOf(t, c.now) {
			if got[i] != want {
				t.Errorf("%s: %s, want %s", c.name, got[i], want)
			}
		}
	}
}

// A content of a petabyte grows and is cut again.
func TestChangeOfManyZeros(t *testing.T) {
	p := randomBytes(5, 100)
	for i, want := range sumsOf(t, p) {
		c := NewChange(int64(len(p)), []hemera.Checksum{want})
		c.Resize(hemera.FileSizeMax)
		c.Add(p, hemera.FileSizeMax-100)
		c.Remove(p, hemera.FileSizeMax-100)
		c.Resize(int64(len(p)))
		if got := c.Sums()[0]; got != want {
			t.Errorf("%d: %s, want %s", i, got, want)
		}
	}
}

func TestChangeKnowsNoDigests(t *testing.T) {
	sum, err := Of(hemera.MD5, nil)
	if err != nil {
		t.Fatal(err)
	}
	if NewChange(0, []hemera.Checksum{sum}) != nil {
		t.Error("md5 is not linear")
	}
}

// FuzzChange compares a change of part of a content, and of its size, with reading all of it.
func FuzzChange(f *testing.F) {
	f.Add([]byte("what was there before"), []byte("now"), uint16(4), uint16(30))
	f.Add([]byte{}, []byte{1}, uint16(0), uint16(0))
	f.Fuzz(func(t *testing.T, base, with []byte, off, size uint16) {
		now := append(bytes.Clone(base), make([]byte, max(0, int(size)-len(base)))...)[:size]
		from := min(int(off), len(now))
		n := copy(now[from:], with)
		parts := [][2]int{{from, from + n}}
		if int(size) < len(base) {
			parts = [][2]int{{from, from + n}, {max(int(size), from+n), len(base)}}
		}
		got := becomes(NewChange(int64(len(base)), sumsOf(t, base)), base, now, parts)
		for i, want := range sumsOf(t, now) {
			if got[i] != want {
				t.Errorf("%s, want %s", got[i], want)
			}
		}
	})
}
