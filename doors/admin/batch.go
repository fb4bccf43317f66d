package admin

import "time"

// batchWait is how long an item may wait for others before it is sent: a slow search shows what it
// has found, a fast one sends full messages.
const batchWait = 100 * time.Millisecond

// batch gathers items into messages. It looks at the clock when something happens only, so the last
// items wait for the next add, touch or flush.
type batch[T any] struct {
	send  func([]T) error
	items []T
	first time.Time
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
func (b *batch[T]) flush() error {
	if len(b.items) == 0 {
		return nil
	}
	err := b.send(b.items)
	b.items = b.items[:0]
	return err
}
