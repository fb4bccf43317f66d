package nscheck

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/platform/kv"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// problemsMax bounds how many problems a check spells out.
	problemsMax = 1000 // the rest are counted
	// bucketsNamed bounds the buckets of each index for which a check names the records that differ.
	bucketsNamed = 16
)

// Options tune a check.
type Options struct {
	Workers int // goroutines; 0: half of the processors, so that other work goes on
	// Progress, if not nil, is called a few times a second, by one goroutine at a time.
	Progress func(adminapi.NamespaceCheck)
}

// Run works out again everything that is stored in more than one place (tree totals, locations,
// disk lists, usage, the index of incomplete files, quota accounts, cached records) and names what does not agree. It looks
// at one picture of the store and blocks no change. All tables are read from end to end, and nothing is
// looked up but pieces to remove and cached records. Memory is 52 bytes a directory and a few MiB.
func Run(ctx context.Context, records *record.Store, o Options) (adminapi.NamespaceCheck, error) {
	// Half of the processors: a check runs beside a manager that serves clients.
	if o.Workers <= 0 {
		o.Workers = max(1, runtime.NumCPU()/2)
	}
	c := &checker{records: records, ctx: ctx, options: o, started: time.Now(), disks: make(map[hemera.DiskID]schema.Usage)}
	if err := c.begin(); err != nil {
		return adminapi.NamespaceCheck{}, errs.Wrap(err, "namespace.Check", "")
	}
	defer func() { _ = c.view.Close() }()
	// An error is one of the store: what does not agree is a problem, and the passes go on.
	for _, pass := range c.passes() {
		if err := pass(); err != nil {
			return c.report(), errs.Wrap(err, "namespace.Check", "")
		}
	}
	c.done = true
	return c.report(), nil
}

// passes returns the passes of a check, in order: the entries give what the later passes compare.
func (c *checker) passes() []func() error {
	return []func() error{c.directories, c.entries, c.tree, c.states, c.unlinked, c.held, c.barred, c.renamed, c.broken, c.tapes, c.usages, c.eventLog, c.quotas, c.cached}
}

// checker is one check in progress. The passes run one after the other; only the entry pass has several
// goroutines, which share what is below mu, and the columns of dirs (see dirTable).
type checker struct {
	records *record.Store
	ctx     context.Context
	options Options
	started time.Time
	view    kv.Snapshot // the picture; closed at the end

	// The store's own variables, as they belong to view.
	first, next uint64 // of the event log
	counters    record.Counters

	unlinkedSeen int64  // pieces to remove that were read
	ids          uint64 // the end of the reserved ids: all are smaller
	total        int64  // records to read, about

	dirs  dirTable
	disks map[hemera.DiskID]schema.Usage // counted
	found counts

	mu      sync.Mutex
	seen    adminapi.NamespaceCheck // Records and problems
	said    time.Time               // of the last progress
	done    bool                    // all passes ended
	listing []string                // problems in words, up to problemsMax
}

// begin takes the picture that the check is of. The counters and the bounds of the log are read at the same
// instant, while nothing is sent, so that they belong to the picture.
func (c *checker) begin() error {
	err := c.records.Exclusive(func(_ *record.Txn, first, next uint64) (err error) {
		c.first, c.next = first, next
		for i := range c.counters {
			c.counters[i] = c.records.Counter(i)
		}
		c.view, err = c.records.Engine().Snapshot(c.ctx)
		return err
	})
	if err != nil {
		return err
	}
	if err = c.estimate(); err != nil {
		_ = c.view.Close()
	}
	return err
}

// estimate reads how much there is to do, from totals that may be wrong, and up to where ids go.
func (c *checker) estimate() error {
	raw, err := c.view.GetMany(c.ctx, [][]byte{schema.MetaKey(schema.MetaIDs), schema.IDKey(schema.TableDirectory, hemera.RootID)})
	if err != nil {
		return err
	}
	if len(raw[0]) != 16 {
		c.problem("the reserve of ids is damaged")
	} else {
		c.ids = schema.Uint64At(raw[0], 0)
	}
	// A file has an entry and a location, a directory its totals as well; events and quotas are few beside them.
	if s, err := schema.DecodeDirectory(nil, raw[1]); err == nil {
		c.total = 2*s.Tree.Files + 4*(s.Tree.Dirs+1)
	}
	return c.scan(schema.TableKey(schema.TableUsage), func(k, raw []byte) error {
		if u, err := schema.DecodeUsage(k, raw); err == nil {
			c.total += u.Pieces + u.Unlinked + u.Held
		}
		return nil
	})
}

// problem notes what does not agree. All problems are counted, the first thousand are spelled out.
func (c *checker) problem(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.ProblemCount++
	if len(c.listing) < problemsMax {
		c.listing = append(c.listing, fmt.Sprintf(format, args...))
	}
}

// report returns the problems found so far.
func (c *checker) report() adminapi.NamespaceCheck {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.seen
	out.Files, out.Dirs, out.Pieces = c.found.files, max(0, c.found.dirs-1), c.found.pieces // totals leave the root out
	out.RecordsTotal, out.Took, out.Done = max(c.total, out.Records), time.Since(c.started), c.done
	if c.done { // the passes change it without the lock
		out.Leaving = c.unlinkedSeen
	}
	// The slice is capped: problems that are found later are appended to a copy.
	out.Problems = c.listing[:len(c.listing):len(c.listing)]
	return out
}

// sayEvery is the time between two calls of Progress. batchOf is the number of records that a scan visits between
// two readings of the clock.
const (
	sayEvery = 200 * time.Millisecond
	batchOf  = 1 << 13
)

// visited counts records, and reports progress a few times a second.
func (c *checker) visited(records int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.Records += records
	if c.options.Progress == nil || time.Since(c.said) < sayEvery {
		return
	}
	c.said = time.Now()
	out := c.seen
	out.RecordsTotal, out.Took = max(c.total, out.Records), time.Since(c.started)
	c.options.Progress(out)
}

// scan visits all records with a prefix; a damaged record is a problem, not an end.
func (c *checker) scan(prefix []byte, visit func(k, raw []byte) error) error {
	return c.scanRange(c.ctx, prefix, schema.PrefixEnd(prefix), visit)
}

// scanRange visits the records of a range, counts them, and ends with the first error of visit.
func (c *checker) scanRange(ctx context.Context, lo, hi []byte, visit func(k, raw []byte) error) error {
	var failed error
	records := int64(0)
	err := c.view.Scan(ctx, lo, hi, func(k, raw []byte) bool {
		if records++; records == batchOf {
			c.visited(records)
			records = 0
		}
		failed = visit(k, raw)
		return failed == nil
	})
	c.visited(records)
	if err == nil {
		err = failed
	}
	return err
}

// keyed does what scan does, for a table whose keys all have one length; other keys are problems.
func (c *checker) keyed(prefix []byte, length int, visit func(k, raw []byte) error) error {
	return c.scan(prefix, func(k, raw []byte) error {
		if len(k) != length {
			c.problem("key %x does not have %d bytes", k, length)
			return nil
		}
		return visit(k, raw)
	})
}
