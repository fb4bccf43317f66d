package ahead

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hemera/rules/checksum"
	"hemera/words/hemera"
)

const (
	block = 64 << 10
	disks = 4
	row   = disks * block
)

// striped is a file on some disks: each fetch takes a second of the test's clock, and the disk of each block serves one after
// the other.
type striped struct {
	content []byte
	turns   [disks]chan struct{} // as a mutex that the test's clock knows
	fetches atomic.Int64
	fail    func(off int64, ahead bool) error
	open    atomic.Int64
	closed  atomic.Bool
}

func newStriped(size int) *striped {
	s := &striped{content: make([]byte, size)}
	for i := range s.turns {
		s.turns[i] = make(chan struct{}, 1)
	}
	_, _ = rand.NewChaCha8([32]byte{byte(size)}).Read(s.content)
	return s
}

func (s *striped) fetch(p []byte, sums []uint32, off int64) error {
	s.fetches.Add(1)
	if s.fail != nil {
		if err := s.fail(off, len(p) > block/2); err != nil {
			return err
		}
	}
	disk := s.turns[off/block%disks]
	disk <- struct{}{}
	defer func() { <-disk }()
	time.Sleep(time.Second)
	copy(p, s.content[off:])
	if sums != nil {
		checksum.PageSums(p, off, sums)
	}
	return nil
}

func (s *striped) reader(b *Budget, here func(int64) bool) *Reader {
	return New(File{
		Size: int64(len(s.content)), Block: block, Row: row, Fetch: s.fetch, Here: here,
		Begin: func() bool { s.open.Add(1); return !s.closed.Load() }, Done: func() { s.open.Add(-1) },
	}, b)
}

func nowhere(int64) bool { return false }

// read reads a range and compares bytes and sums.
func (s *striped) read(t *testing.T, r *Reader, off, n int) error {
	t.Helper()
	p, sums := make([]byte, n), make([]uint32, checksum.Fragments(int64(off), n))
	if err := r.ReadPages(p, sums, int64(off)); err != nil {
		return err
	}
	if !bytes.Equal(p, s.content[off:off+n]) {
		t.Fatalf("%d bytes at %d differ", n, off)
	}
	if checksum.VerifyPages(p, int64(off), sums) >= 0 {
		t.Fatalf("the sums of %d bytes at %d differ", n, off)
	}
	return nil
}

// lend reads by loans, as far as there are any. It returns the number of bytes that were lent.
func (s *striped) lend(t *testing.T, r *Reader, off, n int) (lent int, err error) {
	t.Helper()
	for n > 0 {
		loan := r.Lend(int64(off), int64(n))
		got := len(loan.Data)
		if got == 0 {
			return lent, s.read(t, r, off, n)
		}
		if got > n || !bytes.Equal(loan.Data, s.content[off:off+got]) {
			t.Fatalf("%d bytes at %d were lent for %d, and differ", got, off, n)
		}
		if len(loan.Sums) != checksum.Fragments(int64(off), got) || checksum.VerifyPages(loan.Data, int64(off), loan.Sums) >= 0 {
			t.Fatalf("the sums of %d bytes at %d that were lent differ", got, off)
		}
		loan.Return()
		lent, off, n = lent+got, off+got, n-got
	}
	return lent, nil
}

// TestInOrderPartsAreLent: from the beginning of the run on nothing is copied, whatever the blocks of a row.
func TestInOrderPartsAreLent(t *testing.T) {
	for _, step := range []int{block / 2, block, 5000} {
		synctest.Test(t, func(t *testing.T) {
			s, b := newStriped(4*row), &Budget{Max: 1 << 30}
			r, lent := s.reader(b, nowhere), 0
			for off := 0; off < 4*row; off += step {
				n, err := s.lend(t, r, off, min(step, 4*row-off))
				if err != nil {
					t.Fatal(err)
				}
				lent += n
			}
			if want := 4*row - runMin*step - block; lent < want { // a run that begins in the middle of a page leaves that block to the caller
				t.Errorf("in steps of %d, %d bytes were lent, want %d", step, lent, want)
			}
			r.Close()
			synctest.Wait()
			if b.used.Load() != 0 {
				t.Errorf("%d bytes are in use", b.used.Load())
			}
		})
	}
}

