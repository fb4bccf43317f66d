package transfer

import "testing"

// TestLedgerNeverCommitsBelowTheMinimum walks every combination of states of up to five pieces.
func TestLedgerNeverCommitsBelowTheMinimum(t *testing.T) {
	for pieces := 1; pieces <= 5; pieces++ {
		combinations := 1
		for range pieces {
			combinations *= 3
		}
		for code := range combinations {
			for minimum := 0; minimum <= pieces; minimum++ {
				for _, asked := range []int{0, replaceRounds, -1} {
					l := newLedger(pieces, minimum)
					l.rounds = max(asked, 0)
					l.kept = asked < 0
					for i, rest := 0, code; i < pieces; i, rest = i+1, rest/3 {
						l.states[i] = state(rest % 3)
					}
					if i := l.only(); (i >= 0) != (l.count(live) == 1) || i >= 0 && l.states[i] != live {
						t.Fatalf("states %v: only %d", l.states, i)
					}
					if got, want := l.next(), obvious(l); got != want {
						t.Fatalf("states %v, minimum %d, asked %d times: step %d, want %d", l.states, minimum, asked, got, want)
					}
				}
			}
		}
	}
}

// obvious is the rule in words: seal what is live; what is lost is replaced while that can be asked
// for and there is something to copy; commit with the minimum; else fail.
func obvious(l ledger) step {
	have := map[state]int{}
	for _, s := range l.states {
		have[s]++
	}
	if have[live] != 0 {
		return stepSeal
	}
	if (have[sealed] != 0 || l.kept) && have[failed] != 0 && l.rounds < replaceRounds {
		return stepReplace
	}
	if have[sealed] != 0 && have[sealed] >= l.min {
		return stepCommit
	}
	return stepFail
}
