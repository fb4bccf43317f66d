package namespace

import (
	"context"
	"errors"
	"time"

	"hemera/namespace/nscheck"
	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/namespace/tables"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Inspection looks at the tree without an identity, and without changing it. Callers are the manager's own.
type Inspection struct {
	engine *engine
	past   *Past

	booted time.Time     // when the namespace was opened
	boot   time.Duration // how long that took
}

// Resolve returns the entry with the id, and its path of now. It asks for no rights: callers are the manager's
// own. NotFound.
func (n *Inspection) Resolve(ctx context.Context, id hemera.FileID) (out hemera.Entry, path string, err error) {
	err = n.engine.view(ctx, func(t tx) error {
		e, err := t.ByID(id)
		if err != nil {
			return err
		}
		if e == nil {
			return absent("Resolve", id)
		}
		if out, err = t.Full(e); err != nil {
			return err
		}
		if tables.IsTop(e) { // nothing is above it
			if path = "/"; e.ID != hemera.RootID {
				path = tables.BinPath
			}
			return nil
		}
		parent, err := t.Parent(e)
		if err != nil {
			return err
		}
		_, path, err = t.Above(parent)
		path += "/" + e.Name
		return err
	})
	return out, path, err
}

// Events lists up to limit changes after a sequence number, oldest first. It begins with the oldest event that is
// kept, so a follower compares the first number with what it expected.
func (n *Inspection) Events(ctx context.Context, from uint64, limit int) ([]hemera.Event, error) {
	var out []hemera.Event
	var bad error
	err := n.engine.records.Engine().Scan(ctx, schema.EventKey(from+1), schema.PrefixEnd(schema.TableKey(schema.TableEvent)), func(k, raw []byte) bool {
		if len(out) >= limit {
			return false
		}
		e, err := schema.DecodeEvent(k, raw)
		if err != nil {
			bad = schema.Damaged(k, err)
			return false
		}
		out = append(out, *e)
		return true
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return nil, errs.Wrap(err, "namespace.Events", "")
	}
	return out, n.engine.records.Settle(ctx)
}

// Stats returns the figures of the namespace. Pending, RSS and Goroutines are the manager's to fill.
func (n *Inspection) Stats() adminapi.NamespaceStats {
	store, cache := n.engine.records.Engine().Stats(), n.engine.records.CacheStats()
	s := adminapi.NamespaceStats{
		CacheBytes: cache.Bytes, CacheMax: cache.Max, CacheHits: cache.Hits, CacheMisses: cache.Misses,
		StoreBytes: store.Bytes, StoreCacheBytes: store.CacheBytes, StoreCacheMax: store.CacheMax, Epoch: n.engine.records.Writer().Epoch(),
		Booted: n.booted, BootDuration: n.boot, Unlinked: n.engine.records.Counter(tables.Unlinked),
		Held: n.engine.records.Counter(tables.HeldPieces), HeldBytes: n.engine.records.Counter(tables.HeldBytes),
		NextID: hemera.FileID(n.engine.numbers.Next()), WentBack: n.past.WentBack(),
	}
	_ = n.engine.records.Exclusive(func(t *record.Txn, _, next uint64) error {
		s.Sequence = next - 1
		root, err := n.engine.tx(t).Directory(hemera.RootID)
		if err == nil {
			s.Totals = root.Tree
		}
		bins, binsErr := n.engine.tx(t).Entry(0, schema.BinName)
		if binsErr != nil || bins == nil {
			return errors.Join(err, binsErr)
		}
		kept, binsErr := n.engine.tx(t).Directory(bins.ID)
		if binsErr == nil {
			s.Recycled = kept.Tree
		}
		return errors.Join(err, binsErr)
	})
	return s
}

// CheckOptions tune a check.
type CheckOptions = nscheck.Options

// Check does what [Inspection.CheckWith] does, for a caller that needs only the problems.
func (n *Inspection) Check(ctx context.Context) (problems []string, err error) {
	report, err := n.CheckWith(ctx, CheckOptions{})
	return report.Problems, err
}

// CheckWith works out again everything that is stored in more than one place and names what does not agree; see
// [nscheck.Run]. It looks at one picture of the store, and changes go on meanwhile.
func (n *Inspection) CheckWith(ctx context.Context, o CheckOptions) (adminapi.NamespaceCheck, error) {
	report, err := nscheck.Run(ctx, n.engine.records, o)
	stats := n.Stats()
	report.WentBack, report.Recycled = stats.WentBack, stats.Recycled
	return report, err
}
