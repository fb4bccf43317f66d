// Package simkv is the store of a simulated manager, on a device that survives every process: what nobody waited for may be
// lost when the process dies. A session is the store as one process sees it; only the device tells what is durable.
package simkv

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"sync"

	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
)

// Device is the stable storage under the manager's store: what it holds survives every process.
// Its lock is the inner one: a session holds its own while it flushes.
type Device struct {
	mu    sync.Mutex   // guards everything below
	pairs *memkv.Store // replaced as a whole by PutBack
	write kv.Writer    // of pairs; there is no other writer
	seq   uint64       // of the last durable batch, over all sessions
	epoch uint64       // of the last session that acquired the store
}

// New makes an empty device for a store.
func New() *Device {
	// The stores in memory never fail, so their errors are dropped here and below.
	d := &Device{pairs: memkv.New()}
	d.write, _ = d.pairs.Acquire(context.Background(), "device")
	return d
}

// Image is a copy of what the device holds, as an admin makes one of a directory while no manager runs.
// It is immutable: a snapshot of a store in memory is a copy.
type Image struct {
	Pairs      kv.Snapshot
	Seq, Epoch uint64 // of the last durable batch, and of the last session
}

// Copy makes an image.
// Sessions may go on meanwhile; the image has what was durable at one instant.
func (d *Device) Copy() Image {
	d.mu.Lock()
	defer d.mu.Unlock()
	pairs, _ := d.pairs.Snapshot(context.Background()) // in memory
	return Image{pairs, d.seq, d.epoch}
}

// PutBack has the device hold what the image does. No session may be open.
func (d *Device) PutBack(i Image) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pairs, d.seq, d.epoch = memkv.New(), i.Seq, i.Epoch
	d.write, _ = d.pairs.Acquire(context.Background(), "device")
	copyPairs(i.Pairs, d.write) // holds: both stores are in memory, nothing waits
}

// copyPairs writes all that there is to another store in memory.
// It begins at the key of one zero byte, the smallest there is. Both stores must be in memory: callers hold a lock.
func copyPairs(from kv.Reader, to kv.Writer) {
	_ = from.Scan(context.Background(), []byte{0}, nil, func(k, v []byte) bool {
		_, _ = to.Enqueue(&kv.Batch{Ops: []kv.Op{{Key: k, Value: v}}})
		return true
	})
}

// Session is the store as one manager process sees it. Batches are durable once somebody waited for
// them or for a later one. When the session dies, a first part of the others may be durable all the
// same: the caller cannot know.
//
// Reads see what was enqueued, as with every engine: the session keeps a whole copy of the device and applies its batches to
// that at once. Only the device tells what is durable.
type Session struct {
	device *Device
	rng    *rand.Rand // decides how much an ended session keeps; under mu

	mu      sync.Mutex   // acquired before that of the device
	seen    *memkv.Store // what the process reads: durable pairs and pending batches
	writer  kv.Writer    // of seen
	pending []kv.Batch   // not durable yet; the first has number device.seq+1
	next    uint64       // number of the batch enqueued last
	fuse    int          // calls until it dies by itself; none if zero
	dead    bool
	died    chan struct{} // closed when the session ends; the nemesis waits for it
}

// Open begins a session; an older one must be dead.
// The copy makes what a dead session still holds harmless: it writes to its own store.
func (d *Device) Open(rng *rand.Rand) *Session {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &Session{device: d, rng: rng, seen: memkv.New(), next: d.seq, died: make(chan struct{})}
	s.writer, _ = s.seen.Acquire(context.Background(), "session")
	copyPairs(d.pairs, s.writer) // holds: both stores are in memory, nothing waits
	return s
}

// Die ends the session as a crash does.
func (s *Session) Die() {
	s.mu.Lock() // holds: both stores are in memory, nothing waits
	defer s.mu.Unlock()
	s.end()
}

// Died returns a channel that is closed when the session has ended, by itself or by Die.
func (s *Session) Died() <-chan struct{} { return s.died }

// end does what Die does, with mu held. The durable batches are a prefix: the log is written in order, so a batch is
// never kept without those before it.
func (s *Session) end() {
	if s.dead {
		return
	}
	s.dead = true
	s.flush(s.rng.IntN(len(s.pending) + 1))
	close(s.died)
}

// burn counts one call and ends the session when the fuse is burnt. The caller holds mu.
// The call that burns it out has its effect in doubt, as a power cut in the middle of a sync has.
func (s *Session) burn() {
	if s.fuse > 0 {
		if s.fuse--; s.fuse == 0 {
			s.end()
		}
	}
}

// Light has the session die at the n-th change or wait from now.
// Zero puts the fuse out.
func (s *Session) Light(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fuse = n
}

// flush makes the first n batches durable. The caller holds mu.
func (s *Session) flush(n int) {
	s.device.mu.Lock() // holds: the device is in memory, nothing waits
	defer s.device.mu.Unlock()
	for _, b := range s.pending[:n] {
		_, _ = s.device.write.Enqueue(&b)
		// Numbers are those of the device, so they go on from session to session.
		s.device.seq++
	}
	s.pending = s.pending[n:]
}

