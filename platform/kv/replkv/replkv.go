// Package replkv is the kv engine that exists on several machines: each has a local engine, and a journal that a majority of them has. The
// writer appends its batches to the journal; every store applies them to its local engine, in order.
//
// # A batch
//
// Enqueue numbers the batch and puts it into an overlay in memory, from which this process reads it at once. Up to Options.Under appends are under
// way. A batch reaches the local engine only after the journal has it, as the engine cannot take it back. Then it leaves the overlay, and its
// ticket is settled. See flow for the order of these steps.
//
// # Invariants
//
//   - The local engine has a prefix of the journal, and nothing else: each entry is one of its batches. So the number of its last batch, which the
//     engine stores in each batch under a key of its own ([kv.EngineSpace]), is the number of the last entry that was applied. No key is needed that
//     users could write too, and a batch of full size stays one.
//   - A reader sees the local engine and, above it, the batches of the overlay: all that were enqueued and not applied.
//   - An entry is applied if it follows the one before: by its number, its epoch and its sum (admit).
//
// # States
//
// A store follows the journal, or has a writer. After the first failed append, and when the journal has fenced it, the writer is unusable: the
// overlay is dropped, and the store follows again. Acquire fences all other writers, catches up with the journal, and makes a writer. A store that
// cannot follow, because the journal was trimmed or is another one, is stuck: it serves reads of what it has, and Acquire says why.
//
// # Durability
//
// The journal makes a batch durable. The local engine need not: after a crash it has fewer batches, and gets them from the journal again. Trim
// asks it what it has durably before it removes entries.
//
// # Goroutines and locks
//
// Each append has a goroutine; the one that gets the answer applies what can be applied. A store that follows has one goroutine. change orders what changes
// the state: Acquire, Close and the return to following. It is acquired before mu, which guards memory.
package replkv

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"hemera/platform/kv"
	"hemera/platform/kv/journal"
	"hemera/platform/turn"
	"hemera/words/errs"
)

// Options has the settings of a store.
type Options struct {
	Under int // appends under way; 0 is 2
	// Queue bounds the batches that are enqueued and not applied; Enqueue blocks beyond it. 0 is 64.
	Queue int
	// AppendTime limits one append, with all its repeats; 0 is 10 s. Then the outcome is unknown, and the writer unusable.
	AppendTime time.Duration
	// CloseTime is the time that Close gives appends under way; 0 is 5 s.
	CloseTime time.Duration
	Logger    *slog.Logger // gets what ends a writer or makes a store stuck; nil: none
}

// Store is the engine. It owns the local one.
type Store struct {
	local   kv.Store
	writer  kv.Writer // of the local engine
	journal journal.Journal
	o       Options
	log     *slog.Logger
	life    context.Context // ends when Close begins
	end     context.CancelFunc

	change turn.Turn // see the package doc

	overlay atomic.Pointer[overlay] // replaced under mu
	begun   atomic.Uint64           // number of the last batch whose apply has begun

	mu      sync.Mutex
	at      place         // of the local engine; only the one that applies changes it
	marker  kv.Ticket     // of the last batch in the local engine; nil before the first
	moved   chan struct{} // closed, and replaced, when at changes
	closed  bool
	session *session // the writer; nil while the store follows
	follows *following
	stuck   error // why the store cannot follow; nil while it can
}

var _ kv.Store = (*Store)(nil)

// Open returns the store that consists of a local engine and a journal, and begins to follow. The store owns the local engine from then on, also if
// Open fails; no other may write to it. It does not ask the journal.
func Open(ctx context.Context, local kv.Store, j journal.Journal, o Options) (*Store, error) {
	o.Under, o.Queue = cmp.Or(o.Under, 2), cmp.Or(o.Queue, 64)
	o.AppendTime, o.CloseTime = cmp.Or(o.AppendTime, 10*time.Second), cmp.Or(o.CloseTime, 5*time.Second)
	s := &Store{local: local, journal: j, o: o, log: o.Logger, change: turn.New(), moved: make(chan struct{})}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if s.writer, err = local.Acquire(ctx, "replkv"); err == nil {
		s.at.Seq, err = s.writer.LastSeq(ctx)
	}
	if err != nil {
		return nil, errs.Wrap(errors.Join(err, local.Close()), "replkv.Open", "")
	}
	s.begun.Store(s.at.Seq)
	s.overlay.Store(&overlay{last: s.at.Seq})
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.follow()
	return s, nil
}