// TestALoanCountsUntilItIsReturned: also when its part is passed, and when the reader is closed.
func TestALoanCountsUntilItIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newStriped(4*row), &Budget{Max: 1 << 30}
		r := s.reader(b, nowhere)
		for off := range runMin {
			if err := s.read(t, r, off*block/2, block/2); err != nil {
				t.Fatal(err)
			}
		}
		loan := r.Lend(runMin*block/2, block/2)
		second := r.Lend(runMin*block/2, 1)
		if len(loan.Data) == 0 || len(second.Data) != 1 {
			t.Fatal("nothing was lent")
		}
		r.Close()
		time.Sleep(time.Hour) // what is in flight ends
		content := bytes.Clone(loan.Data)
		second.Return()
		if b.used.Load() == 0 || !bytes.Equal(content, s.content[runMin*block/2:][:len(content)]) {
			t.Errorf("%d bytes count while some are lent", b.used.Load())
		}
		loan.Return()
		if b.used.Load() != 0 {
			t.Errorf("%d bytes count after the return", b.used.Load())
		}
		if loan := r.Lend(2*block, 1); len(loan.Data) > 0 {
			t.Error("a closed reader lends")
		}
	})
}

// TestInOrderAllDisksAreUsed: a caller that reads a block at a time waits as long as one that reads rows.
func TestInOrderAllDisksAreUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newStriped(20*row), &Budget{Max: 1 << 30}
		r, began := s.reader(b, nowhere), time.Now()
		for off := 0; off < 20*row; off += block / 2 {
			if err := s.read(t, r, off, block/2); err != nil {
				t.Fatal(err)
			}
		}
		took := time.Since(began)
		// 20 rows at a second each, and the beginning; without reading ahead it would be 160 s.
		if took > 30*time.Second {
			t.Errorf("it took %s", took)
		}
		r.Close()
		time.Sleep(time.Hour) // what is in flight ends
		if b.used.Load() != 0 || s.open.Load() != 0 {
			t.Errorf("%d bytes are in use, %d fetches not done", b.used.Load(), s.open.Load())
		}
	})
}

// TestElsewhereNothingIsReadAhead: reads at random places, long ones, and the first of a run cost what they cost.
func TestElsewhereNothingIsReadAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newStriped(8*row), &Budget{Max: 1 << 30}
		r := s.reader(b, nowhere)
		want := int64(0)
		for _, read := range [][2]int{{5000, 100}, {900_000, 4096}, {17, 3}, {20, 5}, {0, row}, {row, 2 * row}, {3 * row, row}, {4 * row, row}} {
			if err := s.read(t, r, read[0], read[1]); err != nil {
				t.Fatal(err)
			}
			want++
		}
		time.Sleep(time.Hour)
		if got := s.fetches.Load(); got != want {
			t.Errorf("%d fetches for %d reads", got, want)
		}
	})
}

// TestBlocksOfThisMachineAreLeftToTheKernel: only others are fetched ahead, also where the caller had some in another way.
func TestBlocksOfThisMachineAreLeftToTheKernel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newStriped(6*row), &Budget{Max: 1 << 30}
		here := func(off int64) bool { return off/block%disks == 1 }
		r := s.reader(b, here)
		for off := 0; off < 6*row; off += block / 4 {
			if here(int64(off)) {
				r.Passed(int64(off), block/4)
				continue
			}
			if err := s.read(t, r, off, block/4); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		for _, p := range r.parts {
			if here(p.off) {
				t.Errorf("the block at %d was fetched ahead", p.off)
			}
		}
		if n := s.fetches.Load(); n > 6*3+8 {
			t.Errorf("%d fetches for %d blocks", n, 6*3)
		}
	})
}

// TestWhatFailsIsReadByTheCaller: a part that cannot be fetched is the caller's to read, with the error if it fails again.
func TestWhatFailsIsReadByTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("the disk is broken")
		s, b := newStriped(4*row), &Budget{Max: 1 << 30}
		s.fail = func(off int64, ahead bool) error {
			if ahead && off/block%disks == 2 {
				return broken
			}
			return nil
		}
		r := s.reader(b, nowhere)
		for off := 0; off < 4*row; off += block / 4 {
			if err := s.read(t, r, off, block/4); err != nil {
				t.Fatal(err)
			}
		}
		s.fail = func(int64, bool) error { return broken }
		if err := s.read(t, r, 3*block, 10); !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Hour)
	})
}

