package transfer

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"hemera"
	"hemera/rules/checksum"
)

// TestSmallAgainstBytes runs random histories of a content in memory against a byte slice: the checksums
// that are put together from those of the writes are those of the bytes.
func TestSmallAgainstBytes(t *testing.T) {
	w := &Writer{host: &Host{SmallBytes: smallMax}, cap: &hemera.Capability{}}
	rapid.Check(t, func(rt *rapid.T) {
		w.dropSmall()
		var want []byte
		offset := rapid.IntRange(0, smallMax)
		rt.Repeat(map[string]func(*rapid.T){
			"write": func(rt *rapid.T) {
				p := rapid.SliceOfN(rapid.Byte(), 1, 9000).Draw(rt, "p")
				off := offset.Draw(rt, "off")
				if rapid.Bool().Draw(rt, "append") {
					off = len(want)
				}
				size := max(len(want), off+len(p))
				if fits := w.fits(int64(size)); fits != (size <= smallMax) {
					rt.Fatalf("%d bytes fit: %v", size, fits)
				} else if !fits {
					return
				}
				sums := make([]uint32, checksum.Fragments(int64(off), len(p)))
				checksum.PageSums(p, int64(off), sums)
				w.small.write(p, sums, int64(off))
				want = append(want, make([]byte, size-len(want))...)
				copy(want[off:], p)
			},
			"truncate": func(rt *rapid.T) {
				size := max(1, offset.Draw(rt, "size"))
				if !w.fits(int64(size)) {
					rt.Fatal("it does not fit")
				}
				w.small.truncate(int64(size))
				want = append(want[:min(size, len(want)):min(size, len(want))], make([]byte, max(0, size-len(want)))...)
			},
			"": func(rt *rapid.T) {
				if w.small == nil {
					return
				}
				if !bytes.Equal(w.small.data, want) || len(w.small.sums) != checksum.Fragments(0, len(want)) {
					rt.Fatalf("%d bytes and %d checksums of %d bytes", len(w.small.data), len(w.small.sums), len(want))
				}
				if err := w.small.check(w.cap); err != nil {
					rt.Fatal(err)
				}
				if kept := w.host.kept.Load(); kept != int64(cap(w.small.data)) || kept > smallMax {
					rt.Fatalf("%d bytes count as kept, of %d", kept, cap(w.small.data))
				}
			},
		})
		if w.small != nil && rapid.Bool().Draw(rt, "reuse") {
			w.reuseSmall() // its memory, not its bytes
		}
	})
}

// A bit that flips while a content waits in memory is noticed before the content is anywhere.
func TestSmallIsCheckedBeforeItIsWritten(t *testing.T) {
	s := &small{data: make([]byte, 0, 8192)}
	p := bytes.Repeat([]byte("abc"), 2000)
	sums := make([]uint32, 2)
	checksum.PageSums(p, 0, sums)
	s.write(p, sums, 0)
	c := &hemera.Capability{Path: "/f"}
	if err := s.check(c); err != nil {
		t.Fatal(err)
	}
	s.data[5000] ^= 4
	if s.check(c) == nil {
		t.Error("it was not noticed")
	}
}

// What all writes keep together is bounded, and what ended counts no more.
func TestSmallBytesAreBounded(t *testing.T) {
	h := &Host{SmallBytes: 3 * hemera.PageSize}
	writer := func() *Writer { return &Writer{host: h, cap: &hemera.Capability{}} }
	first, second := writer(), writer()
	if !first.fits(5000) || !second.fits(1) || second.fits(5000) || writer().fits(1) {
		t.Errorf("of three pages %d bytes are taken", h.kept.Load())
	}
	first.reuseSmall()
	if !second.fits(5000) || h.kept.Load() != 2*hemera.PageSize {
		t.Errorf("afterwards of three pages %d bytes are taken", h.kept.Load())
	}
	second.dropSmall()
	if h.kept.Load() != 0 {
		t.Errorf("%d bytes are never given back", h.kept.Load())
	}
	none := &Writer{host: &Host{SmallBytes: -1}, cap: &hemera.Capability{}}
	long := &Writer{host: h, cap: &hemera.Capability{Size: smallMax + 1}}
	if none.fits(1) || long.fits(1) {
		t.Error("it was kept all the same")
	}
}
