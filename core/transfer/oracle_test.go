package transfer_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"pgregory.net/rapid"

	"hemera"
)

// TestAgainstBytes runs random histories of one write against a byte slice: writes anywhere,
// truncations, reads, lost links, a peer that dies; on new files and on updates.
func TestAgainstBytes(t *testing.T) {
	const most = 60_000
	rapid.Check(t, func(rt *rapid.T) {
		b := newMemoryBench(t, 4)
		b.manager.spare = []int{4}
		var want []byte
		token, c := b.grant(60, 2, 1, 2, 3)
		if rapid.Bool().Draw(rt, "update") {
			want = content(rapid.IntRange(1, most).Draw(rt, "base"))
			base := b.put(60, want, 2, 3)
			token, c = b.update(base, 2, 1, 2, 3)
		}
		f := b.open(1, token, hemera.NodeOpen{Truncate: c.Access == hemera.AccessCreate})
		offset := rapid.IntRange(0, most)
		steps := map[string]func(*rapid.T){
			"write": func(rt *rapid.T) {
				p := content(rapid.IntRange(0, 20_000).Draw(rt, "n"))
				off := offset.Draw(rt, "off")
				if rapid.Bool().Draw(rt, "append") {
					off = len(want)
				}
				if err := f.WritePages(p, nil, int64(off)); err != nil {
					rt.Fatal(err)
				}
				if len(p) > 0 && off+len(p) > len(want) {
					want = append(want, make([]byte, off+len(p)-len(want))...)
				}
				copy(want[min(off, len(want)):], p)
			},
			"truncate": func(rt *rapid.T) {
				size := offset.Draw(rt, "size")
				if err := f.Truncate(int64(size)); err != nil {
					rt.Fatal(err)
				}
				want = append(want[:min(size, len(want)):min(size, len(want))], make([]byte, max(0, size-len(want)))...)
			},
			"read": func(rt *rapid.T) {
				off := offset.Draw(rt, "off")
				got := make([]byte, rapid.IntRange(1, 20_000).Draw(rt, "n"))
				n, err := f.ReadPages(got, nil, int64(off))
				exp := want[min(off, len(want)):min(off+len(got), len(want))]
				if err != nil && !errors.Is(err, io.EOF) || !bytes.Equal(got[:n], exp) || (n < len(got)) != (err != nil) {
					rt.Fatalf("read %d at %d of %d: %d bytes, %v", len(got), off, len(want), n, err)
				}
			},
			"reconnect": func(*rapid.T) {
				f.End(ctx, hemera.EndDetach)
				f = b.open(1, token, hemera.NodeOpen{})
			},
			"sync": func(rt *rapid.T) {
				if err := f.Sync(ctx); err != nil {
					rt.Fatal(err)
				}
			},
			"peer dies": func(*rapid.T) { b.peers.fail(3, &fault{step: "write", err: errGone}) },
		}
		rt.Repeat(steps)
		if err := f.End(ctx, hemera.EndClose); err != nil {
			rt.Fatal(err)
		}
		b.peers.fail(3, nil)
		if _, ok := b.manager.committed[hemera.PieceID{File: c.File, Gen: c.Gen}]; !ok {
			return // an update that changed nothing
		}
		checkSums(t, b.manager.commit(t, c), want)
		b.mustRead(c, want)
	})
}
