package namespace

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"time"

	"hemera/namespace/accounts"
	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/namespace/tables"
	"hemera/platform/kv"
	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Options tune a namespace; zero values take the defaults.
type Options struct {
	CacheBytes int64            // records kept decoded; 0: 256 MiB
	EventsMax  uint64           // events kept; 0: 1,000,000
	Clock      func() time.Time // nil: time.Now
	Logger     *slog.Logger     // nil: silent
	Owner      string           // who acquires the store, for the errors of the process that loses it
	// Hold is how long the pieces of replaced and removed content stay on their disks; 0: no longer than
	// their removal takes.
	Hold time.Duration
}

// Namespace is the tree over a store. It is the only writer of that store. It is made of parts, which share one record
// engine; each part is a small type with methods of one kind. Calls may come from any goroutine.
type Namespace struct {
	*base      // what the parts share
	Tree       // names, directories, attributes
	Writes     // opens and commits
	Pieces     // what disks hold and are to remove
	QuotaAdmin // limits and usage
	Recovery   // files that were lost
	Bins       // what was removed and is kept
	// life is 0 for a store that was never restored or rebuilt, and higher after each time. ForgetLost leaves it.
	life uint64

	booted time.Time     // when it was opened
	boot   time.Duration // how long that took

	Lifecycle // what rules of directories change: a part like those above
}

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
	b := &base{clock: o.Clock, log: o.Logger}
	b.hold.Store(int64(o.Hold))
	records, err := record.Open(ctx, store, record.Options{CacheBytes: o.CacheBytes, Clock: o.Clock, Log: o.Logger, Owner: o.Owner,
		Schema: tables.Schema(o.EventsMax), Finish: b.purgeTombstones})
	if err != nil {
		return nil, errs.Wrap(err, "namespace.Open", "")
	}
	b.records, b.tapes = records, catalogue.New(records)
	n := &Namespace{base: b, Tree: Tree{b}, Writes: Writes{b}, Pieces: Pieces{b}, QuotaAdmin: QuotaAdmin{b}, Bins: Bins{b}, Lifecycle: Lifecycle{b}, Recovery: Recovery{b}}
	if err := n.load(ctx); err != nil {
		return nil, errs.Wrap(err, "namespace.Open", "")
	}
	b.tapes.UseTree(tapeTree{n})
	b.counter = accounts.NewCounter(records, b.numbers, o.Logger)
	n.booted = o.Clock()
	b.ended.barred.mark(n.booted, b.numbers.First())
	n.boot = time.Since(started)
	n.log.Info("namespace open", "epoch", records.Writer().Epoch(), "took", n.boot)
	return n, nil
}

// Close waits until everything that was sent is durable. The store stays open; it is the caller's.
func (n *Namespace) Close() error {
	return n.records.Close(errs.New(errs.Unavailable, "namespace.Close", "", "the namespace is closed"))
}

// SetHold sets how long replaced and removed content is held from now on, as Options.Hold does at the start. Content that
// is held already is held no longer than that from now.
func (n *Namespace) SetHold(hold time.Duration) { n.hold.Store(int64(hold)) }

// Failed is closed when the store has failed: no call succeeds any more, and only opening the namespace
// again helps.
func (n *Namespace) Failed() <-chan struct{} { return n.records.Failed() }

// Writer is the store's writer, for others that keep records beside the tree in the same store
// (under keys that do not begin with 'n') and must be fenced together with it.
func (n *Namespace) Writer() kv.Writer { return n.records.Writer() }

// load reads the few variables of the store, or makes the tree of an empty one.
func (n *Namespace) load(ctx context.Context) error {
	engine := n.records.Engine()
	format, err := engine.Get(ctx, schema.MetaKey(schema.MetaFormat))
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
	end, _, err := readPair(ctx, engine, schema.MetaIDs)
	if err != nil {
		return err
	}
	first, next, err := readPair(ctx, engine, schema.MetaEvents)
	if err != nil {
		return err
	}
	n.numbers = newNumbers(n.records, end)
	if err := n.loadLife(ctx); err != nil {
		return err
	}
	if err := n.loadBoundaries(ctx); err != nil {
		return err
	}
	var counts record.Counters
	var bad error
	usages := schema.TableKey(schema.TableUsage)
	err = engine.Scan(ctx, usages, schema.PrefixEnd(usages), func(k, raw []byte) bool {
		u, err := schema.DecodeUsage(k, raw)
		if err != nil {
			bad = schema.Damaged(k, err)
			return false
		}
		counts[tables.Unlinked] += u.Unlinked
		counts[tables.HeldPieces] += u.Held
		counts[tables.HeldBytes] += u.HeldBytes
		return true
	})
	n.records.Begin(first, next, counts)
	return cmp.Or(err, bad)
}

