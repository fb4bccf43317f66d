package transfer

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"hemera/rules/checksum"
	"hemera/transfer/filesum"
	"hemera/words/hemera"
)

// inlineAt makes an empty content of a write at the host that announced the size.
func inlineAt(h *Writes, announced int64) *inlineContent {
	return &inlineContent{head: &head{writes: h, cap: &hemera.Capability{Size: announced}}}
}

// TestInlineAgainstBytes runs random histories of a content in memory against a byte slice: the checksums
// that are put together from those of the writes are those of the bytes.
func TestInlineAgainstBytes(t *testing.T) {
	host := &Writes{SmallBytes: inlineMax}
	c := inlineAt(host, 0)
	hash, _ := filesum.New(nil)
	rapid.Check(t, func(rt *rapid.T) {
		c.drop()
		var want []byte
		offset := rapid.IntRange(0, inlineMax)
		rt.Repeat(map[string]func(*rapid.T){
			"write": func(rt *rapid.T) {
				p := rapid.SliceOfN(rapid.Byte(), 1, 9000).Draw(rt, "p")
				off := offset.Draw(rt, "off")
				if rapid.Bool().Draw(rt, "append") {
					off = len(want)
				}
				size := max(len(want), off+len(p))
				if fits := c.grow(int64(size)); fits != (size <= inlineMax) {
					rt.Fatalf("%d bytes fit: %v", size, fits)
				} else if !fits {
					return
				}
				sums := make([]uint32, checksum.Fragments(int64(off), len(p)))
				checksum.PageSums(p, int64(off), sums)
				if err := c.writePages(p, sums, int64(off), hash); err != nil {
					rt.Fatal(err)
				}
				want = append(want, make([]byte, size-len(want))...)
				copy(want[off:], p)
			},
			"truncate": func(rt *rapid.T) {
				size := max(1, offset.Draw(rt, "size"))
				if !c.grow(int64(size)) {
					rt.Fatal("it does not fit")
				}
				if err := c.truncate(int64(size)); err != nil {
					rt.Fatal(err)
				}
				want = append(want[:min(size, len(want)):min(size, len(want))], make([]byte, max(0, size-len(want)))...)
			},
			"": func(rt *rapid.T) {
				if c.inlineBuffer == nil {
					return
				}
				if !bytes.Equal(c.Data, want) || len(c.Sums) != checksum.Fragments(0, len(want)) {
					rt.Fatalf("%d bytes and %d checksums of %d bytes", len(c.Data), len(c.Sums), len(want))
				}
				if err := c.check(); err != nil {
					rt.Fatal(err)
				}
				if kept := host.inline.Used(); kept != int64(cap(c.Data)) || kept > inlineMax {
					rt.Fatalf("%d bytes count as in use, of %d", kept, cap(c.Data))
				}
			},
		})
		if rapid.Bool().Draw(rt, "recycle") {
			c.recycle() // its memory, not its bytes
		}
	})
}

// A bit that flips while a content waits in memory is noticed before the content is anywhere.
func TestInlineIsCheckedBeforeItIsWritten(t *testing.T) {
	c := inlineAt(&Writes{}, 0)
	p := bytes.Repeat([]byte("abc"), 2000)
	if !c.grow(int64(len(p))) {
		t.Fatal("it does not fit")
	}
	sums := make([]uint32, 2)
	checksum.PageSums(p, 0, sums)
	c.Write(p, sums, 0)
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	c.Data[5000] ^= 4
	if c.check() == nil {
		t.Error("it was not noticed")
	}
}

// What all writes keep together is bounded, and what ended counts no more.
func TestInlineBytesAreBounded(t *testing.T) {
	h := &Writes{SmallBytes: 3 * hemera.PageSize}
	used := func() int64 { return h.inline.Used() }
	first, second := inlineAt(h, 0), inlineAt(h, 0)
	if !first.grow(5000) || !second.grow(1) || second.grow(5000) || inlineAt(h, 0).grow(1) {
		t.Errorf("of three pages %d bytes are taken", used())
	}
	first.recycle()
	if !second.grow(5000) || used() != 2*hemera.PageSize {
		t.Errorf("afterwards of three pages %d bytes are taken", used())
	}
	second.drop()
	if used() != 0 {
		t.Errorf("%d bytes are never given back", used())
	}
	none := inlineAt(&Writes{SmallBytes: -1}, 0)
	long := inlineAt(h, inlineMax+1)
	if none.grow(1) || long.grow(1) {
		t.Error("it was kept all the same")
	}
}
