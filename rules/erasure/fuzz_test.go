package erasure

import (
	"bytes"
	"slices"
	"testing"
)

// FuzzAgainstTwin lets the input choose a code, a length, a loss and a change.
func FuzzAgainstTwin(f *testing.F) {
	f.Add(uint8(4), uint8(0), uint8(2), uint16(100), uint64(1), uint32(0b100001))
	f.Add(uint8(12), uint8(2), uint8(2), uint16(70), uint64(2), uint32(0b1000000000011))
	f.Add(uint8(31), uint8(0), uint8(1), uint16(64), uint64(3), uint32(1))
	f.Add(uint8(1), uint8(0), uint8(31), uint16(65), uint64(4), ^uint32(1<<31))
	f.Add(uint8(11), uint8(3), uint8(12), uint16(1), uint64(5), uint32(0xfff))
	f.Fuzz(func(t *testing.T, data, local, global uint8, length uint16, seed uint64, mask uint32) {
		w := twin{int(data), int(local), int(global)}
		if w.data < 1 || w.global < 1 || w.pieces() > PiecesMax || w.local > w.data || length == 0 || length > 500 {
			t.Skip()
		}
		c := w.code(t)
		blocks, want := w.random(seed, int(length)), w.random(seed, int(length))
		check(t, c.Encode(blocks))
		w.encode(want)
		for i := range want {
			if !bytes.Equal(blocks[i], want[i]) {
				t.Fatalf("%s: piece %d differs", w, i)
			}
		}
		// A loss.
		all := Range(0, w.pieces())
		lost := Set(mask) & all
		readable := twinRank(w.rows(all&^lost)) == w.data
		if got := c.Readable(all &^ lost); got != readable {
			t.Fatalf("%s without %s is readable: %v", w, lost, got)
		}
		if readable {
			rebuild(t, c, blocks, lost, lost)
		}
		for i := range lost.All() {
			rebuild(t, c, blocks, lost, SetOf(i))
		}
		// A change.
		index := int(seed % uint64(w.data))
		after := w.random(seed+1, int(length))[index]
		check(t, c.Update(blocks[w.data:], index, blocks[index], after))
		changed := slices.Clone(want)
		changed[index] = after
		w.encode(changed)
		for i := w.data; i < w.pieces(); i++ {
			if !bytes.Equal(blocks[i], changed[i]) {
				t.Fatalf("%s: parity %d differs after a change of %d", w, i, index)
			}
		}
	})
}
