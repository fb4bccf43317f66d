package disk

import (
	"errors"
	"io"
	"os"

	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Resumer is a Store that finds pending pieces that an earlier process left. It blocks for the device.
type Resumer interface {
	// Resume opens a pending piece that no Writer has, as its last sync left it. The Writer takes nothing but Size, Abort and the
	// proof of what is there ([Prover]), until that is through; nothing has changed before. NotFound if there is no such piece, or
	// it was never synced; Conflict if a Writer has it.
	Resume(id hemera.PieceID, o CreateOptions) (Writer, error)
}

// Prover is a Writer of a piece that an earlier process left. A Seal that fails leaves the piece, too; only Abort removes it. Calls block for the
// device; BadHandle when the Writer is closed, Conflict when the piece is another Writer's by now.
type Prover interface {
	// Prove compares the next part of the data with the checksums of the last sync, and reports whether that was all: from then on
	// the Writer has that content, and is like any other. unproved is how many pages do not match: they were written over after the
	// sync, or lost, and are what they are. After an error nothing has changed, and Prove goes on where it was.
	Prove() (unproved int64, done bool, err error)
	// Leave closes the Writer; the piece stays pending, as it was found.
	Leave() error
}

// Resume calls [Resumer] of any Store. It fails with Unsupported if the Store is not a Resumer.
func Resume(s Store, id hemera.PieceID, o CreateOptions) (Writer, error) {
	if r, ok := s.(Resumer); ok {
		return r.Resume(id, o)
	}
	return nil, errs.New(errs.Unsupported, "disk.Resume", id.String(), "the disk does not find pending pieces")
}

// ProveAll takes all steps of a proof; Writers that need none have none.
func ProveAll(w Writer) (unproved int64, err error) {
	p, ok := w.(Prover)
	for done := !ok; !done && err == nil; {
		unproved, done, err = p.Prove()
	}
	return unproved, err
}

// Leave ends the use of a Writer that a [Resumer] opened, and leaves the piece to the next one.
func Leave(w Writer) {
	if p, ok := w.(Prover); ok {
		_ = p.Leave()
	}
}

const (
	opProve = "disk.Prove"
	// proveBlocks is the number of blocks of checksums that one step compares: some 64 MiB of data.
	proveBlocks = 16
)

var (
	_ Resumer = (*Disk)(nil)
	_ Prover  = (*writer)(nil)
)

// Resume implements [Resumer].
func (d *Disk) Resume(id hemera.PieceID, o CreateOptions) (Writer, error) {
	const op = "disk.Resume"
	mine := d.turn(id)
	mine.Wait()
	defer mine.Release()
	d.mu.Lock()
	taken, closed := d.writers[id] != nil, d.closed
	d.mu.Unlock()
	switch {
	case taken:
		return nil, errs.New(errs.Conflict, op, id.String(), "a writer has the piece")
	case closed:
		return nil, errs.New(errs.Unavailable, op, d.path, "the disk is closed")
	}
	w, err := d.findPending(id, o)
	if err != nil {
		return nil, d.failed(err, op, id)
	}
	d.mu.Lock()
	if closed = d.closed; !closed {
		d.writers[id] = w
		d.gauge.writeOpens.Add(1)
	}
	d.mu.Unlock()
	if closed { // meanwhile: as after a crash
		return nil, errors.Join(errs.New(errs.Unavailable, op, d.path, "the disk is closed"), w.file.Close(), w.synced.close(false))
	}
	return w, nil
}

// Leave implements [Prover].
func (w *writer) Leave() error {
	w.io.Wait()
	w.leaves = true
	w.io.Release()
	return w.end("disk.Leave", func() error { return nil })
}

// findPending opens a pending piece with its checksums. It is called in the piece's turn.
func (d *Disk) findPending(id hemera.PieceID, o CreateOptions) (*writer, error) {
	f, err := d.fs.Open(d.pendingPath(id), os.O_RDWR)
	if err != nil {
		return nil, err
	}
	w := writerOf(d, id, o, f)
	w.resumed = true
	s := &w.synced
	s.file, err = d.fs.Open(s.path, os.O_RDWR)
	if err == nil {
		s.state, err = s.newest()
	}
	if err == nil && s.state.seq == 0 {
		err = errs.New(errs.NotFound, "disk.Resume", id.String(), "no sync of it got to its end")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), s.close(false))
	}
	w.found = &proving{table: newSumTable(d.opt.PendingBlocks, w.side)}
	w.size.Store(s.state.size)
	return w, nil
}

