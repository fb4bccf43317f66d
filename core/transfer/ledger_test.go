package transfer

import "testing"

// TestLedgerNeverCommitsBelowTheMinimum walks every combination of states of up to five pieces.
func TestLedgerNeverCommitsBelowTheMinimum(t *testing.T) {
	for pieces := 1; pieces <= 5; pieces++ {
		combinations := 1
		for range pieces {
			combinations *= 4
		}
		for code := range combinations {
			for minimum := 0; minimum <= pieces; minimum++ {
				for needed := 1; needed <= pieces; needed++ {
					for _, asked := range []int{0, replaceRounds, -1} {
						l := newLedger(pieces, minimum, needed)
						l.rounds = max(asked, 0)
						l.kept = asked < 0
						for i, rest := 0, code; i < pieces; i, rest = i+1, rest/4 {
							l.states[i] = pieceState(rest % 4)
						}
						if i := l.Only(); (i >= 0) != (l.Count(live) == 1) || i >= 0 && !l.Is(i, live) {
							t.Fatalf("states %v: only %d", l.states, i)
						}
						if got, want := l.Next(), obvious(l, minimum); got != want {
							t.Fatalf("states %v, minimum %d, %d needed, asked %d times: step %d, want %d", l.states, minimum, needed, asked, got, want)
						}
					}
				}
			}
		}
	}
}

// obvious is the rule in words: seal what is live; make what is planned, if there is something to make it from; what is
// lost is replaced while that can be asked for; commit with the minimum, and never with less than can be read; else
// fail.
func obvious(l ledger, minimum int) step {
	have := map[pieceState]int{}
	for _, s := range l.states {
		have[s]++
	}
	if have[live] != 0 {
		return stepSeal
	}
	readable := have[sealed] >= l.needed
	if (readable || l.kept) && have[planned] != 0 {
		return stepFill
	}
	if (readable || l.kept) && have[failed] != 0 && l.rounds < replaceRounds {
		return stepReplace
	}
	if readable && have[sealed] >= minimum {
		return stepCommit
	}
	return stepFail
}

// TestLedgerTransitions: a piece changes its state only as its life goes on.
func TestLedgerTransitions(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(l *ledger)
		to   map[pieceState]pieceState // of the states that change
	}{
		{"began", func(l *ledger) { l.Began(0) }, map[pieceState]pieceState{planned: live}},
		{"sealed", func(l *ledger) { l.Sealed(0) }, map[pieceState]pieceState{planned: sealed, live: sealed}},
		{"fail", func(l *ledger) { l.Fail(0) }, map[pieceState]pieceState{planned: failed, live: failed, sealed: failed}},
		{"replaced", func(l *ledger) { l.Replaced(0) }, map[pieceState]pieceState{failed: planned}},
	} {
		for from := planned; from <= sealed; from++ {
			l := newLedger(1, 1, 1)
			l.states[0] = from
			want, changes := c.to[from]
			if !changes {
				want = from
			}
			if c.do(&l); !l.Is(0, want) {
				t.Errorf("%s in state %d: state %d, want %d", c.name, from, l.states[0], want)
			}
		}
	}
}
