package ahead

import (
	"sync"
	"sync/atomic"

	"hemera/rules/checksum"
	"hemera/words/hemera"
)

const (
	// WindowMax is the most bytes that one file has in parts.
	WindowMax = 8 << 20
	// partMax is the most bytes that one fetch is for. It is less than a block may have, so that a caller does not wait for
	// all of a large block.
	partMax = 1 << 20
	// runMin is the number of reads in order that begin a run.
	runMin = 3
)

// Budget bounds the memory of all readers that share it, and reuses that of parts that are no longer needed.
type Budget struct {
	Max  int64
	used atomic.Int64
	free sync.Pool // of *[]byte
}

// memory returns n bytes, whose content is undefined. New ones would be cleared, and a part is large enough that it shows.
func (b *Budget) memory(n int64) []byte {
	// A longer one would take more than what is counted.
	if m, ok := b.free.Get().(*[]byte); ok && int64(len(*m)) == n {
		return *m
	}
	return make([]byte, n)
}

// take reports whether there was room for n bytes, which are taken then.
func (b *Budget) take(n int64) bool {
	if b.used.Add(n) <= b.Max {
		return true
	}
	b.used.Add(-n)
	return false
}

// File is the source of a [Reader].
type File struct {
	Size  int64
	Block int64 // bytes of one disk after the other; a multiple of the page size
	Row   int64 // bytes that all disks have together before the first comes again
	// Fetch reads all of p, with the checksums of its page fragments if sums is not nil. After an error the memory may
	// still be in use. It is called from several goroutines.
	Fetch func(p []byte, sums []uint32, off int64) error
	// Here reports whether the block at an offset is on this machine, so that there is no way to it.
	Here func(off int64) bool
	// Begin is asked before each fetch ahead, and Done called after it, so that the file stays open. False refuses it.
	Begin func() bool
	Done  func()
}

// Reader reads a file for callers that may read it in order. The zero value is not ready: see [New].
type Reader struct {
	file   File
	budget *Budget

	mu    sync.Mutex // guards what follows
	next  int64      // where the last read ended
	run   int        // reads in order so far
	bytes int64      // of the run
	ahead int64      // up to where parts were begun
	parts []*part    // in order of their offsets

	closed bool // nothing is begun any more
}

// part is a range that is fetched ahead.
type part struct {
	off  int64
	data []byte
	sums []uint32
	done chan struct{} // closed when err is known
	err  error

	// Guarded by the reader's mu: the room is given back when the part is fetched, forgotten and not lent.
	fetched, forgotten bool
	lent               int
}

// end returns the offset behind the part.
func (p *part) end() int64 { return p.off + int64(len(p.data)) }

// New returns a reader of the file. It fetches nothing yet.
func New(f File, b *Budget) *Reader { return &Reader{file: f, budget: b} }

// ReadPages reads all of p, which lies within the file, with the checksums of its page fragments if sums is not nil. It fails as
// Fetch does.
func (r *Reader) ReadPages(p []byte, sums []uint32, off int64) error {
	r.noted(off, int64(len(p)), int64(len(p)) >= r.file.Row)
	for done := 0; done < len(p); {
		at := off + int64(done)
		var rest []uint32
		if sums != nil {
			rest = sums[checksum.Fragments(off, done):]
		}
		from, n := r.find(at, int64(len(p)-done))
		if from == nil {
			if err := r.file.Fetch(p[done:done+int(n)], rest, at); err != nil {
				return err
			}
			done += int(n)
			continue
		}
		<-from.done
		if from.err != nil {
			r.forget(from)
		} else {
			from.sumsOf(rest, p[done:done+copy(p[done:done+int(n)], from.data[at-from.off:])], at)
			done += int(n)
		}
		r.returned(from)
	}
	return nil
}

// Lend returns up to n bytes at off that were fetched ahead, as [hemera.Lender] says. Lent bytes count against the budget
// until they are returned.
func (r *Reader) Lend(off, n int64) hemera.Loan {
	from, n := r.find(off, n)
	if from == nil {
		return hemera.Loan{}
	}
	r.noted(off, n, false) // what comes next is fetched while this one waits
	<-from.done
	if from.err != nil {
		r.forget(from)
		r.returned(from)
		return hemera.Loan{}
	}
	loan := hemera.Loan{Data: from.data[off-from.off:][:n:n], Return: func() { r.returned(from) }}
	if off%hemera.PageSize == 0 && (n%hemera.PageSize == 0 || off+n == from.end()) {
		loan.Sums = from.sums[(off-from.off)/hemera.PageSize:][:checksum.Fragments(off, int(n))]
	} else {
		loan.Sums = make([]uint32, checksum.Fragments(off, int(n)))
		from.sumsOf(loan.Sums, loan.Data, off)
	}
	return loan
}

// Passed says that the caller got n bytes at off in another way.
func (r *Reader) Passed(off, n int64) { r.noted(off, n, n >= r.file.Row) }

