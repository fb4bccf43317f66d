package read

import (
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hemera/rules/layout"
	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A hedged read does not wait for a piece that takes much longer than others: the bytes are computed from those instead.
// The slow read continues, and its memory is its own until it returns; see [hemera.KeepsBuffers]. pace.go says what slow
// is.
const (
	// copiesWait bounds a read of a copy. No client waits for a copy, many of them fill the links, and what a read that
	// was hedged brings is thrown away: hedging early would only add to what it waits for.
	copiesWait = 10 * time.Second
	// hedgesMax bounds how many reads of one node are hedged at once. Others wait: when all is slow, more reads do not
	// help.
	hedgesMax = 32
)

// hedger reads pieces of one coded file, and does not wait for those that are slow if others may be sooner. Its lock is a leaf.
type hedger struct {
	pieces *replicas
	shared *Shared
	layout hemera.Layout
	copies bool // the reader makes copies, for which no client waits

	// wary: a read was hedged, or an open slow, so another read may be. From then on reads go into memory of the reader's own.
	wary atomic.Bool

	mu   sync.Mutex
	slow [hemera.CodedPiecesMax]int // of each piece, the reads that were hedged and have not returned
}

// hedgedError says that a read took too long, while other pieces may have the bytes sooner.
type hedgedError struct {
	after time.Duration
	keeps bool // the caller's memory
}

func (e *hedgedError) Error() string { return "a piece was not read within " + e.after.String() }

// KeepsBuffers says that the read may still use its memory; see [hemera.KeepsBuffers].
func (e *hedgedError) KeepsBuffers() bool { return e.keeps }

// wasHedged reports whether a read was hedged: others may be sooner.
func wasHedged(err error) bool {
	_, ok := errors.AsType[*hedgedError](err)
	return ok
}

// attempt is the result of one read of a piece.
type attempt struct {
	from *replica // that was read; nil if none could be opened, or the read was hedged
	n    int      // bytes that were read and are verified
	err  error    // io.EOF at the end of the piece
}

// cachedReader is a piece on a disk of this node that reads what is in memory without waiting.
type cachedReader interface {
	Cached(p []byte, sums []uint32, off int64) (n int, err error, all bool)
}

// try opens a piece if it is not open, and reads it.
func (s *hedger) try(index int, p []byte, sums []uint32, off int64) (a attempt) {
	if a.from, a.err = s.pieces.pick(index, nil); a.err == nil {
		a.n, a.err = a.from.src.ReadPages(p, sums, off)
	}
	return a
}

// hedged does what try does, for as long as the node's patience. Then the piece is slow until the read returns, and the
// memory is the read's.
func (s *hedger) hedged(index int, p []byte, sums []uint32, off int64) attempt {
	// Bytes in this node's memory are there at once.
	if local, ok := s.pieces.localAtOnce(index).(cachedReader); ok {
		if n, err, all := local.Cached(p, sums, off); all && n == len(p) {
			return attempt{n: n, err: err}
		}
	}
	if s.copies {
		defer s.shared.copyReads.acquire()() // a read that continues alone keeps no place
	}
	// The goroutine ends with the read. The channel has room for its answer, so it never waits for anybody.
	node, shared, began := s.pieces.node, s.shared, time.Now()
	done := make(chan attempt, 1)
	go func() {
		var a attempt
		err := node.Panics.Do("transfer.Read", piece.Subject(s.pieces.cap), func() error {
			a = s.try(index, p, sums, off)
			return nil
		})
		if err != nil {
			a = attempt{err: err}
		}
		done <- a
	}()
	patience := shared.pace.Patience()
	if s.copies {
		patience = copiesWait
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for waits := true; waits; {
		select {
		case a := <-done:
			shared.pace.Took(time.Since(began))
			return a
		case <-timer.C:
		}
		// If nothing else would be sooner, or too much is waited for already, the read is as good as any for now. Pieces that
		// seemed slow may have returned when it is looked at again.
		if waits = shared.hedges.Add(1) > hedgesMax || !s.hedge(index); waits {
			shared.hedges.Add(-1)
			timer.Reset(patience)
		}
	}
	node.Counters.Hedged.Add(1)
	node.Background(s.pieces.cap, func() {
		// The result of the read is worth knowing, though no caller waits for it.
		defer func() {
			shared.hedges.Add(-1)
			s.pieces.calls.Done()
		}()
		if a := <-done; a.err != nil && a.from != nil && errs.KindOf(a.err) != errs.Corrupt && !errors.Is(a.err, io.EOF) {
			s.pieces.exclude(a.from, a.err)
		}
		s.returned(index)
	})
	return attempt{err: errs.As(&hedgedError{patience, true}, errs.Timeout, "transfer.Read", piece.Subject(s.pieces.cap))}
}

// careful does what hedged does. After the first read that was hedged it reads into memory of its own, and copies: so the
// caller keeps its memory, and has to read again once at most.
func (s *hedger) careful(index int, p []byte, sums []uint32, off int64) attempt {
	if !s.wary.Load() {
		a := s.hedged(index, p, sums, off)
		if wasHedged(a.err) {
			s.wary.Store(true)
		}
		return a
	}
	own := s.shared.spare.Get(len(p))
	var ownSums []uint32
	if sums != nil {
		ownSums = make([]uint32, len(sums))
	}
	a := s.hedged(index, own, ownSums, off)
	if hedged, ok := errors.AsType[*hedgedError](a.err); ok {
		a.err = errs.As(&hedgedError{after: hedged.after}, errs.Timeout, "transfer.Read", piece.Subject(s.pieces.cap))
		return a
	}
	copy(p, own[:a.n])
	copy(sums, ownSums)
	if !hemera.KeepsBuffers(a.err) {
		s.shared.spare.Put(own)
	}
	return a
}

// hedge records that a piece is not waited for, and counts the read, which continues, as a call of the reader. It returns
// false if the other pieces would not be enough.
func (s *hedger) hedge(index int) bool {
	if index >= len(s.slow) || !s.pieces.calls.Begin() {
		return false
	}
	others := s.usable(true).Without(index) &^ s.shared.slow.Of(s.pieces.cap.Targets)
	s.mu.Lock()
	// Looked at and recorded at once: of two pieces that are slow together only one may be left out if there is one to spare.
	// Pieces without bytes count as lost here, which errs on the side of waiting.
	enough := layout.Readable(s.layout, s.pieces.cap.Size, s.quick(others))
	if enough {
		s.slow[index]++
	}
	s.mu.Unlock()
	if !enough {
		s.pieces.calls.Done()
		return false
	}
	s.shared.slow.Hedged(s.pieces.cap.Targets, index)
	return true
}

// returned records that a read that was hedged has returned.
func (s *hedger) returned(index int) {
	s.shared.slow.Returned(s.pieces.cap.Targets, index)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow[index]--
}

// waits reports whether a read that was hedged has not returned.
func (s *hedger) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.slow[:], func(n int) bool { return n > 0 })
}

// usable returns the set of the pieces that may be read, slow ones only if slowToo.
func (s *hedger) usable(slowToo bool) (set layout.Set) {
	set = s.pieces.usable()
	if slowToo {
		return set
	}
	// A disk that another file has found slow is slow here too.
	set &^= s.shared.slow.Of(s.pieces.cap.Targets)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quick(set)
}

// quick takes the pieces that are slow out of a set. The caller holds mu.
func (s *hedger) quick(set layout.Set) layout.Set {
	for i, n := range s.slow {
		if n > 0 {
			set = set.Without(i)
		}
	}
	return set
}
