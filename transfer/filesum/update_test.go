package filesum

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"hemera/rules/checksum"
	"hemera/words/hemera"
)

// linear returns the kinds that an update knows.
func linear() []hemera.ChecksumKind {
	return []hemera.ChecksumKind{hemera.Adler32, hemera.CRC32C, hemera.CRC32, hemera.ZCRC32, hemera.CRC64NVME}
}

// sumsOf reads all: it is the twin.
func sumsOf(t rapid.TB, p []byte, kinds []hemera.ChecksumKind) []hemera.Checksum {
	m, err := checksum.NewMulti(kinds...)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = m.Write(p)
	return m.Sums()
}

// TestUpdate: after any writes and cuts the sums are those of the content, and Cost says what is read.
func TestUpdate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := bytes.Repeat([]byte("what was there before. "), rapid.IntRange(0, 120_000).Draw(t, "base"))
		u := newUpdate(int64(len(base)), sumsOf(t, base, linear()), linear())
		now := bytes.Clone(base)
		for range rapid.IntRange(0, 8).Draw(t, "steps") {
			at := rapid.IntRange(0, len(now)+10_000).Draw(t, "at")
			if rapid.Bool().Draw(t, "cut") {
				now = append(now, make([]byte, max(0, at-len(now)))...)[:at]
				u.Cut(int64(at))
				continue
			}
			p := bytes.Repeat([]byte{byte(at)}, rapid.IntRange(1, 3<<20).Draw(t, "n"))
			now = append(now, make([]byte, max(0, at+len(p)-len(now)))...)
			copy(now[at:], p)
			u.Wrote(int64(at), int64(len(p)))
		}
		read := int64(0)
		from := func(of []byte) Read {
			return func(off int64, n int) ([]byte, error) {
				read += int64(n)
				return of[off : off+int64(n)], nil
			}
		}
		got, err := u.Sums(int64(len(now)), from(base), from(now))
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range sumsOf(t, now, linear()) {
			if got[i] != want {
				t.Errorf("%s, want %s", got[i], want)
			}
		}
		if cost, ok := u.Cost(int64(len(now))); !ok || cost != read {
			t.Errorf("%d bytes were read, and Cost says %d", read, cost)
		}
	})
}

func TestUpdateIsRefused(t *testing.T) {
	have := sumsOf(t, nil, []hemera.ChecksumKind{hemera.MD5, hemera.CRC32C})
	for _, kinds := range [][]hemera.ChecksumKind{{hemera.MD5}, {hemera.Adler32}, {hemera.CRC32C, hemera.CRC32C}} {
		if newUpdate(0, have, kinds) != nil {
			t.Errorf("%v do not follow from %v", kinds, have)
		}
	}
	var none *Update
	none.Wrote(0, 5)
	none.Cut(3)
	if _, ok := none.Cost(9); ok {
		t.Error("there is no update")
	}
}

func TestUpdateFailsAsItsReads(t *testing.T) {
	bad := errors.New("bad")
	fails := func(int64, int) ([]byte, error) { return nil, bad }
	reads := func(_ int64, n int) ([]byte, error) { return make([]byte, n), nil }
	u := newUpdate(0, sumsOf(t, nil, linear()), linear())
	u.Wrote(0, 5)
	if _, err := u.Sums(5, reads, fails); !errors.Is(err, bad) {
		t.Error(err)
	}
	u = newUpdate(5, sumsOf(t, make([]byte, 5), linear()), linear())
	u.Wrote(0, 5)
	if _, err := u.Sums(5, fails, reads); !errors.Is(err, bad) {
		t.Error(err)
	}
}
