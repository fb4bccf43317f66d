// Package journal is the contract of a replicated journal: an ordered list of batches that a majority of machines has, and to which one
// writer at a time appends. Engines of package kv that exist on several machines are fed from it ([hemera/platform/kv/replkv]).
//
// # Numbers, epochs and the chain
//
// Entries are numbered without gaps. An epoch is one writer's: Begin makes a new one, and from then on no entry of an older epoch gets in.
// Each entry carries the sum of the entry before it, and its own sum covers that. So the sum of one entry stands for all entries before it:
// two machines whose sums agree at a number have read the same list, and a reader notices a journal that is not the one it read before.
//
// # Lost answers
//
// Append fails in two ways. A refusal (Fenced, Conflict, TooLarge, NoSpace) says that the entry is not there and never will be by this call. Any other
// error leaves it open. An implementation never takes a lost answer for a refusal: it looks at the entry that has the number, and
// compares the sum.
package journal

import (
	"context"
	"errors"

	"hemera/words/errs"
)

// Journal is a replicated journal. Calls block for a majority of its machines, and repeat what a change of the leader interrupted, until ctx
// ends. They fail with Unavailable or Timeout if no majority answers, with NotFound if the journal was never created, and with Corrupt if
// what is stored makes no sense. All methods are safe for concurrent use.
type Journal interface {
	// Create makes an empty journal whose first entry will have the number after+1; after is the number of the last batch of
	// the store from which all machines begin. It is durable at return. It fails with Exists if there is a journal.
	Create(ctx context.Context, after uint64) error
	// Begin makes the caller the only writer, with a new epoch, and returns the end of the journal. When it returns, the epoch is durable on a
	// majority, and no entry of an older epoch can follow. The owner's name is for people.
	Begin(ctx context.Context, owner string) (epoch uint64, last Position, err error)
	// AwaitNewer blocks until an epoch newer than that has begun, or ctx ends; it returns nil or ctx's error. A writer that appends nothing
	// learns in this way that it is fenced. The news may come late.
	AwaitNewer(ctx context.Context, epoch uint64) error
	// Append puts the entry at the end of the journal. When it returns nil, the entry is durable on a majority. It fails with Fenced if a newer
	// epoch has begun, and with Conflict if the entry before is not there yet; the caller may append it again later. After an error of
	// another kind the entry may be there, or get there later.
	Append(ctx context.Context, e Entry) error
	// Follow calls visit with each entry from a number on, in order, once, and blocks until ctx ends or visit fails; it returns that error. It
	// fails with NotFound if entries from that number on were trimmed, and with Corrupt if the journal ends before.
	// The entry must not be changed, and visit may keep it.
	Follow(ctx context.Context, from uint64, visit func(Entry) error) error
	// Trim removes the entries below a number. The end of the journal stays known. The removal is durable at return; after an error a part may be
	// removed, from the oldest entry on.
	Trim(ctx context.Context, below uint64) error
	// Bounds returns which entries there are. It answers from a majority.
	Bounds(ctx context.Context) (Bounds, error)
}

// Position is the place of an entry in a journal.
type Position struct {
	Seq   uint64 // the entry's number
	Chain uint64 // its sum, which stands for all entries before it too
	Epoch uint64 // of its writer; 0 for the beginning of a journal
}

// Bounds are the ends of a journal.
type Bounds struct {
	First uint64   // the oldest entry that is there; Last.Seq+1 without one
	Last  Position // the newest entry, also if it was trimmed
	Epoch uint64   // of the last writer
}

// ErrTrimmed is in the chain of the error of a reader that needs an entry which was removed. Other errors of kind NotFound say that there is no journal.
var ErrTrimmed = errors.New("entries of the journal were removed")

// Trimmed returns the error for a reader that needs an entry which was removed.
func Trimmed(op string, b Bounds) error {
	e := errs.New(errs.NotFound, op, "", "the journal has no entries before "+number(b.First)).
		WithRemedy("this store is too far behind: replace it by a checkpoint of another manager's store")
	e.Cause = errs.Unsaid(ErrTrimmed)
	return e
}

// Ahead returns the error for a reader that has more than the journal.
func Ahead(op string, from uint64, b Bounds) error {
	return errs.New(errs.Corrupt, op, "", "the journal ends at "+number(b.Last.Seq)+", and the store has "+number(from-1)).
		WithRemedy("the store and the journal do not belong together: check the manager's configuration, and replace the store by a checkpoint of another manager's store")
}
