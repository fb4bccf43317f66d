package pebblekv

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"hemera/errs"
	"hemera/platform/kv"
)

type writer struct {
	s     *Store
	epoch uint64
	owner string
}

func (w *writer) Epoch() uint64 { return w.epoch }

// Enqueue puts the batch into the memory table and the log's buffer; who waits for the ticket has it written.
func (w *writer) Enqueue(b *kv.Batch) (kv.Ticket, error) {
	if err := kv.Check(b); err != nil {
		return nil, err
	}
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := w.current("kv.Enqueue"); err != nil {
		return nil, err
	}
	number := s.seq + 1
	if err := apply(func() error { return s.put(number, b) }); err != nil {
		return nil, s.kill(err)
	}
	s.seq = number
	return &ticket{s: s, seq: number, done: make(chan struct{})}, nil
}

// put gives the batch to Pebble and then to the log, so that a table written after a record was holds
// its batch. The caller holds mu.
func (s *Store) put(number uint64, b *kv.Batch) error {
	batch := s.db.NewBatch()
	for _, op := range b.Ops {
		var err error
		if op.Delete {
			err = batch.Delete(op.Key, nil)
		} else {
			err = batch.Set(op.Key, op.Value, nil)
		}
		if err != nil {
			return err
		}
	}
	if err := batch.Set([]byte(keySeq), binary.BigEndian.AppendUint64(nil, number), nil); err != nil {
		return err
	}
	record := batch.Repr() // a large batch has none once Pebble has it
	if err := s.db.Apply(batch, pebble.NoSync); err != nil {
		return err
	}
	if err := s.log.append(number, record); err != nil {
		return err
	}
	return batch.Close()
}

// current says whether the writer is the store's one writer still. The caller holds mu.
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

// LastSeq implements kv.Writer: of the batches of this process, the last that somebody waited for.
func (w *writer) LastSeq(context.Context) (uint64, error) { return w.s.log.durable.Load(), nil }

// ticket is one batch. Nobody of the store's own waits for the disk, but for batches that nobody else
// waits for: whoever needs the batch to be durable settles it in place.
type ticket struct {
	s       *Store
	seq     uint64
	done    chan struct{} // closed when it is settled
	err     error         // set before
	claimed atomic.Bool   // by who settles it
}

// settle returns when the batch and all before it are durable, or failed.
func (t *ticket) settle() {
	if !t.claimed.CompareAndSwap(false, true) {
		<-t.done
		return
	}
	if err := t.s.log.reach(t.seq); err != nil {
		t.err = t.s.kill(err)
	}
	close(t.done)
}

func (t *ticket) Seq() uint64 { return t.seq }

// Wait settles the batch itself if ctx cannot end, and has it settled otherwise.
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
		return errs.Wrap(ctx.Err(), "kv.Wait", "")
	}
}

// apply runs a write to Pebble, which calls Fatalf when it cannot go on: that is turned back into an
// error here.
func apply(write func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case fatal:
			err = errs.New(errs.Unavailable, "kv.Commit", "", string(r))
		default:
			panic(r)
		}
	}()
	return write()
}

// fatal is what Pebble said before it gave up. In a goroutine of Pebble's own (a manifest that
// cannot be written) it ends the process, as Pebble asks of its logger.
type fatal string

type logger struct{ log *slog.Logger }

func (l logger) Infof(format string, args ...any)  { l.log.Debug(fmt.Sprintf(format, args...)) }
func (l logger) Errorf(format string, args ...any) { l.log.Error(fmt.Sprintf(format, args...)) }
func (l logger) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.log.Error(text)
	panic(fatal(text))
}
