package replkv

import (
	"fmt"

	"hemera/platform/kv/journal"
	"hemera/words/errs"
)

// place is the entry of the journal up to which a store has applied it.
type place struct {
	journal.Position
	// known says that the sum and the epoch are known. They are not after a start: the local engine keeps the number alone.
	known bool
}

// admit decides about an entry of the journal that is to be applied: nil if it follows the place. Corrupt for all others: a journal gives each entry
// once, in order, and no entry of an older epoch behind one of a newer. A store that applied such an entry would differ from the others.
func (p place) admit(e journal.Entry) error {
	var wrong string
	switch {
	case e.Seq != p.Seq+1:
		wrong = fmt.Sprintf("entry %d of the journal came after %d", e.Seq, p.Seq)
	case p.known && e.Epoch < p.Epoch:
		wrong = fmt.Sprintf("entry %d of the journal is of epoch %d, and the one before of epoch %d", e.Seq, e.Epoch, p.Epoch)
	case p.known && e.Prev != p.Chain:
		wrong = fmt.Sprintf("entry %d of the journal does not follow the entry %d that was applied", e.Seq, p.Seq)
	default:
		return nil
	}
	return errs.New(errs.Corrupt, "replkv.Apply", "", wrong).
		WithRemedy("replace this manager's store by a checkpoint of another manager's store")
}

// join compares the place with the end of the journal that a new writer got, when both have the same number. It returns the place to go on from.
func (p place) join(last journal.Position) (place, error) {
	if p.known && p.Chain != last.Chain {
		return p, errs.New(errs.Corrupt, "replkv.Acquire", "", fmt.Sprintf("entry %d of the journal is not the one that was applied", last.Seq)).
			WithRemedy("replace this manager's store by a checkpoint of another manager's store")
	}
	return place{last, true}, nil
}
