package pebblekv

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"hemera/errs"
	"hemera/kv"
)

type writer struct {
	s     *Store
	epoch uint64
	owner string
}

func (w *writer) Epoch() uint64 { return w.epoch }

// Enqueue puts the batch into the log's buffer and the memory table; who waits for the ticket settles it.
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
	t := &ticket{s: s, seq: s.seq + 1, batch: s.db.NewBatch(), done: make(chan struct{})}
	if err := s.apply(func() error { return t.fill(b) }); err != nil {
		return nil, s.kill(err)
	}
	t.follow(s.newest)
	s.seq, s.newest = t.seq, t
	return t, nil
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
func (w *writer) LastSeq(context.Context) (uint64, error) { return w.s.durable.Load(), nil }

// ticket is one batch. Nobody of the store's own waits for the disk: whoever needs the batch to be
// durable settles it in place, so that an answer is two changes of goroutine away from its batch, to
// the log's writer and back.
type ticket struct {
	s       *Store
	seq     uint64
	done    chan struct{} // closed when it is settled
	err     error         // set before
	claimed atomic.Bool   // by who settles it; the rest is his

	batch  *pebble.Batch
	before *ticket // nil if that was settled already
	behind int     // how many before it may not be
}

// unsettledMax is how many batches that nobody waits for may keep their memory.
const unsettledMax = 256

// follow puts the ticket behind another, or none. The caller holds the store's mu.
func (t *ticket) follow(before *ticket) {
	if before == nil || before.settled() {
		return
	}
	t.before, t.behind = before, before.behind+1
	if t.behind%unsettledMax == 0 {
		go t.settle()
	}
}

func (t *ticket) settled() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// settle returns when the batch and all before it are durable, or failed. After the first failure
// every later batch has failed as well, whatever Pebble says of it. Nil is settled.
func (t *ticket) settle() {
	if t == nil {
		return
	}
	if !t.claimed.CompareAndSwap(false, true) {
		<-t.done
		return
	}
	err := t.batch.SyncWait()
	t.before.settle()
	switch {
	case err != nil:
		t.err = t.s.kill(err)
	case t.s.dead.Load() != nil:
		t.err = t.s.dead.Load()
	default:
		t.s.durable.Store(t.seq)
		_ = t.batch.Close() // gives the buffer back; a batch has nothing to fail at
	}
	t.batch, t.before = nil, nil
	close(t.done)
}

func (t *ticket) fill(b *kv.Batch) error {
	for _, op := range b.Ops {
		var err error
		if op.Delete {
			err = t.batch.Delete(op.Key, nil)
		} else {
			err = t.batch.Set(op.Key, op.Value, nil)
		}
		if err != nil {
			return err
		}
	}
	return t.s.db.ApplyNoSyncWait(t.batch, pebble.Sync)
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

// apply runs a write to Pebble, which calls Fatalf when its log cannot be written: that is turned
// back into an error here.
func (s *Store) apply(write func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case fatal:
			err = errs.New(errs.Unavailable, "kv.Enqueue", "", string(r))
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

// count reads how often a histogram was fed: Pebble counts its log's syncs in one.
func count(h prometheus.Histogram) int64 {
	var m dto.Metric
	if h == nil || h.Write(&m) != nil {
		return 0
	}
	return int64(m.GetHistogram().GetSampleCount())
}
