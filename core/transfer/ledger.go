package transfer

// state is what the head knows of one piece of a write.
type state uint8

const (
	live   state = iota // takes writes
	failed              // lost; its disk is not asked again
	sealed              // complete and immutable
)

// step is what the head of a write does next.
type step uint8

const (
	stepSeal    step = iota // pieces are live: seal them
	stepReplace             // ask for other disks and copy the content there
	stepCommit              // enough pieces are sealed
	stepFail                // the minimum cannot be reached
)

// ledger decides how a write goes on when pieces fail: a pure state machine, one per write. An
// acknowledged write never has fewer than min sealed pieces; it has fewer than all only when no
// other disk was to be had.
type ledger struct {
	min    int
	states []state
	kept   bool // the head itself has the content: it needs no piece to copy from
	rounds int  // replacements asked for so far
	denied bool
}

func newLedger(pieces, min int) ledger {
	return ledger{min: max(min, 1), states: make([]state, pieces)}
}

func (l *ledger) count(s state) int {
	n := 0
	for _, have := range l.states {
		if have == s {
			n++
		}
	}
	return n
}

// only is the place of the live piece if there is one alone, else -1.
func (l *ledger) only() int {
	found := -1
	for i, s := range l.states {
		switch {
		case s != live:
		case found >= 0:
			return -1
		default:
			found = i
		}
	}
	return found
}

// writable reports whether writing can go on: any live piece will do, as the others can be copied
// from it.
func (l *ledger) writable() bool { return l.count(live) > 0 }

// next is the step a close takes now.
func (l *ledger) next() step {
	done := l.count(sealed)
	switch {
	case l.count(live) > 0:
		return stepSeal
	case done == 0 && !l.kept:
		return stepFail
	case l.count(failed) > 0 && !l.denied && l.rounds < replaceRounds:
		return stepReplace
	case done >= l.min:
		return stepCommit
	}
	return stepFail
}
