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
	// Hold is the time for which the pieces of replaced and removed content stay on their disks; 0: no longer than their
	// removal takes.
	Hold time.Duration
}

// Namespace is the tree over a store. It is the only writer of that store. It is made of parts, which share one record
// engine: each part has its own state and the methods of one kind. Calls may come from any goroutine.
type Namespace struct {
	Tree       *Tree                // names, directories, attributes
	Writes     *Writes              // opens and commits
	Pieces     *Pieces              // what disks hold and are to remove
	Quotas     *QuotaAdmin          // limits and usage
	Bins       *Bins                // what was removed and is kept
	Lifecycle  *Lifecycle           // what rules of directories change
	Recovery   *Recovery            // files that were lost
	Past       *Past                // what restores and rebuilds have forgotten
	Inspection *Inspection          // figures, events, checks
	Tapes      *catalogue.Catalogue // copies on tape, and the jobs that wait for one
	Claims     *accounts.Claims     // what writes under way take of limits

	engine *engine
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
	n := newNamespace(o)
	var err error
	n.engine.records, err = record.Open(ctx, store, record.Options{CacheBytes: o.CacheBytes, Clock: o.Clock, Log: o.Logger, Owner: o.Owner,
		Schema: tables.Schema(o.EventsMax), Finish: func(t *record.Txn, counts record.Counters) { purgeTombstones(n.engine, t, counts) }})
	if err != nil {
		return nil, errs.Wrap(err, "namespace.Open", "")
	}
	if err := n.load(ctx); err != nil {
		return nil, errs.Wrap(err, "namespace.Open", "")
	}
	n.Tapes = catalogue.New(n.engine.records, n.engine.numbers, n.Past.life, tapeTree{n.Tree, n.Past})
	n.engine.memory.tapes = n.Tapes
	n.Quotas.counter = accounts.NewCounter(n.engine.records, n.engine.numbers, o.Logger)
	booted := o.Clock()
	n.Writes.ended.begin(booted, n.engine.numbers.First())
	n.Inspection.booted, n.Inspection.boot = booted, time.Since(started)
	o.Logger.Info("namespace open", "epoch", n.engine.records.Writer().Epoch(), "took", n.Inspection.boot)
	return n, nil
}

// newNamespace makes the parts. Each gets what it reads of the others; nothing works before the records are open.
func newNamespace(o Options) *Namespace {
	held, ended, spaces, claims := new(holds), new(endedWrites), new(spaceRules), new(accounts.Claims)
	held.set(o.Hold)
	e := &engine{clock: o.Clock, log: o.Logger, memory: &memory{holds: held, ended: ended, spaces: spaces}}
	ch := &changes{engine: e, claims: claims}
	tree, past := &Tree{engine: e, changes: ch}, &Past{engine: e}
	return &Namespace{
		Tree:       tree,
		Writes:     &Writes{engine: e, changes: ch, tree: tree, ended: ended},
		Pieces:     &Pieces{engine: e, holds: held},
		Quotas:     &QuotaAdmin{engine: e},
		Bins:       &Bins{engine: e, changes: ch, tree: tree, past: past, spaces: spaces},
		Lifecycle:  &Lifecycle{engine: e, tree: tree, past: past},
		Recovery:   &Recovery{engine: e, tree: tree},
		Past:       past,
		Inspection: &Inspection{engine: e, past: past},
		Claims:     claims,
		engine:     e,
	}
}

// Close waits until everything that was sent is durable. The store stays open; it is the caller's.
func (n *Namespace) Close() error {
	return n.engine.records.Close(errs.New(errs.Unavailable, "namespace.Close", "", "the namespace is closed"))
}

// Failed returns a channel that is closed when the store has failed: no call succeeds any more, and only opening the
// namespace again helps.
func (n *Namespace) Failed() <-chan struct{} { return n.engine.records.Failed() }

// Writer returns the store's writer, for others that keep records beside the tree in the same store
// (under keys that do not begin with 'n') and must be fenced together with it.
func (n *Namespace) Writer() kv.Writer { return n.engine.records.Writer() }

// load reads the few variables of the store, or makes the tree of an empty one.
func (n *Namespace) load(ctx context.Context) error {
	engine := n.engine.records.Engine()
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
	n.engine.numbers = newNumbers(n.engine.records, end)
	if err := n.Past.loadLife(ctx); err != nil {
		return err
	}
	if err := n.Past.loadBoundaries(ctx); err != nil {
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
	n.engine.records.Begin(first, next, counts)
	return cmp.Or(err, bad)
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
	if err := n.engine.records.Engine().Scan(ctx, []byte{schema.Space}, []byte{schema.Space + 1}, func(_, _ []byte) bool { found = true; return false }); err != nil {
		return err
	}
	if found {
		return errs.New(errs.Corrupt, "namespace.Open", "", "the store has entries but no format version")
	}
	const firstEvent, firstID = 1, uint64(hemera.RootID) + 1
	n.engine.records.Begin(firstEvent, firstEvent, record.Counters{})
	n.engine.numbers = newNumbers(n.engine.records, firstID)
	return n.engine.update(ctx, func(t tx) error {
		t.Set(schema.MetaKey(schema.MetaFormat), record.Opaque{}, binary.BigEndian.AppendUint32(nil, schema.FormatVersion))
		t.Set(schema.MetaKey(schema.MetaEvents), record.Opaque{}, schema.EncodePair(firstEvent, firstEvent))
		t.PutEntry(&hemera.Entry{ID: hemera.RootID, Parent: hemera.RootID, Kind: hemera.KindDirectory,
			Mode: rootMode, Mtime: t.Now(), Ctime: t.Now(), Birth: t.Now()})
		t.PutDirectory(hemera.RootID, schema.Directory{Mtime: t.Now(), Ctime: t.Now()})
		t.Set(schema.MetaKey(schema.MetaIDs), record.Opaque{}, schema.EncodePair(firstID, 0))
		return nil
	})
}

// Relaxed makes a context whose calls do not wait for the disk: they return when a change is visible, and a
// power cut may undo it. It exists to measure what that wait costs, and no door gives it to a client. Answers to
// other callers still wait for everything they saw, relaxed changes included.
func Relaxed(ctx context.Context) context.Context { return record.Relaxed(ctx) }
