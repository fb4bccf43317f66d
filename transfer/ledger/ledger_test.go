package ledger

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
						l := New(pieces, minimum, needed)
						l.rounds = max(asked, 0)
						l.kept = asked < 0
						for i, rest := 0, code; i < pieces; i, rest = i+1, rest/4 {
							l.states[i] = State(rest % 4)
						}
						if i := l.Only(); (i >= 0) != (l.Count(Live) == 1) || i >= 0 && !l.Is(i, Live) {
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

// obvious follows the rule in words: seal what is live; make what is Planned, if there is something to make it from; what
// is lost is replaced while that can be asked for; commit with the minimum, and never with less than can be read; else
// fail.
func obvious(l Ledger, minimum int) Step {
	have := map[State]int{}
	for _, s := range l.states {
		have[s]++
	}
	if have[Live] != 0 {
		return Seal
	}
	readable := have[Sealed] >= l.needed
	if (readable || l.kept) && have[Planned] != 0 {
		return Fill
	}
	if (readable || l.kept) && have[Failed] != 0 && l.rounds < replaceRounds {
		return Replace
	}
	if readable && have[Sealed] >= minimum {
		return Commit
	}
	return Fail
}

// TestLedgerTransitions: a piece changes its state only as its life goes on.
func TestLedgerTransitions(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(l *Ledger)
		to   map[State]State // of the states that change
	}{
		{"began", func(l *Ledger) { l.Began(0) }, map[State]State{Planned: Live}},
		{"sealed", func(l *Ledger) { l.Sealed(0) }, map[State]State{Planned: Sealed, Live: Sealed}},
		{"fail", func(l *Ledger) { l.Fail(0) }, map[State]State{Planned: Failed, Live: Failed, Sealed: Failed}},
		{"replaced", func(l *Ledger) { l.Replaced(0) }, map[State]State{Failed: Planned}},
	} {
		for from := Planned; from <= Sealed; from++ {
			l := New(1, 1, 1)
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

func TestLossesAreCounted(t *testing.T) {
	l := New(4, 3, 3)
	l.Fail(1)
	l.Fail(2)
	if got := l.Losses(); got != "2 of 4 pieces of the write failed, and it needs 3" {
		t.Error(got)
	}
	l.Fail(0)
	l.Fail(3)
	if got := l.Losses(); got != "every piece of the write failed" {
		t.Error(got)
	}
}