// gone returns the error of a session that was fenced or whose process is dead.
// Unavailable, because the caller cannot know what became of its last batches.
func (s *Session) gone(op string) error {
	return errs.New(errs.Unavailable, op, "", "the process is dead")
}

// alive returns an error if the session must not be used any more.
// A session may die between this and the read that follows; the read then shows what the process had in memory.
func (s *Session) alive(op string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return s.gone(op)
	}
	return nil
}

// Get implements kv.Reader.
func (s *Session) Get(ctx context.Context, key []byte) ([]byte, error) {
	if err := s.alive("kv.Get"); err != nil {
		return nil, err
	}
	return s.seen.Get(ctx, key)
}

// GetMany implements kv.Reader.
func (s *Session) GetMany(ctx context.Context, keys [][]byte) ([][]byte, error) {
	if err := s.alive("kv.GetMany"); err != nil {
		return nil, err
	}
	return s.seen.GetMany(ctx, keys)
}

// Scan implements kv.Reader.
func (s *Session) Scan(ctx context.Context, lo, hi []byte, visit func(k, v []byte) bool) error {
	if err := s.alive("kv.Scan"); err != nil {
		return err
	}
	return s.seen.Scan(ctx, lo, hi, visit)
}

// Acquire implements kv.Store.
// The epoch belongs to the device, so a writer of a later session fences this one.
func (s *Session) Acquire(context.Context, string) (kv.Writer, error) {
	if err := s.alive("kv.Acquire"); err != nil {
		return nil, err
	}
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	s.device.epoch++
	return &sessionWriter{s, s.device.epoch}, nil
}

// Snapshot implements kv.Store.
func (s *Session) Snapshot(ctx context.Context) (kv.Snapshot, error) {
	if err := s.alive("kv.Snapshot"); err != nil {
		return nil, err
	}
	return s.seen.Snapshot(ctx)
}

// Backup implements kv.Store.
// It copies nothing anywhere: the store in memory refuses it as unsupported.
func (s *Session) Backup(ctx context.Context, dir string) error { return s.seen.Backup(ctx, dir) }

// Stats implements kv.Store.
func (s *Session) Stats() kv.Stats { return s.seen.Stats() }

// Close implements kv.Store: what was enqueued becomes durable, and the session serves nobody any more.
func (s *Session) Close() error {
	s.mu.Lock() // holds: both stores are in memory, nothing waits
	defer s.mu.Unlock()
	if !s.dead {
		s.flush(len(s.pending))
		s.dead = true
		close(s.died)
	}
	return nil
}

// sessionWriter is the right to write in an epoch. A later one, of this session or another, fences it.
type sessionWriter struct {
	*Session
	epoch uint64
}

// Epoch implements kv.Writer.
func (s *sessionWriter) Epoch() uint64 { return s.epoch }

// current fails with Fenced if the writer is not the last one.
func (s *sessionWriter) current() error {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	if s.device.epoch != s.epoch {
		return errs.New(errs.Fenced, "sim.Enqueue", "", "the store has a later writer")
	}
	return nil
}

// LastSeq implements kv.Writer.
func (s *sessionWriter) LastSeq(context.Context) (uint64, error) {
	s.device.mu.Lock()
	defer s.device.mu.Unlock()
	return s.device.seq, nil
}

// Enqueue implements kv.Writer.
func (s *sessionWriter) Enqueue(b *kv.Batch) (kv.Ticket, error) {
	if err := kv.Check(b); err != nil {
		return nil, err
	}
	s.mu.Lock() // holds: both stores are in memory, nothing waits
	defer s.mu.Unlock()
	if s.dead {
		return nil, s.gone("kv.Enqueue")
	}
	if err := s.current(); err != nil {
		return nil, err
	}
	// The caller reuses its slices, and the batch is needed until it is durable.
	copied := kv.Batch{Ops: slices.Clone(b.Ops)}
	for i, op := range copied.Ops {
		copied.Ops[i].Key, copied.Ops[i].Value = bytes.Clone(op.Key), bytes.Clone(op.Value)
	}
	if _, err := s.writer.Enqueue(b); err != nil {
		return nil, err
	}
	s.pending = append(s.pending, copied)
	s.next++
	// After the batch was taken: a session that ends now may have made it durable.
	s.burn()
	return ticket{s.Session, s.next}, nil
}

// ticket is a write to the simulated store that may not be durable yet.
type ticket struct {
	session *Session
	seq     uint64
}

// Seq implements kv.Ticket.
func (t ticket) Seq() uint64 { return t.seq }

// Wait makes everything enqueued so far durable, as one sync does.
// It takes no time. The wait of a real device would only change the order of what is concurrent already.
func (t ticket) Wait(context.Context) error {
	s := t.session
	s.mu.Lock() // holds: both stores are in memory, nothing waits
	defer s.mu.Unlock()
	if !s.dead {
		// The fuse counts waits too, so that a session can die between the batch and its acknowledgement.
		s.burn()
	}
	if s.dead {
		return s.gone("kv.Wait")
	}
	s.flush(len(s.pending))
	return nil
}
