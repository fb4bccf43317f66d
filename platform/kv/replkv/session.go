package replkv

import (
	"context"
	"fmt"
	"time"

	"hemera/platform/kv"
	"hemera/platform/kv/journal"
	"hemera/words/errs"
)

// session is one writer. Store.mu guards it.
type session struct {
	s     *Store
	epoch uint64
	owner string

	flow    flow
	tickets map[uint64]*ticket
	end     journal.Position // of the last batch that was enqueued
	room    chan struct{}    // closed, and replaced, when a batch is settled
	// done is closed when nothing is left of a flow that has ended.
	done    chan struct{}
	left    bool               // done is closed
	told    bool               // the log has the error that ended the flow
	begun   chan struct{}      // closed when the last append has begun
	appends context.Context    // of all appends
	cancel  context.CancelFunc // ends them
}

// ticket is a batch of a session.
type ticket struct {
	entry journal.Entry
	batch *kv.Batch // its parts are those of entry
	place journal.Position
	done  chan struct{} // closed when the result is known
	err   error         // set before done is closed
}

// newSession makes the store's writer, which goes on from the end of the journal. The store does not follow any more.
func (s *Store) newSession(epoch uint64, last journal.Position, owner string) (*session, error) {
	const op = "replkv.Acquire"
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, closed(op)
	}
	if s.at.Seq != last.Seq { // further than the journal was when our epoch began
		return nil, errs.New(errs.Fenced, op, owner, "another manager became the writer meanwhile")
	}
	at, err := s.at.join(last)
	if err != nil {
		return nil, err
	}
	s.at = at
	w := &session{s: s, epoch: epoch, owner: owner, flow: flow{limit: s.o.Under}, tickets: make(map[uint64]*ticket), end: last,
		room: make(chan struct{}), done: make(chan struct{}), begun: make(chan struct{})}
	close(w.begun)
	w.appends, w.cancel = context.WithCancel(context.WithoutCancel(s.life))
	s.session = w
	go w.watch()
	return w, nil
}

