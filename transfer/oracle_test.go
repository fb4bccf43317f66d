package transfer_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"pgregory.net/rapid"

	"hemera/words/hemera"
)

// historyMost bounds the offsets of a history.
const historyMost = 60_000

// history is a write under way and the bytes that its file should have.
type history struct {
	bench *bench
	token string
	file  hemera.File
	want  []byte
}

// begin opens the write of a history at host 1: of a new file, or of an update of base.
func (h *history) begin(c hemera.Capability) {
	h.file = h.bench.open(1, h.token, hemera.NodeOpen{Truncate: c.Access == hemera.AccessCreate})
}

// steps draws the actions of a client at random: write anywhere, truncate, read, lose its link, sync.
func (h *history) steps() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){"write": h.write, "truncate": h.truncate, "read": h.read,
		"reconnect": func(*rapid.T) {
			_ = h.file.End(ctx, hemera.EndDetach)
			h.file = h.bench.open(1, h.token, hemera.NodeOpen{})
		},
		"sync": func(rt *rapid.T) {
			if err := h.file.Sync(ctx); err != nil {
				rt.Fatal(err)
			}
		},
	}
}

func (h *history) write(rt *rapid.T) {
	p := content(rapid.IntRange(0, 20_000).Draw(rt, "n"))
	off := rapid.IntRange(0, historyMost).Draw(rt, "off")
	if rapid.Bool().Draw(rt, "append") {
		off = len(h.want)
	}
	if err := h.file.WritePages(p, nil, int64(off)); err != nil {
		rt.Fatal(err)
	}
	if len(p) > 0 && off+len(p) > len(h.want) {
		h.want = append(h.want, make([]byte, off+len(p)-len(h.want))...)
	}
	copy(h.want[min(off, len(h.want)):], p)
}

func (h *history) truncate(rt *rapid.T) {
	size := rapid.IntRange(0, historyMost).Draw(rt, "size")
	if err := h.file.Truncate(int64(size)); err != nil {
		rt.Fatal(err)
	}
	h.want = append(h.want[:min(size, len(h.want)):min(size, len(h.want))], make([]byte, max(0, size-len(h.want)))...)
}

func (h *history) read(rt *rapid.T) {
	off := rapid.IntRange(0, historyMost).Draw(rt, "off")
	got := make([]byte, rapid.IntRange(1, 20_000).Draw(rt, "n"))
	n, err := h.file.ReadPages(got, nil, int64(off))
	exp := h.want[min(off, len(h.want)):min(off+len(got), len(h.want))]
	if err != nil && !errors.Is(err, io.EOF) || !bytes.Equal(got[:n], exp) || (n < len(got)) != (err != nil) {
		rt.Fatalf("read %d at %d of %d: %d bytes, %v", len(got), off, len(h.want), n, err)
	}
}

// mustKeepAll checks that no write went on without one of its pieces: all disks and ways to them worked.
func (b *bench) mustKeepAll() {
	b.t.Helper()
	for i, h := range b.hosts {
		if short, replaced := h.host.Counters.Short.Load(), h.host.Counters.Replaced.Load(); short+replaced > 0 {
			b.t.Fatalf("host %d: %d writes ended short, %d pieces were replaced", i+1, short, replaced)
		}
	}
}

// someOld has some of the disks begin no pieces as copies.
func (b *bench) someOld(rt *rapid.T) {
	for _, h := range b.hosts {
		h.disk.old = rapid.IntRange(0, 3).Draw(rt, "old") == 0
	}
}

// TestAgainstBytes runs random histories of one write against a byte slice: writes anywhere,
// truncations, reads, lost links, a peer that dies; on new files and on updates.
func TestAgainstBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		part := &scope{TB: t, check: rt}
		defer part.end()
		b := newMemoryBench(part, 4)
		b.manager.spare = []int{4}
		b.kinds = rapid.SampledFrom([][]hemera.ChecksumKind{nil, {hemera.Adler32}, {hemera.CRC32}}).Draw(rt, "checksums")
		h := &history{bench: b}
		token, c := b.grant(60, 2, 1, 2, 3)
		if rapid.Bool().Draw(rt, "update") {
			h.want = content(rapid.IntRange(1, historyMost).Draw(rt, "base"))
			base := b.put(60, h.want, rapid.SampledFrom([][]int{{2, 3}, {1}, {3, 2, 1}}).Draw(rt, "disks of the base")...)
			b.someOld(rt)
			token, c = b.update(base, 2, 1, 2, 3)
		}
		h.token = token
		h.begin(c)
		steps := h.steps()
		died := false
		steps["peer dies"] = func(*rapid.T) {
			b.peers.fail(3, &fault{step: "write", err: errGone})
			died = true
		}
		rt.Repeat(steps)
		if err := h.file.End(ctx, hemera.EndClose); err != nil {
			rt.Fatal(err)
		}
		b.peers.fail(3, nil)
		if !died {
			b.mustKeepAll()
		}
		if _, ok := b.manager.committed[hemera.PieceID{File: c.File, Gen: c.Gen}]; !ok {
			return // an update that changed nothing
		}
		checkSums(part, b.manager.commit(part, c), h.want)
		b.mustRead(c, h.want)
	})
}
