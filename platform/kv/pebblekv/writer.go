package pebblekv

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"hemera/platform/kv"
	"hemera/words/errs"
)

// writer is one acquisition of the store. It is immutable: a later acquisition fences it by the store's epoch.
type writer struct {
	s     *Store
	epoch uint64
	owner string // for messages
}

// Epoch implements kv.Writer.
func (w *writer) Epoch() uint64 { return w.epoch }

// Enqueue passes the batch to Pebble, which puts it into its log's buffer and its memory table. The batch is readable at
// return, and durable when Wait of the ticket returns nil. Enqueue blocks while Pebble is behind with its tables.
func (w *writer) Enqueue(b *kv.Batch) (kv.Ticket, error) {
	if err := kv.Check(b); err != nil {
		return nil, err
	}
	s := w.s
	if err := s.admit(); err != nil {
		return nil, err
	}
	// The batch is encoded before the mutex is taken, which is needed for its order only.
	batch := s.db.NewBatch()
	if err := fill(batch, b); err != nil {
		return nil, errs.Wrap(err, "pebblekv.Enqueue", "")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := w.current("pebblekv.Enqueue"); err != nil {
		return nil, err
	}
	t := &ticket{s: s, seq: s.enqueued.Load() + 1, batch: batch, done: make(chan struct{})}
	if err := catchFatal(t.apply); err != nil {
		return nil, s.kill(err) // its part of the log is unknown, so no later batch can follow it
	}
	s.enqueued.Store(t.seq)
	s.newest = t
	s.notes.wrote(s)
	return t, nil
}

// admit blocks until Pebble may get one more batch. Pebble itself would block a writer for ever if tables cannot be
// written. There is nothing to wait for unless a log was begun.
func (s *Store) admit() error {
	// The load alone keeps the cache line shared among writers; after the swap only one of them checks.
	if !s.logs.rotated.Load() || !s.logs.rotated.Swap(false) {
		return nil
	}
	if err := s.beginRead("pebblekv.Enqueue"); err != nil {
		return err
	}
	defer s.endRead()
	if err := s.flusher.wait(); err != nil {
		return s.kill(err)
	}
	return nil
}

// fill copies the changes of a batch. Pebble's batch has copies of all keys and values, so the caller may reuse its own.
func fill(to *pebble.Batch, b *kv.Batch) error {
	for _, op := range b.Ops {
		var err error
		if op.Delete {
			err = to.Delete(op.Key, nil)
		} else {
			err = to.Set(op.Key, op.Value, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// current returns an error unless the writer is still the store's only writer. The caller holds mu.
func (w *writer) current(op string) error {
	if err := w.s.usable(op); err != nil {
		return err
	}
	if w.s.epoch != w.epoch {
		return errs.New(errs.Fenced, op, w.owner,
			fmt.Sprintf("epoch %d is over, the store's writer has epoch %d", w.epoch, w.s.epoch))
	}
	return nil
}

// LastSeq implements kv.Writer. It returns the last batch of this process that is known to be durable.
func (w *writer) LastSeq(context.Context) (uint64, error) { return w.s.durable.Load(), nil }

// ticket is one batch. The goroutine that calls Wait waits for Pebble's sync itself, so an answer takes two switches of
// goroutines: to the writer of Pebble's log, and back.
type ticket struct {
	s       *Store
	seq     uint64
	batch   *pebble.Batch // owned by the goroutine that has claimed the ticket
	claimed atomic.Bool
	done    chan struct{} // closed when the result is known
	err     error         // the result; set before done is closed
}

// apply passes the batch to Pebble, with its number and a token. The caller holds the store's mu.
func (t *ticket) apply() error {
	if err := t.batch.Set([]byte(keySeq), binary.BigEndian.AppendUint64(nil, t.seq), nil); err != nil {
		return err
	}
	if err := t.batch.LogData(token{t.seq, t.s.durable.Load()}.encode(t.s.logs.state.mark), nil); err != nil {
		return err
	}
	if t.s.unsynced {
		return t.s.db.Apply(t.batch, pebble.NoSync)
	}
	return t.s.db.ApplyNoSyncWait(t.batch, pebble.Sync)
}

// sync blocks until the log is synced up to the batch. An unsynced batch takes a record of its own for that, as Pebble syncs with a record
// only. Its token is that of the batch, which stands before it in the log.
func (t *ticket) sync() error {
	if !t.s.unsynced {
		return t.batch.SyncWait()
	}
	if err := t.s.beginRead("pebblekv.Wait"); err != nil { // Close has settled the newest batch, and this one with it
		return err
	}
	defer t.s.endRead()
	if dead := t.s.dead.Load(); dead != nil {
		return dead
	}
	return catchFatal(func() error {
		return t.s.db.LogData(token{t.seq, t.s.durable.Load()}.encode(t.s.logs.state.mark), pebble.Sync)
	})
}

// settle blocks until the batch and all before it are durable, or the log has failed. After a failure each later batch
// fails too, whatever Pebble reports.
func (t *ticket) settle() {
	if !t.claimed.CompareAndSwap(false, true) {
		<-t.done
		return
	}
	var err error
	if !t.s.unsynced || t.s.durable.Load() < t.seq {
		err = t.sync()
	}
	switch dead := t.s.dead.Load(); {
	case t.s.durable.Load() >= t.seq: // a later batch is
	case err != nil:
		t.err = t.s.kill(err)
	case dead != nil:
		t.err = dead
	default:
		raise(&t.s.durable, t.seq)
		_ = t.batch.Close() // returns its buffer; this cannot fail
	}
	t.batch = nil
	close(t.done)
}

// raise sets a number unless it is larger already. Goroutines whose batches become durable at the same time may call it
// in any order.
func raise(number *atomic.Uint64, to uint64) {
	for now := number.Load(); now < to; now = number.Load() {
		if number.CompareAndSwap(now, to) {
			return
		}
	}
}

// Seq implements kv.Ticket.
func (t *ticket) Seq() uint64 { return t.seq }

// Wait implements kv.Ticket. If ctx cannot end, it settles the batch itself, which saves a goroutine: a commit within one
// process has no timeout. Otherwise another goroutine settles the batch, also after ctx has ended.
func (t *ticket) Wait(ctx context.Context) error {
	if ctx.Done() == nil {
		t.settle()
		return t.err
	}
	if !t.claimed.Load() {
		go t.settle()
	}
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		return errs.Wrap(ctx.Err(), "pebblekv.Wait", "")
	}
}

// catchFatal runs a write to Pebble, which calls Fatalf if it cannot continue. Pebble's logger must not return from that,
// so ours panics, and catchFatal returns the panic as an error: Unavailable. Other panics pass.
func catchFatal(write func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case fatal:
			err = errs.New(errs.Unavailable, "pebblekv.Commit", "", string(r))
		default:
			panic(r)
		}
	}()
	return write()
}

// fatal is the message of Pebble before it stopped. In one of Pebble's own goroutines (a manifest that cannot be written)
// it ends the process, as Pebble requires of its logger.
type fatal string

// logger passes Pebble's messages to slog. Information about each flush and compaction is on the debug level.
type logger struct{ log *slog.Logger }

// Infof implements pebble.Logger.
func (l logger) Infof(format string, args ...any) { l.log.Debug(fmt.Sprintf(format, args...)) }

// Errorf implements pebble.Logger.
func (l logger) Errorf(format string, args ...any) { l.log.Error(fmt.Sprintf(format, args...)) }

// Fatalf implements pebble.Logger. It does not return.
func (l logger) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.log.Error(text)
	panic(fatal(text))
}
