package admin

import "time"

// batchMax bounds the entries in one message of a stream, and so the memory of both sides: without attributes, entries
// are small.
const batchMax = 256

// batchWait bounds the time that an item waits for others before it is sent: a slow search shows each match soon, and a
// fast one sends full messages.
const batchWait = 100 * time.Millisecond

// batch collects items into messages. It checks the time in its methods only, so the last items wait for the next add,
// touch or flush. It is not safe for concurrent use.
type batch[T any] struct {
	send  func([]T) error
	items []T       // not sent yet, at most batchMax; send must not retain them
	first time.Time // arrival of the oldest item
}

// add appends an item, and sends the batch if it is full or has waited for batchWait.
func (b *batch[T]) add(item T) error {
	if len(b.items) == 0 {
		b.first = time.Now()
	}
	b.items = append(b.items, item)
	return b.touch()
}

// touch sends the batch if it is full or has waited for batchWait.
func (b *batch[T]) touch() error {
	if len(b.items) == batchMax || len(b.items) > 0 && time.Since(b.first) > batchWait {
		return b.flush()
	}
	return nil
}

// flush sends the items, if there are any. The array is reused, so send must have encoded them when it returns. If send
// fails the items are lost, and the caller ends the stream.
func (b *batch[T]) flush() error {
	if len(b.items) == 0 {
		return nil
	}
	err := b.send(b.items)
	b.items = b.items[:0]
	return err
}
