// Package ledger has the states of the pieces of one write, and decides how a close goes on when pieces fail. It is pure.
//
// A close asks for one step after the other. No step is taken twice without a change: a seal or a fill makes its pieces sealed
// or failed, and a question for other disks uses up one round.
//
// It is a package of its own, so that its states can be tried in all orders without a disk or a node, and nothing else changes them.
package ledger

import "fmt"

// State is the head's knowledge of one piece of a write.
//
//	planned ──▶ live ──▶ sealed          planned ──▶ sealed   (content in memory: one call)
//	   ▲ ╲        │         │
//	   │  ╲───▶ failed ◀────┘            a disk that breaks behind the seal is not looked at
//	   └──────────┘ another disk was granted
type State uint8

// The states.
const (
	Planned State = iota // it has a target; nothing is there yet
	Live                 // it takes writes
	Failed               // lost; its disk is not asked again
	Sealed               // complete and immutable
)

// Step is the next action of the head of a write at its close.
type Step uint8

// The steps.
const (
	Seal    Step = iota // pieces are live: seal them
	Fill                // pieces are planned: make them from the content in memory, or from a sealed piece
	Replace             // ask for other disks
	Commit              // enough pieces are sealed
	Fail                // the minimum cannot be reached
)

// replaceRounds bounds how often one write asks for other disks.
const replaceRounds = 3

// Ledger has the states of the pieces of one write. It is the only place that changes a state. An acknowledged write
// never has fewer than the minimum of sealed pieces; it has fewer than all only if no other disk was to be had. One
// goroutine uses it at a time.
type Ledger struct {
	min    int // sealed pieces that a commit takes; at least needed
	needed int // pieces that are enough to read the content
	states []State
	kept   bool // the head has the content in memory: it needs no piece to copy from
	rounds int  // replacements asked for so far
	denied bool // the last answer to that was no
}

// New returns the ledger of pieces that are planned. A commit takes min of them, and needed are enough to read the content.
func New(pieces, min, needed int) Ledger {
	return Ledger{min: max(min, needed, 1), needed: max(needed, 1), states: make([]State, pieces)}
}

// Keep says that the head has the content in memory, so that it needs no piece to copy from.
func (l *Ledger) Keep() { l.kept = true }

// Min returns how many sealed pieces a commit takes.
func (l *Ledger) Min() int { return l.min }

// SetMin sets how many sealed pieces a commit takes.
func (l *Ledger) SetMin(min int) { l.min = min }

// Is reports whether piece i is in the state.
func (l *Ledger) Is(i int, s State) bool { return l.states[i] == s }

// Count returns how many pieces are in the state.
func (l *Ledger) Count(s State) int {
	n := 0
	for _, have := range l.states {
		if have == s {
			n++
		}
	}
	return n
}

// Only returns the live piece if there is exactly one, else -1.
func (l *Ledger) Only() int {
	found := -1
	for i, s := range l.states {
		switch {
		case s != Live:
		case found >= 0:
			return -1
		default:
			found = i
		}
	}
	return found
}

// Writable reports whether the write can continue: the pieces that are not lost are enough to make the others from.
// Planned ones count, as nothing that was written is missing there.
func (l *Ledger) Writable() bool { return len(l.states)-l.Count(Failed) >= l.needed }

// Losses says in words that too many pieces failed, for a write that ends for it.
func (l *Ledger) Losses() string {
	if n := l.Count(Failed); n < len(l.states) {
		return fmt.Sprintf("%d of %d pieces of the write failed, and it needs %d", n, len(l.states), l.needed)
	}
	return "every piece of the write failed"
}

// Began records that a planned piece was created.
func (l *Ledger) Began(i int) { l.move(i, Planned, Live) }

// Sealed records that a live piece was sealed, or a planned one made and sealed at once.
func (l *Ledger) Sealed(i int) {
	if l.states[i] == Live || l.states[i] == Planned {
		l.states[i] = Sealed
	}
}

// Absent records that a piece has no bytes, so it is not stored and counts as sealed.
func (l *Ledger) Absent(i int) { l.states[i] = Sealed }

// Fail records that a piece is lost.
func (l *Ledger) Fail(i int) { l.states[i] = Failed }

// Replaced records that a lost piece was given another disk.
func (l *Ledger) Replaced(i int) { l.move(i, Failed, Planned) }

// Asked records the answer to a question for other disks: whether there were any.
func (l *Ledger) Asked(found bool) {
	l.rounds++
	l.denied = !found
}

// move changes the state of a piece that is in the state from.
func (l *Ledger) move(i int, from, to State) {
	if l.states[i] == from {
		l.states[i] = to
	}
}

// Next returns the step that a close takes now.
func (l *Ledger) Next() Step {
	done := l.Count(Sealed)
	switch {
	case l.Count(Live) > 0:
		return Seal
	case done < l.needed && !l.kept:
		return Fail
	case l.Count(Planned) > 0:
		return Fill
	case l.Count(Failed) > 0 && !l.denied && l.rounds < replaceRounds:
		return Replace
	case done >= l.min:
		return Commit
	}
	return Fail
}
