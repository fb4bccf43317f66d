package record

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"hemera/platform/kv"
	"hemera/platform/turn"
	"hemera/words/errs"
)

// Options tune a store. All fields but CacheBytes and Finish are needed.
type Options struct {
	CacheBytes int64 // bound of the cache of decoded records
	Clock      func() time.Time
	Log        *slog.Logger
	Owner      string // who acquires the engine, for its errors
	Schema     Schema
	// Finish, if not nil, runs at the end of each group of changes that counted anything, with what it counted. Its transaction may
	// change up to [FinishOps] records. It runs in the leader and must not wait for other changes.
	Finish func(t *Txn, counts Counters)
}

// Schema describes the keys and records of a store.
type Schema struct {
	// Cached reports whether the records of a key's table are read one by one and kept decoded.
	Cached func(k []byte) bool
	// Append appends the encoded form of a decoded record.
	Append func(b []byte, value any) []byte
	// Damaged makes the error about a record that cannot be decoded.
	Damaged func(k []byte, err error) error
	// SetTable is the second byte of keys that form sets by their first SetPrefix bytes; see [Store.MarkComplete].
	SetTable  byte
	SetPrefix int
	Log       LogSchema
}

// LogSchema says where the store keeps its numbered log of changes.
type LogSchema struct {
	Key    func(k []byte, seq uint64) []byte // appends the key of an entry
	Bounds []byte                            // key of the record of the bounds
	Encode func(b []byte, first, next uint64) []byte
	Max    uint64 // entries that are kept
}

// CountersMax is the number of counters of a store.
const CountersMax = 4

// Counters are sums that changes add to. What they count is the owner's business; see [Txn.Count].
type Counters [CountersMax]int64

func (c *Counters) add(o *Counters) {
	for i := range c {
		c[i] += o[i]
	}
}

// viewTries is the number of times that a view runs beside the changes before it takes its turn among them.
const viewTries = 8

// Store is the record engine over a kv store. It is the only writer of that store. The package comment describes how
// changes and views run.
type Store struct {
	engine  kv.Store
	writer  kv.Writer
	cache   *cache
	options Options
	durability

	// version is odd while a group is becoming visible, and showing is held then, over memory only.
	version atomic.Uint64
	showing sync.RWMutex
	sending sending
	readers sync.Pool // of *Txn

	queue queue
	// tail and spare are the leader's: the last group that was made, and the one before it, whose memory the next one uses.
	tail, spare *group

	// turn is held while a group is sent and becomes visible. Its holder owns the fields below; counters may be
	// read at any time.
	turn        turn.Turn
	first, next uint64 // the log holds first to next-1
	counters    [CountersMax]atomic.Int64
}

// Open acquires the engine. The caller then reads what it needs with [Store.Engine], and calls Begin before anything else.
func Open(ctx context.Context, engine kv.Store, o Options) (*Store, error) {
	s := &Store{engine: engine, cache: newCache(o.CacheBytes, o.Schema.SetTable, o.Schema.SetPrefix), options: o, turn: turn.New(),
		readers: sync.Pool{New: func() any { return new(Txn) }}}
	s.sending.changed.L = &s.sending.mu
	s.durability.failed, s.durability.log = make(chan struct{}), o.Log
	var err error
	if s.writer, err = engine.Acquire(ctx, o.Owner); err != nil {
		return nil, err
	}
	if last, err := s.writer.LastSeq(ctx); err == nil {
		s.durable.Store(last)
	}
	return s, nil
}

// Begin sets where the log begins and ends, and what the counters are. It is called once.
func (s *Store) Begin(first, next uint64, counts Counters) {
	s.first, s.next = first, next
	s.tail, s.spare = &group{own: newChanges(s.cache.seed, s.options.Schema.Append), first: first, next: next},
		&group{own: newChanges(s.cache.seed, s.options.Schema.Append)}
	s.tail.visible.Store(true)
	for i := range counts {
		s.counters[i].Store(counts[i])
	}
}

// Close waits until everything that was sent is durable. Later calls fail with closed. The engine stays open; it is the caller's.
func (s *Store) Close(closed *errs.Error) error {
	s.turn.Wait()
	defer s.turn.Release()
	if s.failure.Load() != nil {
		return nil
	}
	err := s.settle(context.Background(), s.lastSeq())
	s.failure.CompareAndSwap(nil, closed)
	return err
}

// Failed returns a channel that is closed when the engine has failed. No call succeeds any more then; only opening the
// store again helps.
func (s *Store) Failed() <-chan struct{} { return s.failed }

// Engine returns the kv store itself, for reading ranges and what is not cached. It may hold changes that are not visible
// yet: call [Store.Settle] before an answer rests on what was read.
func (s *Store) Engine() kv.Store { return s.engine }

// Writer returns the engine's writer.
func (s *Store) Writer() kv.Writer { return s.writer }

// View runs a reader on one picture of the records. It takes no lock: a picture during which a change became
// visible is thrown away, and fn runs again. What fn computed is the answer only when View returned nil or fn's
// error; both are given when everything they rest on is durable.
func (s *Store) View(ctx context.Context, fn func(t *Txn) error) error {
	seq, err := s.Look(ctx, fn)
	if waitErr := s.settle(ctx, seq); waitErr != nil {
		return waitErr
	}
	return err
}

