package namespace

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"hemera"
	"hemera/core/namespace/schema"
	"hemera/errs"
	"hemera/platform/kv"
)

// Options tune a namespace; zero values take the defaults.
type Options struct {
	CacheBytes int64            // records kept decoded; 0: 256 MiB
	EventsMax  uint64           // events kept; 0: 1,000,000
	Clock      func() time.Time // nil: time.Now
	Logger     *slog.Logger     // nil: silent
	Owner      string           // who acquires the store, for its errors
	// Hold is how long the pieces of replaced and removed content stay on their disks; 0: no longer than
	// their removal takes.
	Hold time.Duration
}

// Namespace is the tree over a store, of which it is the one writer.
//
// Changes are made one after the other, in memory, by one goroutine at a time: the leader (see lead).
// It puts those that wait at the same time into a group, which becomes one batch. While the batch is
// given to the store and becomes visible, under mu, the next leader makes the next group on top of it.
// Everyone then waits for the disk by himself, and batches share fsyncs. A reader takes no lock and
// sees either all of a change or nothing (see view); before it answers it waits for the newest batch
// it saw anything of. After a failed wait the namespace is dead, because nobody knows what the store
// holds, and only opening it again helps.
type Namespace struct {
	store  kv.Store
	writer kv.Writer
	cache  *cache
	clock  func() time.Time
	log    *slog.Logger

	boundaries []Boundary // never changed once open

	booted  time.Time
	boot    time.Duration
	durable atomic.Uint64 // sequence number of the store
	last    atomic.Pointer[sent]
	failure atomic.Pointer[errs.Error]
	failed  chan struct{} // closed when the store has failed

	// version is odd while a group is becoming visible, and showing is held; sending is set while the
	// store has, or may have, a group that is not.
	version atomic.Uint64
	showing sync.RWMutex
	sending atomic.Bool
	readers sync.Pool // of *tx

	// Ids below reserved are durably the namespace's; idMu is held while more are made so, and
	// reserving says that somebody does it before it is needed.
	idMu             sync.Mutex
	nextID, reserved atomic.Uint64
	reserving        atomic.Bool
	// firstID is the first of this life; refused is how many writes it refused for good, or barred.
	firstID uint64
	refused atomic.Int64

	// counter is held by whoever counts for quotas; uncounted wakes him.
	counter   sync.Mutex
	uncounted chan struct{}

	// queueMu guards the changes that wait for the leader, which runs while there are any.
	queueMu sync.Mutex
	queue   []*request
	leading bool

	// The leader's own: the last group that was made and the one before, where the records of removed
	// files begin that may be old, and when one may be.
	tail, spare *group
	removedFrom hemera.FileID
	exhumeAt    time.Time

	// mu is held while a group is sent and becomes visible. Nobody takes idMu while holding it.
	mu sync.Mutex
	// events first to next-1 are stored.
	first, next, eventsMax uint64
	unlinked               atomic.Int64
	held                   struct{ pieces, bytes atomic.Int64 }

	hold  time.Duration
	holds dueTimes
	bars  bars
	// renames counts the new files that are to be committed under another name than their opens gave.
	renames bars
}

// sent is the newest enqueued batch.
type sent struct{ ticket kv.Ticket }

var _ Tree = (*Namespace)(nil)

// Open acquires the store and reads its few variables; an empty store becomes a tree with a root
// directory. Nothing in it takes time in proportion to the number of entries. Corrupt when the
// store holds something else, Unsupported when its format is of another version.
func Open(ctx context.Context, store kv.Store, o Options) (*Namespace, error) {
	started := time.Now()
	if o.CacheBytes == 0 {
		o.CacheBytes = 256 << 20
	}
	if o.EventsMax == 0 {
		o.EventsMax = 1_000_000
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	n := &Namespace{store: store, cache: newCache(o.CacheBytes), clock: o.Clock, log: o.Logger, eventsMax: o.EventsMax, hold: o.Hold,
		uncounted: make(chan struct{}, 1), failed: make(chan struct{}), readers: sync.Pool{New: func() any { return new(tx) }}}
	var err error
	if n.writer, err = store.Acquire(ctx, o.Owner); err != nil {
		return nil, errs.Wrap(err, "namespace.Open", "")
	}
	if err := n.load(ctx); err != nil {
		return nil, errs.Wrap(err, "namespace.Open", "")
	}
	n.booted = o.Clock()
	n.bars.mark(n.booted, n.firstID)
	n.boot = time.Since(started)
	n.log.Info("namespace open", "epoch", n.writer.Epoch(), "took", n.boot)
	return n, nil
}

// Close waits for what was enqueued. The store stays open; it is the caller's.
func (n *Namespace) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failure.Load() != nil {
		return nil
	}
	err := n.settled(context.Background(), n.lastSeq())
	n.failure.CompareAndSwap(nil, errs.New(errs.Unavailable, "namespace", "", "the namespace is closed"))
	return err
}

// Failed is closed when the store has failed: no call succeeds any more, and only opening the namespace
// again helps.
func (n *Namespace) Failed() <-chan struct{} { return n.failed }