// TestMemoryIsBounded: without room nothing is fetched ahead, and all is read.
func TestMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newStriped(4*row), &Budget{Max: 3*block + 5}
		one, other := s.reader(b, nowhere), s.reader(b, nowhere)
		for off := 0; off < 4*row; off += block / 2 {
			for _, r := range []*Reader{one, other} {
				if err := s.read(t, r, off, block/2); err != nil {
					t.Fatal(err)
				}
				if n := b.used.Load(); n > b.Max {
					t.Fatalf("%d bytes are in use", n)
				}
			}
		}
		one.Close()
		other.Close()
		s.closed.Store(true)
		time.Sleep(time.Hour) // what is in flight ends
		if b.used.Load() != 0 {
			t.Errorf("%d bytes are in use", b.used.Load())
		}
		if one.Busy() || other.Busy() {
			t.Error("busy after the end")
		}
	})
}

// TestAgainstBytes reads at random, in order, from several goroutines, with failures, at any alignment.
func TestAgainstBytes(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			s, b := newStriped(1+rng.IntN(6*row)), &Budget{Max: int64(rng.IntN(4 * row))}
			s.fail = func(off int64, ahead bool) error {
				if ahead && off%7 == 3 {
					return errors.New("now and then")
				}
				return nil
			}
			r := s.reader(b, func(off int64) bool { return off/block%disks == 3 })
			var wg sync.WaitGroup
			for i := range 2 {
				own := rand.New(rand.NewPCG(seed, uint64(i)+2))
				wg.Go(func() {
					off := 0
					for range 60 {
						if own.IntN(10) == 0 || off >= len(s.content) {
							off = own.IntN(len(s.content))
						}
						n := min(1+own.IntN(block), len(s.content)-off, block/2)
						read := s.read
						if own.IntN(2) == 0 {
							read = func(t *testing.T, r *Reader, off, n int) error { _, err := s.lend(t, r, off, n); return err }
						}
						if err := read(t, r, off, n); err != nil {
							t.Error(err)
						}
						off += n
					}
				})
			}
			wg.Wait()
			r.Close()
			time.Sleep(time.Hour) // what is in flight ends
			if b.used.Load() != 0 || s.open.Load() != 0 {
				t.Errorf("seed %d: %d bytes are in use, %d fetches not done", seed, b.used.Load(), s.open.Load())
			}
		})
	}
}

// TestMemoryIsUsedAgainWhenNobodyHasIt: what is lent stays as it is while later parts are fetched into memory of earlier ones.
func TestMemoryIsUsedAgainWhenNobodyHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newStriped(40*row), &Budget{Max: 1 << 30}
		r := s.reader(b, nowhere)
		var loans []hemera.Loan
		var places []int
		for off := 0; off < 40*row; {
			loan := r.Lend(int64(off), block)
			if len(loan.Data) == 0 {
				if err := s.read(t, r, off, block/2); err != nil {
					t.Fatal(err)
				}
				off += block / 2
				continue
			}
			loans, places = append(loans, loan), append(places, off)
			off += len(loan.Data)
			if len(loans) == 10 { // the oldest is passed long ago
				if !bytes.Equal(loans[0].Data, s.content[places[0]:][:len(loans[0].Data)]) {
					t.Fatalf("what is lent at %d has changed", places[0])
				}
				loans[0].Return()
				loans, places = loans[1:], places[1:]
			}
		}
		for _, loan := range loans {
			loan.Return()
		}
		r.Close()
		synctest.Wait()
		if b.used.Load() != 0 {
			t.Errorf("%d bytes are in use", b.used.Load())
		}
	})
}

// TestMemoryIsNoMoreThanWhatIsCounted: a short part does not get the memory of a long one.
func TestMemoryIsNoMoreThanWhatIsCounted(t *testing.T) {
	var b Budget
	for _, n := range []int64{1 << 20, 64 << 10, 1 << 20, 1 << 20} {
		m := b.memory(n)
		if int64(cap(m)) != n || int64(len(m)) != n {
			t.Errorf("%d bytes with room for %d instead of %d", len(m), cap(m), n)
		}
		b.free.Put(&m)
	}
}

// TestReadersWhoEndEachOthersRuns get what they asked for: a part that one of them passes may be what another copies from.
func TestReadersWhoEndEachOthersRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newStriped(20*row), &Budget{Max: 1 << 30}
		r := s.reader(b, nowhere)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(i), 5))
				for range 30 {
					at := rng.IntN(19 * row)
					for range 2 + rng.IntN(8) { // a run that is long enough for parts, or not
						if err := s.read(t, r, at, block/4); err != nil {
							t.Error(err)
						}
						at = min(at+block/4, 19*row)
					}
				}
			})
		}
		wg.Wait()
		r.Close()
		time.Sleep(time.Hour) // what is in flight ends
		if b.used.Load() != 0 {
			t.Errorf("%d bytes are in use", b.used.Load())
		}
	})
}
