package load

import (
	"bytes"
	"compress/flate"
	"math/rand/v2"
	"testing"
)

// byteAt returns one byte of the content, computed from its description.
func byteAt(c *content, file uint64, off int64) byte {
	base, stamp := c.page(file, off/pageSize)
	return base[off%pageSize] ^ byte(stamp>>(8*(off%wordSize)))
}

func TestContentIsTheSameInAnyParts(t *testing.T) {
	c, dice := newContent(1), rand.New(rand.NewPCG(1, 2))
	for range 500 {
		file, off, p := uint64(dice.IntN(3)), dice.Int64N(5*pageSize), make([]byte, dice.IntN(3*pageSize))
		c.fill(p, file, off)
		for i := range p {
			if p[i] != byteAt(c, file, off+int64(i)) {
				t.Fatalf("file %d: byte %d of %d from %d on differs", file, i, len(p), off)
			}
		}
		if at := c.check(p, file, off); at != -1 {
			t.Fatalf("file %d from %d on: %d is called wrong", file, off, at)
		}
		if len(p) == 0 {
			continue
		}
		i := dice.IntN(len(p))
		p[i] ^= 1 << dice.IntN(8)
		if at := c.check(p, file, off); at < off || at > off+int64(i) || off+int64(i)-at >= pageSize {
			t.Fatalf("file %d from %d on: the changed byte %d was found at %d", file, off, i, at)
		}
	}
}

func TestContentOfAnotherPlaceIsNoticed(t *testing.T) {
	c, p := newContent(1), make([]byte, 2*pageSize)
	c.fill(p, 7, pageSize)
	for _, other := range []struct {
		file uint64
		off  int64
	}{{8, pageSize}, {7, 0}, {7, 2 * pageSize}} {
		if c.check(p, other.file, other.off) < 0 {
			t.Errorf("it passes for %+v", other)
		}
	}
	if newContent(2).check(p, 7, pageSize) < 0 {
		t.Error("it passes for that of another seed")
	}
}

func TestContentCannotBeCompressed(t *testing.T) {
	p := make([]byte, 2<<20) // more than the random bytes below it
	newContent(3).fill(p, 1, 0)
	var small bytes.Buffer
	w, err := flate.NewWriter(&small, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(p)
	_ = w.Close()
	if small.Len() < len(p)*999/1000 {
		t.Errorf("%d bytes become %d", len(p), small.Len())
	}
	seen := map[string]bool{}
	for i := 0; i < len(p); i += pageSize {
		seen[string(p[i:i+pageSize])] = true
	}
	if len(seen) != len(p)/pageSize {
		t.Errorf("%d of %d pages differ", len(seen), len(p)/pageSize)
	}
}
