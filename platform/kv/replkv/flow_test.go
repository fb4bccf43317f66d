package replkv

import (
	"errors"
	"math/rand/v2"
	"testing"

	"hemera/words/errs"
)

// simulated is a journal and a local engine below a flow, and what the flow asked for.
type simulated struct {
	t       *testing.T
	r       *rand.Rand
	f       flow
	next    uint64           // number of the next batch
	journal uint64           // the last entry
	sent    []uint64         // appends without an answer
	pending uint64           // being applied, or 0
	applied uint64           // the last one
	results map[uint64]error // settled
	acked   uint64           // the last one settled without an error
}

// do takes the actions of the flow, and checks that they are allowed.
func (s *simulated) do(actions []action) {
	for _, a := range actions {
		switch a.do {
		case send:
			if s.f.failed != nil {
				// Batches before the failed one may be sent again, never a later one.
				if s.f.find(a.seq) < 0 {
					s.t.Fatalf("batch %d is sent after the end", a.seq)
				}
			}
			s.sent = append(s.sent, a.seq)
			if len(s.sent) > s.f.limit {
				s.t.Fatalf("%d appends under way", len(s.sent))
			}
		case apply:
			if s.pending != 0 || a.seq != s.applied+1 || a.seq > s.journal {
				s.t.Fatalf("%d is applied after %d, while %d is; the journal ends at %d", a.seq, s.applied, s.pending, s.journal)
			}
			s.pending = a.seq
		case settle:
			if _, ok := s.results[a.seq]; ok {
				s.t.Fatalf("%d is settled twice", a.seq)
			}
			s.results[a.seq] = a.err
			if a.err == nil {
				if a.seq != s.acked+1 || a.seq > s.applied {
					s.t.Fatalf("%d is acknowledged after %d; %d were applied", a.seq, s.acked, s.applied)
				}
				s.acked = a.seq
			}
		}
	}
}

// step makes one thing happen.
func (s *simulated) step() {
	switch k := s.r.IntN(10); {
	case k < 4 && s.f.failed == nil:
		s.next++
		s.do(s.f.enqueue(s.next))
	case k < 8 && len(s.sent) > 0: // an answer, of any append under way
		i := s.r.IntN(len(s.sent))
		seq := s.sent[i]
		s.sent = append(s.sent[:i], s.sent[i+1:]...)
		var err error
		switch {
		case s.r.IntN(40) == 0: // lost
			if seq == s.journal+1 && s.r.IntN(2) == 0 {
				s.journal++
			}
			err = errs.New(errs.Timeout, "test.Append", "", "lost")
		case seq == s.journal+1:
			s.journal++
		case seq > s.journal+1:
			err = errs.New(errs.Conflict, "test.Append", "", "early")
		default:
			s.t.Fatalf("%d is appended again; the journal ends at %d", seq, s.journal)
		}
		s.do(s.f.answered(seq, err))
	case s.pending != 0:
		seq := s.pending
		s.pending = 0
		var err error
		if s.r.IntN(200) == 0 {
			err = errors.New("disk")
		} else {
			s.applied = seq
		}
		s.do(s.f.applied(seq, err))
	}
}

// TestFlow lets everything happen in any order: batches are applied in order, after the journal has them, once; they are settled once, and successes
// are a prefix; in the end nothing is left.
func TestFlow(t *testing.T) {
	for seed := range uint64(3000) {
		s := &simulated{t: t, r: rand.New(rand.NewPCG(seed, 1)), results: make(map[uint64]error)}
		s.f.limit = 1 + s.r.IntN(3)
		for range 200 {
			s.step()
		}
		if s.f.failed == nil && s.r.IntN(2) == 0 {
			s.f.stop(errs.Fenced)
		}
		for range 100_000 {
			if len(s.sent) == 0 && s.pending == 0 && s.f.idle() {
				break
			}
			s.step()
			if s.f.failed == nil && s.next > 1000 {
				s.f.stop(errs.Fenced)
			}
		}
		if !s.f.idle() || uint64(len(s.results)) != s.next {
			t.Fatalf("seed %d: %d of %d batches are settled, %d left, %d sent", seed, len(s.results), s.next, len(s.f.batches), len(s.sent))
		}
	}
}

// TestFlowRepeats: a batch that was early is sent again when the one before is committed; if it is refused then, the journal has lost something.
func TestFlowRepeats(t *testing.T) {
	early := errs.New(errs.Conflict, "test.Append", "", "early")
	f := flow{limit: 2}
	f.enqueue(1)
	f.enqueue(2)
	if do := f.answered(2, early); len(do) != 0 {
		t.Errorf("sent too early: %v", do)
	}
	do := f.answered(1, nil)
	if len(do) != 2 || do[0] != (action{do: apply, seq: 1}) || do[1] != (action{do: send, seq: 2}) {
		t.Fatalf("after the first: %v", do)
	}
	if do := f.answered(2, early); len(do) != 1 || do[0].do != settle || !errors.Is(do[0].err, errs.Conflict) {
		t.Errorf("refused although the one before is there: %v", do)
	}
}

// FuzzDecode: bytes of others make an error or a batch, which is encoded to the same.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{batchVersion, opPut, 1, 'k', 1, 'v', opDelete, 1, 'k'})
	f.Add([]byte{batchVersion})
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := decode(raw)
		if err != nil {
			return
		}
		again, err := decode(encode(b))
		if err != nil || len(again.Ops) != len(b.Ops) {
			t.Errorf("%q: %v", raw, err)
		}
	})
}