// readPair reads a variable of two numbers.
func readPair(ctx context.Context, r kv.Reader, which byte) (a, b uint64, err error) {
	k := schema.MetaKey(which)
	raw, err := r.Get(ctx, k)
	if err != nil {
		return 0, 0, err
	}
	return schema.DecodePair(k, raw)
}

// newNumbers makes the source of ids and generations, which are one sequence.
func newNumbers(records *record.Store, end uint64) *record.Numbers {
	return record.NewNumbers(records, schema.MetaKey(schema.MetaIDs), end, func(end uint64) []byte { return schema.EncodePair(end, 0) })
}

// rootMode lets a fresh cluster be used at once by everyone it knows, as /tmp is: all may make
// names, and only owners take them away.
const rootMode = 0o1777

// create makes the tree of an empty store.
func (n *Namespace) create(ctx context.Context) error {
	found := false
	if err := n.records.Engine().Scan(ctx, []byte{schema.Space}, []byte{schema.Space + 1}, func(_, _ []byte) bool { found = true; return false }); err != nil {
		return err
	}
	if found {
		return errs.New(errs.Corrupt, "namespace.Open", "", "the store has entries but no format version")
	}
	const firstEvent, firstID = 1, uint64(hemera.RootID) + 1
	n.records.Begin(firstEvent, firstEvent, record.Counters{})
	n.numbers = newNumbers(n.records, firstID)
	return n.update(ctx, func(t tx) error {
		t.Set(schema.MetaKey(schema.MetaFormat), record.Opaque{}, binary.BigEndian.AppendUint32(nil, schema.FormatVersion))
		t.Set(schema.MetaKey(schema.MetaEvents), record.Opaque{}, schema.EncodePair(firstEvent, firstEvent))
		t.PutEntry(&hemera.Entry{ID: hemera.RootID, Parent: hemera.RootID, Kind: hemera.KindDirectory,
			Mode: rootMode, Mtime: t.Now(), Ctime: t.Now(), Birth: t.Now()})
		t.PutDirectory(hemera.RootID, schema.Directory{Mtime: t.Now(), Ctime: t.Now()})
		t.Set(schema.MetaKey(schema.MetaIDs), record.Opaque{}, schema.EncodePair(firstID, 0))
		return nil
	})
}

// Stats returns the figures of the namespace. Pending, RSS and Goroutines are the manager's to fill.
func (n *Namespace) Stats() hemera.NamespaceStats {
	store, cache := n.records.Engine().Stats(), n.records.CacheStats()
	s := hemera.NamespaceStats{
		CacheBytes: cache.Bytes, CacheMax: cache.Max, CacheHits: cache.Hits, CacheMisses: cache.Misses,
		StoreBytes: store.Bytes, StoreCacheBytes: store.CacheBytes, StoreCacheMax: store.CacheMax, Epoch: n.records.Writer().Epoch(),
		Booted: n.booted, BootDuration: n.boot, Unlinked: n.records.Counter(tables.Unlinked),
		Held: n.records.Counter(tables.HeldPieces), HeldBytes: n.records.Counter(tables.HeldBytes),
		NextID: hemera.FileID(n.numbers.Next()), WentBack: n.WentBack(),
	}
	_ = n.records.Exclusive(func(t *record.Txn, _, next uint64) error {
		s.Sequence = next - 1
		root, err := n.tx(t).Directory(hemera.RootID)
		if err == nil {
			s.Totals = root.Tree
		}
		bins, binsErr := n.tx(t).Entry(0, schema.BinName)
		if binsErr != nil || bins == nil {
			return errors.Join(err, binsErr)
		}
		kept, binsErr := n.tx(t).Directory(bins.ID)
		if binsErr == nil {
			s.Recycled = kept.Tree
		}
		return errors.Join(err, binsErr)
	})
	return s
}

// Relaxed makes a context whose calls do not wait for the disk: they return when a change is visible, and a
// power cut may undo it. It exists to measure what that wait costs, and no door gives it to a client. Answers to
// other callers still wait for everything they saw, relaxed changes included.
func Relaxed(ctx context.Context) context.Context { return record.Relaxed(ctx) }
