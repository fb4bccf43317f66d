package transfer

// pieceState is what the head knows of one piece of a write.
//
//	planned ──▶ live ──▶ sealed          planned ──▶ sealed   (content in memory: one call)
//	   ▲ ╲        │         │
//	   │  ╲───▶ failed ◀────┘            a disk that breaks behind the seal is not looked at
//	   └──────────┘ another disk was granted
type pieceState uint8

const (
	planned pieceState = iota // it has a target; nothing is there yet
	live                      // it takes writes
	failed                    // lost; its disk is not asked again
	sealed                    // complete and immutable
)

// A close asks the ledger for one step after the other. No step is taken twice without a change: a seal or a fill makes
// its pieces sealed or failed, and a question for other disks uses up one round.
//
// step is what the head of a write does next at its close.
type step uint8

const (
	stepSeal    step = iota // pieces are live: seal them
	stepFill                // pieces are planned: make them from the content in memory, or from a sealed piece
	stepReplace             // ask for other disks
	stepCommit              // enough pieces are sealed
	stepFail                // the minimum cannot be reached
)

// replaceRounds bounds how often one write asks for other disks.
const replaceRounds = 3

// ledger has the states of the pieces of one write and decides how it goes on when pieces fail. It is a pure state
// machine and the only place that changes a state. An acknowledged write never has fewer than min sealed pieces; it
// has fewer than all only if no other disk was to be had.
type ledger struct {
	min    int // sealed pieces that a commit takes; at least needed
	needed int // pieces that are enough to read the content
	states []pieceState
	kept   bool // the head has the content in memory: it needs no piece to copy from
	rounds int  // replacements asked for so far
	denied bool // the last answer to that was no
}

// newLedger returns the ledger of pieces that are planned.
func newLedger(pieces, min, needed int) ledger {
	return ledger{min: max(min, needed, 1), needed: max(needed, 1), states: make([]pieceState, pieces)}
}

// Is reports whether piece i is in the state.
func (l *ledger) Is(i int, s pieceState) bool { return l.states[i] == s }

// Count returns how many pieces are in the state.
func (l *ledger) Count(s pieceState) int {
	n := 0
	for _, have := range l.states {
		if have == s {
			n++
		}
	}
	return n
}

// Only returns the live piece if there is exactly one, else -1.
func (l *ledger) Only() int {
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

// Writable reports whether writing can go on: the pieces that are not lost are enough to make the others from. Planned
// ones count, as nothing that was written is missing there.
func (l *ledger) Writable() bool { return len(l.states)-l.Count(failed) >= l.needed }

// Began records that a planned piece was created.
func (l *ledger) Began(i int) { l.move(i, planned, live) }

// Sealed records that a live piece was sealed, or a planned one made and sealed at once.
func (l *ledger) Sealed(i int) {
	if l.states[i] == live || l.states[i] == planned {
		l.states[i] = sealed
	}
}

// Absent records that a piece has no bytes, so it is not stored and counts as sealed.
func (l *ledger) Absent(i int) { l.states[i] = sealed }

// Fail records that a piece is lost.
func (l *ledger) Fail(i int) { l.states[i] = failed }

// Replaced records that a lost piece was given another disk.
func (l *ledger) Replaced(i int) { l.move(i, failed, planned) }

// Asked records the answer to a question for other disks: whether there were any.
func (l *ledger) Asked(found bool) {
	l.rounds++
	l.denied = !found
}

// move changes the state of a piece that is in the state from.
func (l *ledger) move(i int, from, to pieceState) {
	if l.states[i] == from {
		l.states[i] = to
	}
}

// Next returns the step that a close takes now.
func (l *ledger) Next() step {
	done := l.Count(sealed)
	switch {
	case l.Count(live) > 0:
		return stepSeal
	case done < l.needed && !l.kept:
		return stepFail
	case l.Count(planned) > 0:
		return stepFill
	case l.Count(failed) > 0 && !l.denied && l.rounds < replaceRounds:
		return stepReplace
	case done >= l.min:
		return stepCommit
	}
	return stepFail
}
