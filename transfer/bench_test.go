package transfer_test

import (
	"testing"

	"hemera/words/hemera"
)

// BenchmarkContent writes and closes 64 MiB, 1 MiB at a time, as one piece: in order, and from the end, so that the
// close reads all of it back.
func BenchmarkContent(b *testing.B) {
	const size, step = 64 << 20, 1 << 20
	data := content(step)
	for _, backwards := range []bool{false, true} {
		b.Run(map[bool]string{false: "inorder", true: "backwards"}[backwards], func(b *testing.B) {
			rig := newBench(b, 1)
			b.SetBytes(size)
			for b.Loop() {
				_, c := rig.grant(1, 1, 1)
				c.Checksums = []hemera.ChecksumKind{hemera.Adler32}
				token := rig.manager.sign(c)
				f := rig.begin(1, token)
				for off := int64(0); off < size; off += step {
					at := off
					if backwards {
						at = size - step - off
					}
					if err := f.WritePages(data, nil, at); err != nil {
						b.Fatal(err)
					}
				}
				if err := f.End(ctx, hemera.EndClose); err != nil {
					b.Fatal(err)
				}
				if err := rig.hosts[0].disk.Remove(hemera.PieceID{File: c.File, Gen: c.Gen}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
