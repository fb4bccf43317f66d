package admin

import "time"

// batchMax is how many entries one message of a stream carries at most.
// It bounds memory on both sides: attributes apart, entries are small.
const batchMax = 256

// batchWait is how long an item may wait for others before it is sent: a slow search shows what it
// has found, a fast one sends full messages.
const batchWait = 100 * time.Millisecond

// batch gathers items into messages. It looks at the clock when something happens only, so the last
// items wait for the next add, touch or flush.
// It has one user at a time and no lock.
type batch[T any] struct {
	send  func([]T) error
	items []T       // not sent yet, at most batchMax; send must not keep them
	first time.Time // when the oldest of items came
}

// add takes an item, and sends the batch if it is full.
func (b *batch[T]) add(item T) error {
	if len(b.items) == 0 {
		b.first = time.Now()
	}
	b.items = append(b.items, item)
	return b.touch()
}

// touch sends what is due.
func (b *batch[T]) touch() error {
	if len(b.items) == batchMax || len(b.items) > 0 && time.Since(b.first) > batchWait {
		return b.flush()
	}
	return nil
}

// flush sends what the batch has.
// An empty batch sends nothing. The array of items is used again, so send must have encoded them at return. If send
// fails the items are lost: the stream ends then.
func (b *batch[T]) flush() error {
	if len(b.items) == 0 {
		return nil
	}
	err := b.send(b.items)
	b.items = b.items[:0]
	return err
}