// watch ends the session when a newer epoch begins: a writer that appends nothing would not learn of it. Batches under way get their answers.
func (w *session) watch() {
	if w.s.journal.AwaitNewer(w.appends, w.epoch) != nil { // the session has ended, or an append says what is wrong
		return
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.flow.stop(errs.New(errs.Fenced, "replkv.Enqueue", w.owner, "another manager has become the writer"))
	w.drop()
}

// Epoch implements kv.Writer: that of the journal.
func (w *session) Epoch() uint64 { return w.epoch }

// LastSeq implements kv.Writer, from memory: the last batch that the journal and the local engine have.
func (w *session) LastSeq(context.Context) (uint64, error) { return w.s.Applied(), nil }

// Enqueue implements kv.Writer. It blocks while Options.Queue batches are under way.
func (w *session) Enqueue(b *kv.Batch) (kv.Ticket, error) {
	if err := kv.Check(b); err != nil {
		return nil, err
	}
	encoded := encode(b)
	own, err := decode(encoded) // a copy, as the caller may reuse the batch
	if err != nil {
		return nil, err
	}
	for {
		t, do, room, err := w.add(encoded, own)
		if err != nil {
			return nil, err
		}
		if t != nil {
			w.perform(do)
			return t, nil
		}
		<-room
	}
}

// add orders a batch and makes it readable. Without room it returns a channel that is closed when there may be some.
func (w *session) add(encoded []byte, own *kv.Batch) (t *ticket, do []action, room <-chan struct{}, err error) {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.flow.failed != nil {
		return nil, nil, nil, w.flow.failed
	}
	if len(w.flow.batches) >= s.o.Queue {
		return nil, nil, w.room, nil
	}
	e := journal.Entry{Seq: w.end.Seq + 1, Epoch: w.epoch, Prev: w.end.Chain, Batch: encoded}
	w.end = e.Position()
	t = &ticket{entry: e, batch: own, place: w.end, done: make(chan struct{})}
	w.tickets[e.Seq] = t
	s.overlay.Store(s.overlay.Load().with(newBatch(e.Seq, own.Ops)))
	return t, w.flow.enqueue(e.Seq), nil, nil
}

// perform does actions of the flow. An apply blocks while the local engine is behind.
func (w *session) perform(do []action) {
	for len(do) > 0 {
		a := do[0]
		do = do[1:]
		switch a.do {
		case send:
			w.append(a.seq)
		case apply:
			do = append(do, w.apply(a.seq)...)
		case settle:
			w.settle(a.seq, a.err)
		}
	}
}

// append appends a batch to the journal, in a goroutine, which then does what follows from the answer.
func (w *session) append(seq uint64) {
	w.s.mu.Lock()
	t := w.tickets[seq]
	if t == nil { // settled since
		w.s.mu.Unlock()
		return
	}
	// Appends begin in order, so that the journal rarely finds a number before the one that it follows.
	before, begun := w.begun, make(chan struct{})
	w.begun = begun
	w.s.mu.Unlock()
	go func() {
		ctx, cancel := context.WithTimeout(w.appends, w.s.o.AppendTime)
		defer cancel()
		<-before
		close(begun)
		err := w.s.journal.Append(ctx, t.entry)
		w.s.mu.Lock()
		do := w.flow.answered(seq, err)
		w.drop()
		w.s.mu.Unlock()
		w.perform(do)
	}()
}

// apply applies the first batch of the flow to the local engine.
func (w *session) apply(seq uint64) []action {
	s := w.s
	s.mu.Lock()
	t := w.tickets[seq]
	s.mu.Unlock()
	err := s.apply(t.batch, t.place)
	s.mu.Lock()
	defer s.mu.Unlock()
	do := w.flow.applied(seq, err)
	w.drop()
	return do
}

// drop takes the batches of a flow that has ended out of the overlay, but those that may still be applied. The caller holds mu.
func (w *session) drop() {
	if w.flow.failed == nil {
		return
	}
	next := w.s.at.Seq + 1
	if n := len(w.flow.batches); n > 0 {
		next = w.flow.batches[n-1].seq + 1
	}
	if next <= w.end.Seq {
		w.s.overlay.Store(w.s.overlay.Load().before(next))
	}
	w.leave()
}

// settle gives a ticket its result.
func (w *session) settle(seq uint64, err error) {
	s := w.s
	s.mu.Lock()
	t := w.tickets[seq]
	delete(w.tickets, seq)
	close(w.room)
	w.room = make(chan struct{})
	told := w.told
	w.told = told || err != nil
	s.mu.Unlock()
	if err != nil && !told {
		s.log.Warn("the writer of the store has ended", "batch", seq, "error", err)
	}
	t.err = err
	close(t.done)
	s.mu.Lock()
	w.leave()
	s.mu.Unlock()
}

// leave closes done if nothing is left of a flow that has ended, and makes the store follow. The caller holds mu.
func (w *session) leave() {
	if w.left || w.flow.failed == nil || !w.flow.idle() || len(w.tickets) > 0 {
		return
	}
	w.left = true
	w.cancel() // appends of batches that were settled with an error
	close(w.done)
	go func() {
		w.s.change.Wait()
		defer w.s.change.Release()
		w.s.resume(w)
	}()
}

// finish waits until nothing is left of a flow that has ended, and ends what takes longer than a time.
func (w *session) finish(limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-w.done:
	case <-timer.C:
		w.s.mu.Lock()
		do := w.flow.abandon(closed("replkv.Close"))
		w.s.mu.Unlock()
		w.perform(do)
		<-w.done // one that is being applied
	}
}

// Seq implements kv.Ticket.
func (t *ticket) Seq() uint64 { return t.entry.Seq }

// Wait implements kv.Ticket. It returns when the journal has the batch and the local engine has applied it.
func (t *ticket) Wait(ctx context.Context) error {
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		return errs.Wrap(ctx.Err(), "replkv.Wait", "")
	}
}

// apply applies a batch of the journal to the local engine, and takes it out of the overlay. Only one call is made at a time. The batch is readable at
// return; the local engine makes it durable in its own time.
func (s *Store) apply(b *kv.Batch, p journal.Position) error {
	s.begun.Store(p.Seq)
	local, err := s.writer.Enqueue(b)
	if err == nil && local.Seq() != p.Seq {
		err = errs.New(errs.Corrupt, "replkv.Apply", "", fmt.Sprintf("the local engine gave entry %d of the journal the number %d", p.Seq, local.Seq()))
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.marker = place{p, true}, local
	s.overlay.Store(s.overlay.Load().applied(p.Seq))
	close(s.moved)
	s.moved = make(chan struct{})
	return nil
}