// Busy reports whether something is being fetched ahead.
func (r *Reader) Busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.parts {
		select {
		case <-p.done:
		default:
			return true
		}
	}
	return false
}

// Close forgets all parts. Fetches in flight end by themselves.
func (r *Reader) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
	r.closed = true
}

// sumsOf writes the sums of the page fragments of data, which is what the part has at off, unless sums is nil. Those of whole pages
// were fetched.
func (p *part) sumsOf(sums []uint32, data []byte, off int64) {
	if sums == nil {
		return
	}
	for len(data) > 0 {
		n := min(int(hemera.PageSize-off%hemera.PageSize), len(data))
		page := (off - p.off) / hemera.PageSize
		first := p.off + page*hemera.PageSize
		if whole := min(first+hemera.PageSize, p.end()); off == first && off+int64(n) == whole {
			sums[0] = p.sums[page]
		} else { // of a fragment there is no sum yet
			sums[0] = checksum.CRC32C(data[:n])
		}
		data, sums, off = data[n:], sums[1:], off+int64(n)
	}
}

// find lends the caller the part that has the byte at off, until it is returned, and says how many of n bytes it has from there.
// Without one it returns how many bytes come before the next part.
func (r *Reader) find(off, n int64) (*part, int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.parts {
		switch {
		case p.off > off:
			return nil, min(n, p.off-off)
		case off < p.end():
			p.lent++
			return p, min(n, p.end()-off)
		}
	}
	return nil, n
}

// forget takes a part out that could not be fetched.
func (r *Reader) forget(bad *part) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, p := range r.parts {
		if p == bad {
			r.parts = append(r.parts[:i:i], r.parts[i+1:]...)
			r.drop(p)
			return
		}
	}
}

// returned takes note that a loan of a part is over.
func (r *Reader) returned(p *part) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.lent--
	r.give(p)
}

// noted takes note of a read, and begins to fetch what comes next. A long read uses all disks by itself.
func (r *Reader) noted(off, n int64, long bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if off != r.next || long {
		r.end()
	}
	if r.run == 0 {
		r.ahead = off + n
	}
	r.next = off + n
	r.run++
	r.bytes += n
	// The parts that the caller has passed are not read again. The read that is served now keeps what it found.
	for len(r.parts) > 0 && r.parts[0].end() <= off {
		r.drop(r.parts[0])
		r.parts = r.parts[1:]
	}
	if r.run >= runMin && !long && !r.closed {
		r.fill()
	}
}

// fill begins parts up to the end of the window. The caller holds mu.
func (r *Reader) fill() {
	f := &r.file
	end := min(f.Size, r.next+min(2*r.bytes, 2*f.Row, WindowMax))
	// A window that is shorter than a block would have a block of another disk come late.
	r.ahead = max(r.ahead, r.next)
	for r.ahead < end {
		// Up to the end of the block, and to a border of parts within it.
		n := min(f.Block-r.ahead%f.Block, partMax-r.ahead%f.Block%partMax, f.Size-r.ahead)
		if !f.Here(r.ahead) {
			// What a read has begun in the middle of a page is read with that page by the caller.
			if r.ahead%hemera.PageSize == 0 && !r.fetch(r.ahead, n) {
				return
			}
		}
		r.ahead += n
	}
}

// fetch begins one part, if there is room. The caller holds mu.
func (r *Reader) fetch(off, n int64) bool {
	if !r.budget.take(n) {
		return false
	}
	if !r.file.Begin() {
		r.budget.used.Add(-n)
		return false
	}
	p := &part{off: off, data: r.budget.memory(n), done: make(chan struct{})}
	p.sums = make([]uint32, checksum.Fragments(off, int(n)))
	r.parts = append(r.parts, p)
	go func() {
		defer r.file.Done()
		p.err = r.file.Fetch(p.data, p.sums, p.off)
		close(p.done)
		r.mu.Lock()
		defer r.mu.Unlock()
		p.fetched = true
		r.give(p)
	}()
	return true
}

// end ends the run: what was fetched is forgotten. The caller holds mu.
func (r *Reader) end() {
	for _, p := range r.parts {
		r.drop(p)
	}
	r.parts, r.run, r.bytes = nil, 0, 0
}

// drop forgets a part. Its memory goes with the last who looks at it. The caller holds mu.
func (r *Reader) drop(p *part) {
	p.forgotten = true
	r.give(p)
}

// give returns the room of a part to the budget once nothing is fetched into it, no reader finds it and none has it. The
// caller holds mu.
func (r *Reader) give(p *part) {
	if p.fetched && p.forgotten && p.lent == 0 {
		r.budget.used.Add(-int64(len(p.data)))
		if p.err == nil { // after an error something may still write to it
			data := p.data
			r.budget.free.Put(&data)
		}
	}
}