// Acquire implements kv.Store. The journal fences all other writers; then the store catches up with it. The writer before of this store is fenced at once, and
// its batches under way are awaited. It fails with Fenced if another manager acquires meanwhile.
func (s *Store) Acquire(ctx context.Context, owner string) (kv.Writer, error) {
	const op = "replkv.Acquire"
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	if err := s.change.Acquire(ctx); err != nil {
		return nil, s.unlessClosed(err, op)
	}
	defer s.change.Release()
	if err := s.endSession(ctx); err != nil {
		return nil, err
	}
	epoch, last, err := s.begin(ctx, owner)
	if err != nil {
		return nil, s.unlessClosed(err, op)
	}
	s.unfollow()
	w, err := s.newSession(epoch, last, owner)
	if err != nil {
		s.follow()
		return nil, err
	}
	return w, nil
}

// begin begins an epoch of the journal, and applies all entries before it. It catches up before it fences others: a store that cannot catch up must not
// stop one that works.
func (s *Store) begin(ctx context.Context, owner string) (epoch uint64, last journal.Position, err error) {
	at := s.Applied()
	b, err := s.journal.Bounds(ctx)
	if err == nil && at > b.Last.Seq {
		err = journal.Ahead("replkv.Acquire", at+1, b)
	}
	if err == nil {
		err = s.catchUp(ctx, b.Last.Seq)
	}
	if err == nil {
		epoch, last, err = s.journal.Begin(ctx, owner)
	}
	if err == nil {
		err = s.catchUp(ctx, last.Seq)
	}
	return epoch, last, err
}

// unlessClosed returns an error, or that of a closed store.
func (s *Store) unlessClosed(err error, op string) error {
	if s.life.Err() != nil {
		return closed(op)
	}
	return errs.Wrap(err, op, "")
}

// closed returns the error of calls on a closed store.
func closed(op string) error { return errs.New(errs.Unavailable, op, "", "the store is closed") }

// endSession fences the writer of this store, if it has one, and waits until it is done; then the store follows.
func (s *Store) endSession(ctx context.Context) error {
	const op = "replkv.Acquire"
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return closed(op)
	}
	w := s.session
	if w != nil {
		w.flow.stop(errs.New(errs.Fenced, "replkv.Enqueue", w.owner, "a newer writer has the store"))
		w.leave()
	}
	s.mu.Unlock()
	if w == nil {
		return nil
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		return s.unlessClosed(ctx.Err(), op)
	}
	s.resume(w)
	return nil
}

// resume ends a session that is done, and makes the store follow. The caller has the turn of changes.
func (s *Store) resume(w *session) {
	s.mu.Lock()
	mine := s.session == w && !s.closed
	if mine {
		s.session = nil
	}
	s.mu.Unlock()
	if mine {
		s.follow()
	}
}

// Backup implements kv.Store: that of the local engine.
func (s *Store) Backup(ctx context.Context, dir string) error { return s.local.Backup(ctx, dir) }

// Stats implements kv.Store: those of the local engine.
func (s *Store) Stats() kv.Stats { return s.local.Stats() }

// Applied returns the number of the last batch that the local engine has.
func (s *Store) Applied() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at.Seq
}

// Stuck returns the error that keeps the store from following the journal, or nil.
func (s *Store) Stuck() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stuck
}

// Durable returns the number of a batch up to which the local engine has all durably. It blocks for the engine's disk.
func (s *Store) Durable(ctx context.Context) (uint64, error) {
	s.mu.Lock()
	seq, marker := s.at.Seq, s.marker
	s.mu.Unlock()
	if marker == nil { // what was there at the start
		return seq, nil
	}
	return marker.Seq(), errs.Wrap(marker.Wait(ctx), "replkv.Durable", "")
}

// Trim removes the entries of the journal that this store has durably, except the last keep of them. Others that are further behind need a
// checkpoint then.
func (s *Store) Trim(ctx context.Context, keep uint64) error {
	durable, err := s.Durable(ctx)
	if err != nil || durable <= keep {
		return err
	}
	return errs.Wrap(s.journal.Trim(ctx, durable-keep+1), "replkv.Trim", "")
}

// Close implements kv.Store. Appends under way have CloseTime; what is left then is unknown. It closes the local engine, not the journal.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	w := s.session
	if w != nil {
		w.flow.stop(closed("replkv.Enqueue"))
		w.leave()
	}
	s.mu.Unlock()
	s.end() // an Acquire under way ends
	s.change.Wait()
	defer s.change.Release()
	if w != nil {
		w.finish(s.o.CloseTime)
	}
	s.unfollow()
	return s.local.Close()
}