// Writer is the store's writer, for others that keep records beside the tree in the same store
// (under keys that do not begin with 'n') and must be fenced together with it.
func (n *Namespace) Writer() kv.Writer { return n.writer }

func (n *Namespace) load(ctx context.Context) error {
	format, err := n.store.Get(ctx, schema.MetaKey(schema.MetaFormat))
	if errors.Is(err, errs.NotFound) {
		return n.create(ctx)
	}
	if err != nil {
		return err
	}
	if len(format) != 4 || binary.BigEndian.Uint32(format) != schema.FormatVersion {
		return errs.New(errs.Unsupported, "namespace.Open", "", "the store's format is not version 1").
			WithRemedy("start the version of hemera that wrote it")
	}
	ids, err := n.pair(ctx, schema.MetaIDs)
	if err != nil {
		return err
	}
	events, err := n.pair(ctx, schema.MetaEvents)
	if err != nil {
		return err
	}
	n.nextID.Store(ids[0])
	n.firstID = ids[0]
	n.reserved.Store(ids[0])
	n.begin(events[0], events[1])
	if last, err := n.writer.LastSeq(ctx); err == nil {
		n.durable.Store(last)
	}
	if err := n.loadBoundaries(ctx); err != nil {
		return err
	}
	return n.store.Scan(ctx, schema.TableKey(schema.TableUsage), schema.PrefixEnd(schema.TableKey(schema.TableUsage)), func(k, raw []byte) bool {
		u, bad := schema.DecodeUsage(k, raw)
		if bad != nil {
			err = schema.Damaged(k, bad)
			return false
		}
		n.unlinked.Add(u.Unlinked)
		n.held.pieces.Add(u.Held)
		n.held.bytes.Add(u.HeldBytes)
		return true
	})
}

// begin sets where the event log begins and ends, for the first group.
func (n *Namespace) begin(first, next uint64) {
	n.first, n.next = first, next
	n.tail, n.spare = &group{all: newChanges(n.cache.seed), first: first, next: next}, &group{all: newChanges(n.cache.seed)}
	n.tail.visible.Store(true)
}

func (n *Namespace) pair(ctx context.Context, which byte) ([2]uint64, error) {
	raw, err := n.store.Get(ctx, schema.MetaKey(which))
	if err == nil && len(raw) != 16 {
		err = schema.Damaged(schema.MetaKey(which), schema.ErrRecord)
	}
	if err != nil {
		return [2]uint64{}, err
	}
	return [2]uint64{schema.Uint64At(raw, 0), schema.Uint64At(raw, 8)}, nil
}

// rootMode lets a fresh cluster be used at once by everyone it knows, as /tmp is: all may make
// names, and only owners take them away.
const rootMode = 0o1777

// create makes the tree of an empty store.
func (n *Namespace) create(ctx context.Context) error {
	found := false
	if err := n.store.Scan(ctx, []byte{schema.Space}, []byte{schema.Space + 1}, func(_, _ []byte) bool { found = true; return false }); err != nil {
		return err
	}
	if found {
		return errs.New(errs.Corrupt, "namespace.Open", "", "the store has entries but no format version")
	}
	n.begin(1, 1)
	n.nextID.Store(uint64(hemera.RootID) + 1)
	n.reserved.Store(n.nextID.Load())
	return n.update(ctx, func(t *tx) error {
		t.set(schema.MetaKey(schema.MetaFormat), schema.Mark{}, binary.BigEndian.AppendUint32(nil, schema.FormatVersion))
		t.set(schema.MetaKey(schema.MetaEvents), schema.Mark{}, schema.EncodePair(n.first, n.next))
		t.putEntry(&hemera.Entry{ID: hemera.RootID, Parent: hemera.RootID, Kind: hemera.KindDirectory,
			Mode: rootMode, Mtime: t.now, Ctime: t.now, Birth: t.now})
		t.putState(hemera.RootID, schema.Directory{Mtime: t.now, Ctime: t.now})
		t.set(schema.MetaKey(schema.MetaIDs), schema.Mark{}, schema.EncodePair(n.reserved.Load(), 0))
		return nil
	})
}

// Stats implements Contents. Pending, RSS and Goroutines are the manager's to fill.
func (n *Namespace) Stats() hemera.NamespaceStats {
	store := n.store.Stats()
	s := hemera.NamespaceStats{
		CacheBytes: n.cache.bytes(), CacheMax: n.cache.max(),
		StoreBytes: store.Bytes, StoreCacheBytes: store.CacheBytes, StoreCacheMax: store.CacheMax, Epoch: n.writer.Epoch(),
		Booted: n.booted, BootDuration: n.boot, Unlinked: n.unlinked.Load(),
		Held: n.held.pieces.Load(), HeldBytes: n.held.bytes.Load(),
	}
	s.CacheHits, s.CacheMisses = n.cache.looks()
	s.NextID = hemera.FileID(n.nextID.Load())
	n.mu.Lock()
	defer n.mu.Unlock()
	s.Sequence = n.next - 1
	t := &tx{n: n, ctx: context.Background(), locked: true}
	if root, err := t.state(hemera.RootID); err == nil {
		s.Totals = root.Tree
	}
	return s
}
