package record

import (
	"context"
	"sync/atomic"

	"hemera/platform/turn"
	"hemera/words/errs"
)

// numberRange is the number of numbers that one batch reserves. A restart loses at most twice as many.
const numberRange = 200_000

// Numbers hands out numbers that were never handed out before and never will be again, whatever is restarted in
// between. The store holds the end of a reserved range, which is durable before a number of the range is used.
type Numbers struct {
	store  *Store
	key    []byte
	encode func(end uint64) []byte

	first          uint64 // of this life
	next, reserved atomic.Uint64
	ahead          atomic.Bool // a goroutine reserves before the range has run out
	reserving      turn.Turn
}

// NewNumbers returns the numbers whose reserved range ends at end, as the record at the key says. encode makes that record.
func NewNumbers(s *Store, key []byte, end uint64, encode func(end uint64) []byte) *Numbers {
	n := &Numbers{store: s, key: key, encode: encode, first: end, reserving: turn.New()}
	n.next.Store(end)
	n.reserved.Store(end)
	return n
}

// First returns the first number of this life: all numbers of earlier lives are smaller.
func (n *Numbers) First() uint64 { return n.first }

// Next returns the number that will be handed out next: all that are in use are smaller.
func (n *Numbers) Next() uint64 { return n.next.Load() }

// Take hands out a number. It must not be called within a change. When the range begins to run out, a new one is
// reserved in the background, so that thousands of opens a second do not all wait for the disk together.
func (n *Numbers) Take(ctx context.Context) (uint64, error) {
	number := n.next.Add(1) - 1
	reserved := n.reserved.Load()
	if number+numberRange/2 >= reserved && number < reserved && n.ahead.CompareAndSwap(false, true) {
		go func() {
			defer n.ahead.Store(false)
			_ = n.reserve(context.Background(), reserved) // a caller that needs the range tries again and gets the error
		}()
	}
	for number >= reserved {
		if err := n.reserve(ctx, reserved); err != nil {
			return 0, err
		}
		reserved = n.reserved.Load()
	}
	return number, nil
}

// Raise sees to it that no number up to past is handed out from now on. It must not be called within a change.
func (n *Numbers) Raise(ctx context.Context, past uint64) error {
	if err := n.reserving.Acquire(ctx); err != nil {
		return errs.Wrap(err, "record.Raise", "")
	}
	defer n.reserving.Release()
	if n.next.Load() > past {
		return nil
	}
	// The end is stored before a number beyond past can be taken, as in any reservation.
	if end := past + numberRange; n.reserved.Load() < end {
		if err := n.extend(ctx, end); err != nil {
			return err
		}
	}
	for next := n.next.Load(); next <= past; next = n.next.Load() {
		n.next.CompareAndSwap(next, past+1)
	}
	return nil
}

// reserve moves the end of the range up, unless that was done since the caller saw the end.
func (n *Numbers) reserve(ctx context.Context, seen uint64) error {
	if err := n.reserving.Acquire(ctx); err != nil {
		return errs.Wrap(err, "record.Take", "")
	}
	defer n.reserving.Release()
	if n.reserved.Load() != seen {
		return nil
	}
	return n.extend(ctx, seen+numberRange)
}

// extend makes the end of the range durable, and then valid. The caller has the turn.
func (n *Numbers) extend(ctx context.Context, end uint64) error {
	ctx = strict(ctx) // a number must never be handed out twice, whatever the caller measures
	if err := n.store.Update(ctx, func(t *Txn) error {
		t.Set(n.key, Opaque{}, n.encode(end))
		return nil
	}); err != nil {
		return err
	}
	n.reserved.Store(end)
	return nil
}