// Prove implements [Prover].
func (w *writer) Prove() (unproved int64, done bool, err error) {
	w.io.Wait()
	defer w.io.Release()
	if err := w.usable(opProve); err != nil {
		return 0, false, err
	}
	p := w.found
	if p == nil {
		return 0, true, nil
	}
	st := w.synced.state
	for range proveBlocks {
		if p.block >= blocks(st.size) {
			return p.unproved, true, w.proved(st)
		}
		n, err := w.proveBlock(st, p.block)
		if err != nil {
			return 0, false, w.disk.failed(err, opProve, w.id)
		}
		p.block, p.unproved = p.block+1, p.unproved+n
	}
	return p.unproved, false, nil
}

// proved ends the proof.
func (w *writer) proved(st syncedState) error {
	// The bytes behind the end that came after the sync are cut off, as are those that the seal of an earlier process may
	// have written there.
	if err := w.file.Truncate(st.size); err != nil {
		return w.fail(err, opProve)
	}
	w.table, w.found = w.found.table, nil
	w.table.size = st.size
	// The next sync writes all, under a number that no sync before had: one may have been cut short.
	w.synced.skips, w.synced.whole = 1, true
	return nil
}

// proveBlock compares a block of pages with a state, takes their checksums over, and returns how many do not match.
func (w *writer) proveBlock(st syncedState, block int64) (unproved int64, err error) {
	synced, later, err := w.synced.blockAt(st, block)
	if err != nil {
		return 0, err
	}
	n := blockLen(st.size, block)
	sums, zero := make([]uint32, n), synced == nil && later == nil
	first := block * blockSums
	buf := make([]byte, 256*hemera.PageSize)
	for i := 0; i < n; {
		count := min(len(buf)/hemera.PageSize, n-i)
		off := (first + int64(i)) * hemera.PageSize
		p := buf[:min(int64(count)*hemera.PageSize, st.size-off)]
		if err := w.readLeft(p, off); err != nil {
			return 0, err
		}
		checksum.PageSums(p, off, sums[i:i+count])
		for j := i; j < i+count; j++ {
			page := first + int64(j)
			want := zeroSum(st.size, page)
			if synced != nil {
				want = synced.sums[j]
			}
			// A newer state has the sum of a page that may be longer there.
			newer := later != nil && pageLen(st.size, page) == hemera.PageSize && later.sums[j] == sums[j]
			if sums[j] != want && !newer {
				unproved++
			}
			zero = zero && sums[j] == want
		}
		i += count
	}
	if zero { // nothing was written there
		return unproved, nil
	}
	p := w.found.table
	p.size = st.size
	b, err := p.block(block)
	if err != nil {
		return 0, err
	}
	copy(b.sums[:], sums)
	return unproved, nil
}

// readLeft reads data that a crash left. Bytes behind the end of the file were lost, and read as zeros.
func (w *writer) readLeft(p []byte, off int64) error {
	start := w.disk.gauge.start()
	n, err := w.file.ReadAt(p, off)
	w.disk.gauge.read(start, n)
	clear(p[n:])
	if err == io.EOF {
		return nil
	}
	return err
}

// blockAt returns the sums that a block has in a state, and those of a sync after it, which was not acknowledged; nil where there
// are none.
func (s *syncedSums) blockAt(st syncedState, block int64) (synced, later *blockSaved, err error) {
	for i := range int64(2) {
		b := &blockSaved{}
		if err := b.load(s, block, i); err != nil {
			return nil, nil, err
		}
		switch {
		case b.seq < max(st.since, 1):
		case b.seq > st.seq:
			later = b
		case synced == nil || b.seq > synced.seq:
			synced = b
		}
	}
	return synced, later, nil
}
