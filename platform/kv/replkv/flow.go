package replkv

import (
	"errors"

	"hemera/words/errs"
)

// flow decides about the batches of one writer: which one is appended to the journal, applied to the local engine, and settled. It is pure: each call
// takes an event and returns actions in the order in which they are done. The caller does them, and tells what came of them.
//
// A batch waits, is sent, is committed (the journal has it) and is then applied, in the order of numbers. The first failed append ends the flow: that batch
// and all later ones are settled with its error, and nothing is sent any more. Batches before it go on, as their appends are under way.
type flow struct {
	limit   int      // appends under way at most
	batches []flight // those not settled, in order of numbers, without gaps
	sent    int      // appends under way, also of batches that are settled
	// applying says that the first batch is being applied.
	applying bool
	failed   error // of the first batch that failed; nil while the flow goes on
}

// flight is a batch that is not settled.
type flight struct {
	seq   uint64
	phase phase
	// alone says that the batch before was committed when this one was sent: then nothing can be missing before it.
	alone bool
}

type phase uint8

// The phases of a flight.
const (
	waiting   phase = iota // it was not sent, or is to be sent again at once
	early                  // the journal refused it, because the batch before was not there; it is sent again when that is committed
	sent                   // its append is under way
	committed              // the journal has it
)

// action is something that the caller of flow does.
type action struct {
	do  verb
	seq uint64
	err error // of settle
}

type verb uint8

// The verbs of an action.
const (
	send   verb = iota // append the batch to the journal, and call answered
	apply              // apply it to the local engine, and call applied
	settle             // tell its ticket the result
)

// enqueue adds a batch, whose number follows the last one. The flow must not have failed.
func (f *flow) enqueue(seq uint64) []action {
	f.batches = append(f.batches, flight{seq: seq})
	return f.next(nil)
}

// answered takes the result of an append.
func (f *flow) answered(seq uint64, err error) []action {
	f.sent--
	i := f.find(seq)
	if i < 0 { // settled meanwhile
		return nil
	}
	b := &f.batches[i]
	switch {
	case err == nil:
		b.phase = committed
	case errors.Is(err, errs.Conflict) && !b.alone:
		b.phase = early
	default:
		return f.fail(i, err)
	}
	return f.next(nil)
}

// applied takes the result of applying the first batch. If the local engine fails, nothing can be applied any more.
func (f *flow) applied(seq uint64, err error) []action {
	f.applying = false
	if err != nil {
		return f.fail(0, err)
	}
	f.batches = f.batches[1:]
	return f.next([]action{{do: settle, seq: seq}})
}

// stop ends the flow for batches that come later; those under way go on. The error is what later ones would get.
func (f *flow) stop(err error) {
	if f.failed == nil {
		f.failed = err
	}
}

// abandon settles all batches with an error, whatever comes of their appends. A batch that is being applied is left.
func (f *flow) abandon(err error) []action {
	i := 0
	if f.applying {
		i = 1
	}
	return f.fail(i, err)
}

// idle reports whether no batch is left.
func (f *flow) idle() bool { return len(f.batches) == 0 }

// find returns the index of a batch, -1 if it is settled.
func (f *flow) find(seq uint64) int {
	if len(f.batches) == 0 || seq < f.batches[0].seq || seq > f.batches[len(f.batches)-1].seq {
		return -1
	}
	return int(seq - f.batches[0].seq)
}

// fail settles the batches from an index on.
func (f *flow) fail(from int, err error) (do []action) {
	f.stop(err)
	for _, b := range f.batches[from:] {
		do = append(do, action{settle, b.seq, err})
	}
	f.batches = f.batches[:from]
	return f.next(do)
}

// next appends what can be done now: the next appends, in order of numbers, and the next apply.
func (f *flow) next(do []action) []action {
	if len(f.batches) > 0 && f.batches[0].phase == committed && !f.applying {
		f.applying = true
		do = append(do, action{do: apply, seq: f.batches[0].seq})
	}
	before := true // the batch before is committed
	for i := range f.batches {
		b := &f.batches[i]
		if f.sent >= f.limit {
			break
		}
		if b.phase == waiting || b.phase == early && before {
			b.phase, b.alone = sent, before
			f.sent++
			do = append(do, action{do: send, seq: b.seq})
		}
		before = b.phase == committed
	}
	return do
}