// Look does what View does, without the wait. It returns the newest batch that fn saw anything of; see [Store.SettleSeq].
func (s *Store) Look(ctx context.Context, fn func(t *Txn) error) (uint64, error) {
	if err := s.alive(); err != nil {
		return 0, err
	}
	for range viewTries {
		was := s.version.Load()
		if was%2 != 0 { // wait for the end of it, which is near
			s.showing.RLock()
			was = s.version.Load()
			s.showing.RUnlock()
		}
		t := s.readers.Get().(*Txn)
		*t = Txn{s: s, ctx: ctx, Key: t.Key}
		err := fn(t)
		seq := t.sawSeq
		*t = Txn{Key: t.Key}
		s.readers.Put(t)
		if s.version.Load() == was {
			return seq, err
		}
	}
	if err := s.turn.Acquire(ctx); err != nil {
		return 0, errs.Wrap(err, "record.View", "")
	}
	defer s.turn.Release()
	t := &Txn{s: s, ctx: ctx}
	err := fn(t)
	return t.sawSeq, err
}

// Update runs a change: everything that fn did in t becomes one batch, or nothing if fn fails. It returns when the
// batch and everything that fn saw is durable. fn runs once or several times, in the goroutine of any caller.
func (s *Store) Update(ctx context.Context, fn func(t *Txn) error) error {
	r := &request{ctx: ctx, fn: fn}
	s.apply(r)
	waitErr := s.settle(ctx, r.sawSeq)
	if r.ticket != nil && !relaxed(ctx) {
		waitErr = s.wait(ctx, r.ticket)
	}
	if waitErr != nil {
		return waitErr
	}
	return r.err
}

// UpdateThen does what Update does, and runs then at the instant of the change: all changes up to this one are in the
// engine, and none after it. then is not called if the change fails.
func (s *Store) UpdateThen(ctx context.Context, fn func(t *Txn) error, then func()) error {
	r := &request{ctx: ctx, fn: fn, then: then}
	s.apply(r)
	if r.err != nil {
		return r.err
	}
	if r.ticket == nil {
		return s.settle(ctx, r.sawSeq)
	}
	return s.wait(ctx, r.ticket)
}

// apply does what Update does, up to the wait.
func (s *Store) apply(r *request) {
	r.done.Add(1)
	if s.queue.push(r) {
		s.lead() // the group has r
		return
	}
	s.await(r)
}

// await returns when the change was made and sent, or has failed. Any caller may have led, this one included.
func (s *Store) await(r *request) {
	r.done.Wait()
	if r.lead {
		r.done.Add(1)
		s.lead() // the group has r
	}
}

// Settle waits for everything that a caller may have seen that read the engine itself: until it is visible, or
// later readers of the cache would see less than this one, and until it is durable.
func (s *Store) Settle(ctx context.Context) error {
	s.sending.wait()
	return s.settle(ctx, s.lastSeq())
}

// SettleSeq waits until the batch with the number is durable.
func (s *Store) SettleSeq(ctx context.Context, seq uint64) error { return s.settle(ctx, seq) }

// Exclusive runs fn while no group is sent: what is visible, what the engine holds and the bounds of the log
// belong together. Changes are made meanwhile, up to two groups of them, and wait.
func (s *Store) Exclusive(fn func(t *Txn, first, next uint64) error) error {
	s.turn.Wait()
	defer s.turn.Release()
	return fn(&Txn{s: s, ctx: context.Background()}, s.first, s.next)
}

// Draft runs a change and returns what it would write, without writing it: for a load of very many records past
// commits, in a store that nobody else uses.
func (s *Store) Draft(ctx context.Context, fn func(t *Txn) error) ([]kv.Op, error) {
	if err := s.turn.Acquire(ctx); err != nil {
		return nil, errs.Wrap(err, "record.Draft", "")
	}
	defer s.turn.Release()
	g := &group{own: newChanges(s.cache.seed, s.options.Schema.Append), first: s.first, next: s.next}
	r := &request{ctx: ctx, fn: fn}
	s.run(g, r)
	if r.err != nil {
		return nil, r.err
	}
	s.seal(g)
	return g.own.batch().Ops, nil
}

// MarkComplete says that nothing is in the set of keys with the prefix so far. While the cache has evicted none of
// its keys, a key that the cache does not have is not in the engine either.
func (s *Store) MarkComplete(prefix []byte) { s.cache.markComplete(prefix) }

// MarkUnused says that nothing in the engine has the key, or ever had; see [Txn.IsUnused]. The key is of a cached table.
func (s *Store) MarkUnused(k []byte) { s.cache.put(s.cache.hash(k), k, record{value: &unused{}}) }

// Counter returns the visible sum of a counter.
func (s *Store) Counter(i int) int64 { return s.counters[i].Load() }

// CacheStats says how large the cache is and how often it had what a read asked for.
type CacheStats struct{ Bytes, Max, Hits, Misses int64 }

// CacheStats returns the figures of the cache.
func (s *Store) CacheStats() CacheStats {
	c := CacheStats{Bytes: s.cache.bytes(), Max: s.cache.max()}
	c.Hits, c.Misses = s.cache.lookups()
	return c
}
