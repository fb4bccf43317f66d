package transfer

import (
	"context"
	"slices"
	"sync"

	"hemera"
	"hemera/core/disk"
	"hemera/errs"
	"hemera/rules/checksum"
)

const (
	// smallMax is how long a new content may be that waits in memory for its end, in bytes: most small
	// files are written and closed at once, and their pieces are then made, filled and sealed in one call.
	smallMax = 64 << 10
	// smallBytes bounds what all writes of one node keep in memory so.
	smallBytes = 64 << 20
)

// small is a content that is in memory alone. Before it goes to any disk it is compared with the
// checksums it came with.
type small struct {
	data []byte   // its capacity is a page or that times a power of two
	sums []uint32 // CRC32C of each page of data
}

// write puts p at off. sums are the CRC32Cs of its page fragments.
func (s *small) write(p []byte, sums []uint32, off int64) {
	before := int64(len(s.data))
	if end := off + int64(len(p)); end > before {
		s.resize(end)
	}
	copy(s.data[off:], p)
	if off != before {
		s.sum()
		return
	}
	for _, sum := range sums { // the checksums of a page's parts make that of the page
		in := off % hemera.PageSize
		n := min(hemera.PageSize-in, before+int64(len(p))-off)
		if in == 0 {
			s.sums = append(s.sums, sum)
		} else {
			last := &s.sums[len(s.sums)-1]
			*last = checksum.CombineCRC32C(*last, sum, n)
		}
		off += n
	}
}

// truncate cuts the content, or extends it with zeros.
func (s *small) truncate(size int64) {
	s.resize(size)
	s.sum()
}

// resize changes the length, for which there must be room; what is new is zeros.
func (s *small) resize(size int64) {
	before := len(s.data)
	s.data = s.data[:size]
	clear(s.data[min(before, len(s.data)):])
}

// sum takes the checksums anew.
func (s *small) sum() {
	n := checksum.Fragments(0, len(s.data))
	s.sums = slices.Grow(s.sums[:0], n)[:n]
	checksum.PageSums(s.data, 0, s.sums)
}

// room is how much memory a content of the size is given: a page times two to the power of class.
func room(size int64) (n int64, class int) {
	for n = hemera.PageSize; n < size; n *= 2 {
		class++
	}
	return n, class
}

// smallPools have memory of ended writes for new ones, by its class.
type smallPools [5]sync.Pool

// get returns an empty content that may grow to the size.
func (p *smallPools) get(size int64) *small {
	n, class := room(size)
	s, ok := p[class].Get().(*small)
	if !ok {
		return &small{data: make([]byte, 0, n)}
	}
	s.data, s.sums = s.data[:0], s.sums[:0]
	return s
}

// put takes memory back that nobody looks at any more.
func (p *smallPools) put(s *small) {
	_, class := room(int64(cap(s.data)))
	p[class].Put(s)
}

// fits takes the memory for a content of the size; false if it cannot stay in memory.
func (w *Writer) fits(size int64) bool {
	if w.pieces != nil || w.base != nil || size > smallMax || w.cap.Size > smallMax {
		return false
	}
	before, have := w.small, int64(0)
	if before != nil {
		have = int64(cap(before.data))
	}
	need, _ := room(size)
	if need <= have {
		return true
	}
	if !w.host.reserve(need - have) {
		return false
	}
	w.small = w.host.smalls.get(size)
	if before != nil {
		w.small.data = append(w.small.data, before.data...)
		w.small.sums = append(w.small.sums, before.sums...)
		w.host.smalls.put(before)
	}
	return true
}

// reserve takes memory out of what all writes may keep.
func (h *Host) reserve(n int64) bool {
	limit := h.SmallBytes
	if limit == 0 {
		limit = smallBytes
	}
	if h.kept.Add(n) <= limit {
		return true
	}
	h.kept.Add(-n)
	return false
}

// dropSmall forgets the content in memory.
func (w *Writer) dropSmall() {
	if w.small != nil {
		w.host.kept.Add(-int64(cap(w.small.data)))
		w.small = nil
	}
}

// reuseSmall has others use the content's memory, if no call that hangs may still look at it.
func (w *Writer) reuseSmall() {
	if s := w.small; s != nil && w.ledger.rounds == 0 && w.ledger.count(failed) == 0 {
		w.dropSmall()
		w.host.smalls.put(s)
	}
	w.dropSmall()
}

// spill sends what was kept to pieces that were just made.
func (w *Writer) spill() error {
	s := w.small
	w.dropSmall()
	if err := s.check(w.cap); err != nil {
		w.broken = err
		return err
	}
	return w.send(s.data, s.sums, 0, nil)
}

// check finds what has changed in memory.
func (s *small) check(c *hemera.Capability) error {
	if bad := checksum.VerifyPages(s.data, 0, s.sums); bad >= 0 {
		return errs.New(errs.IO, "transfer.Write", subject(c), "the content changed in memory while it waited to be written").
			WithRemedy("write the file again; the memory of this machine may be faulty")
	}
	return nil
}

// putPieces makes every live piece from the content in memory, sealed. Those that cannot be are lost.
func (w *Writer) putPieces(ctx context.Context, info hemera.SealInfo) {
	w.each(live, func(pc *piece) { pc.err = w.put(ctx, pc, info) })
	for i, pc := range w.pieces {
		switch {
		case w.ledger.states[i] != live:
		case pc.err != nil:
			w.lose(i, pc.err)
		default:
			w.ledger.states[i] = sealed
		}
	}
}

// put makes one piece from the content in memory and seals it.
func (w *Writer) put(ctx context.Context, pc *piece, info hemera.SealInfo) error {
	if w.host.local(pc.target) {
		return w.host.putLocal(w.cap, pc, w.small, info)
	}
	made, err := w.host.create(ctx, w.cap, w.permit, pc.target)
	if err != nil {
		return err
	}
	pc.out = made.out
	if err := pc.out.WritePages(w.small.data, w.small.sums, 0); err != nil {
		return err
	}
	return pc.out.Seal(ctx, info)
}

// putLocal is put on a disk of this node: one call, which leaves nothing behind when it fails.
func (h *Host) putLocal(c *hemera.Capability, pc *piece, s *small, info hemera.SealInfo) error {
	store, err := h.store(pc.target)
	if err != nil {
		return err
	}
	made := &diskPiece{store: store, id: pieceID(c, pc.target.Index)}
	made.ended.Store(true)
	o, whole := createOptions(c), disk.Content{Data: s.data, Sums: s.sums}
	call := startCall(pc.target, store, func() error {
		stat, err := disk.Put(store, made.id, o, whole, info)
		if err != nil {
			return err
		}
		if err := checkSealed(stat, info); err != nil {
			made.Abort()
			return err
		}
		return nil
	})
	patience := diskPatience
	if info.Sync {
		patience *= 2
	}
	_, err = call.wait(patience, func() {
		if call.err == nil {
			made.Abort()
		}
	})
	if err != nil {
		return err
	}
	pc.local = &localPiece{diskPiece: made, host: h, target: pc.target}
	pc.out = pc.local
	return nil
}

// each does something for every piece in the state, all at once.
func (w *Writer) each(which state, do func(*piece)) {
	var wg sync.WaitGroup
	var mine *piece // the last, for which this goroutine will do
	for i, pc := range w.pieces {
		if w.ledger.states[i] != which {
			continue
		}
		if other := mine; other != nil {
			wg.Go(func() { do(other) })
		}
		mine = pc
	}
	if mine != nil {
		do(mine)
	}
	wg.Wait()
}
