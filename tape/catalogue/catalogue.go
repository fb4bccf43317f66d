package catalogue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/tape/tapeconfig"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Catalogue has the manager's records of tapes, their files and jobs. Its methods may be called from any goroutine.
type Catalogue struct {
	records *record.Store
	// settings may change at any time: a transaction uses those that hold while it runs.
	settings atomic.Pointer[tapeconfig.Settings]
	numbers  *record.Numbers // of files, contents and generations
	life     uint64          // the number of the store's life: a restore and a rebuild begin another one, with a higher number
	tree     Tree
}

// New makes the catalogue over the namespace's records and numbers, in a life of the store. The tree makes the directories of what
// comes back from tapes.
func New(records *record.Store, numbers *record.Numbers, life uint64, tree Tree) *Catalogue {
	return &Catalogue{records: records, numbers: numbers, life: life, tree: tree}
}

// Adopt has settings hold from the next change of an entry or a job on. Its caller hands them over one after the other.
func (c *Catalogue) Adopt(s *tapeconfig.Settings) { c.settings.Store(s) }

// Settings returns the settings that hold now. They are nil without a tape tier: then nothing is archived, and jobs have
// no mount policy.
func (c *Catalogue) Settings() *tapeconfig.Settings { return c.settings.Load() }

// update runs a change.
func (c *Catalogue) update(ctx context.Context, fn func(t Txn) error) error {
	return c.records.Update(ctx, func(t *record.Txn) error { return fn(txnOf(t)) })
}

// Config returns the configuration as it was stored; nil when there is none.
func (c *Catalogue) Config(ctx context.Context) ([]byte, error) {
	raw, err := c.records.Engine().Get(ctx, schema.MetaKey(schema.MetaTapes))
	if errors.Is(err, errs.NotFound) {
		return nil, nil
	}
	return raw, err
}

// PutConfig stores the configuration of settings, and has them hold once they are durable: a commit must not queue for a pool that a
// restart forgets.
func (c *Catalogue) PutConfig(ctx context.Context, s *tapeconfig.Settings) error {
	raw, err := json.Marshal(s.Config)
	if err != nil {
		return errs.Wrap(err, "tapes.PutConfig", "")
	}
	err = c.update(ctx, func(t Txn) error {
		t.Set(schema.MetaKey(schema.MetaTapes), record.Opaque{}, raw)
		return nil
	})
	if err == nil {
		c.Adopt(s)
	}
	return err
}

// PutScans stores what the tape tier knows of scans, by VID, in one change; nil forgets a scan. The
// tape of a scan need not be in the catalogue. The records are the tier's own.
func (c *Catalogue) PutScans(ctx context.Context, scans map[hemera.VID][]byte) error {
	return c.update(ctx, func(t Txn) error {
		for _, vid := range slices.Sorted(maps.Keys(scans)) {
			k := schema.TapeKey(schema.TableScan, vid)
			if scans[vid] == nil {
				t.Remove(k)
				continue
			}
			t.Set(k, record.Opaque{}, scans[vid])
		}
		return nil
	})
}

// Scans lists what PutScans has stored, by VID.
func (c *Catalogue) Scans(ctx context.Context) (out [][]byte, err error) {
	prefix := schema.TableKey(schema.TableScan)
	err = scan(ctx, c, prefix, schema.PrefixEnd(prefix), func(_, raw []byte) (bool, error) {
		out = append(out, slices.Clone(raw))
		return true, nil
	})
	return out, err
}

// ChangeTape changes a tape, adds it when there is none, or removes it when change returns nil. Of
// the counts and the last fSeq, which follow from what was written, it keeps what there is.
// NotEmpty for a tape to remove that has files, of removed contents too.
func (c *Catalogue) ChangeTape(ctx context.Context, vid hemera.VID, change func(old *tapeapi.Tape) (*tapeapi.Tape, error)) error {
	// A longer name has the key of the tape that it begins with.
	if len(vid) > schema.VIDMax {
		return refuse(errs.NotFound, "ChangeTape", string(vid), fmt.Sprintf("no tape has this name: a VID has at most %d characters", schema.VIDMax)).WithRemedy("see `hemera tape tape ls`")
	}
	// Outside of the change, which cannot walk a table. A file that is written meanwhile fails to be
	// recorded then, as its tape is gone.
	files, err := c.Files(ctx, vid, 0, 1, true)
	if err != nil {
		return err
	}
	return c.update(ctx, func(t Txn) error {
		old, err := t.Tape(vid)
		if err != nil {
			return err
		}
		now, err := change(old)
		switch {
		case err != nil:
			return err
		case now == nil && len(files) > 0:
			return refuse(errs.NotEmpty, "ChangeTape", string(vid), "the tape has files").WithRemedy("repack and reclaim it first: `hemera tape repack " + string(vid) + "`")
		case now == nil:
			t.Remove(schema.TapeKey(schema.TableTape, vid))
			return nil
		}
		// What the tape holds is not for people to change.
		// The name is that of the key, whatever the caller left in the value.
		changed := *now
		changed.Life, changed.VID = c.firstLife(), vid
		if old != nil {
			changed.Files, changed.Bytes = old.Files, old.Bytes
			changed.LastFSeq, changed.LastID, changed.Occupancy, changed.Foreign = old.LastFSeq, old.LastID, old.Occupancy, old.Foreign
			changed.Life, changed.Inferred, changed.ReclaimedFSeq, changed.ReclaimedID = old.Life, old.Inferred, old.ReclaimedFSeq, old.ReclaimedID
			changed.UnreadFSeq = old.UnreadFSeq
			if labelled := changed.Labelled.After(old.Labelled); labelled && old.LastFSeq == 0 {
				// A label is written to a tape without files, or by force: nothing of another life is on it.
				changed.Life, changed.ReclaimedFSeq, changed.ReclaimedID = c.life, 0, 0
			}
		}
		return t.putTape(&changed)
	})
}

// firstLife returns the life of a tape that is added: one before all others while the namespace may have lost files, as the tape may have them.
func (c *Catalogue) firstLife() uint64 {
	if c.tree.Restored() {
		return 0
	}
	return c.life
}

// unscanned says why a tape waits for a scan, "" for one that does not.
func (c *Catalogue) unscanned(t *tapeapi.Tape) string {
	switch {
	case t.Doubt != "":
		return t.Doubt
	case t.Life < c.life:
		return "the store was restored or rebuilt, and the tape was not scanned since"
	}
	return ""
}

// reclaimBatch is the number of rows that one change removes.
const reclaimBatch = 1000

// Reclaim forgets what a full tape without live files held, so that it is written from its
// beginning again. Up to lose files may go that only scans call removed. NotEmpty, NotFound, Conflict when it is not full, or
// waits for a scan.
func (c *Catalogue) Reclaim(ctx context.Context, vid hemera.VID, lose int64) error {
	// Again until a batch is not full: what is left is less then.
	for {
		rows, err := c.Files(ctx, vid, 0, reclaimBatch, true)
		if err != nil {
			return err
		}
		err = c.update(ctx, func(t Txn) error {
			tape, err := t.Tape(vid)
			switch {
			case err != nil:
				return err
			case tape == nil:
				return refuse(errs.NotFound, "Reclaim", string(vid), "the tape is not in the catalogue")
			case tape.Files > 0:
				return refuse(errs.NotEmpty, "Reclaim", string(vid), "the tape still has files").WithRemedy("move them away: `hemera tape repack " + string(vid) + "`")
			case !tape.Full:
				return refuse(errs.Conflict, "Reclaim", string(vid), "the tape is not full").WithRemedy("`hemera tape tape set " + string(vid) + " full=true` when it shall be written from its beginning")
			case c.unscanned(tape) != "":
				return refuse(errs.Conflict, "Reclaim", string(vid), "the tape is not reclaimed: "+c.unscanned(tape)).WithRemedy("scan it first: `hemera tape scan " + string(vid) + "`")
			// Batches before this one may have removed some of them already.
			case tape.Inferred > lose:
				return refuse(errs.NotEmpty, "Reclaim", string(vid), fmt.Sprintf("%d of its files are in no directory, and no removal of them is known", tape.Inferred)).
					WithRemedy(fmt.Sprintf("bring them back: `hemera tape undelete --tape %s`; or lose them: `hemera tape reclaim %s --lose %d`", vid, vid, tape.Inferred))
			}
			// In batches: a tape has millions of files, and other changes wait for a batch.
			for _, f := range rows {
				t.Remove(schema.TapeFileKey(vid, f.FSeq, f.Member))
			}
			// The last batch: only now the tape counts as empty, so a crash in between repeats the rest.
			if len(rows) < reclaimBatch {
				empty := *tape
				empty.ReclaimedFSeq, empty.ReclaimedID = empty.LastFSeq, empty.LastID
				empty.LastFSeq, empty.LastID, empty.Occupancy, empty.Full, empty.Inferred = 0, 0, 0, false, 0
				empty.Key, empty.Foreign, empty.UnreadFSeq, empty.ReturnFSeq = "", false, 0, 0
				return t.putTape(&empty)
			}
			return nil
		})
		if err != nil || len(rows) < reclaimBatch {
			return err
		}
	}
}

// Tapes lists all tapes, by VID.
func (c *Catalogue) Tapes(ctx context.Context) (out []tapeapi.Tape, err error) {
	prefix := schema.TableKey(schema.TableTape)
	err = scan(ctx, c, prefix, schema.PrefixEnd(prefix), func(k, raw []byte) (bool, error) {
		t, err := schema.DecodeTape(k, raw)
		if err == nil {
			t.Unscanned = c.unscanned(t)
			out = append(out, *t)
		}
		return true, err
	})
	return out, err
}

// Files lists what is on a tape, by fSeq from the one after after; with dead also what was removed
// from the tree. It may be longer than limit by the members of the last container.
func (c *Catalogue) Files(ctx context.Context, vid hemera.VID, after uint64, limit int, dead bool) (out []tapeapi.File, err error) {
	if len(vid) > schema.VIDMax {
		return nil, nil
	}
	lo, hi := tapeFileKeys(vid, after)
	err = scan(ctx, c, lo, hi, func(k, raw []byte) (bool, error) {
		f, err := schema.DecodeTapeFile(k, raw)
		if err != nil {
			return false, err
		}
		// Members of a container share an fSeq, and callers go on behind one: all of them are in one answer.
		if n := len(out); n > 0 && n >= limit && out[n-1].FSeq != f.FSeq {
			return false, nil
		}
		if dead || f.Dead == nil {
			out = append(out, *f)
		}
		return true, nil
	})
	return out, err
}

// Queue has the jobs of one user in a queue.
type Queue struct {
	Kind   tapeapi.JobKind
	Failed bool   // its jobs are not tried again by themselves
	Name   string // of the pool, or the VID
	UID    uint32 // whose jobs they are
	// Policies are the mount policies of the jobs by name, "" for that of jobs without one. There may be
	// policies that were removed since.
	Policies []string
	schema.QueueSum
	// Oldest is the time from which the first of them may be done, or could have been.
	Oldest time.Time
}

// is reports whether two have the jobs of one user in one queue.
func (q *Queue) is(o Queue) bool {
	return q.Kind == o.Kind && q.Failed == o.Failed && q.Name == o.Name && q.UID == o.UID
}

// Queues lists all queues by user. It reads one record for each user and policy, and one more for the oldest job of a user.
func (c *Catalogue) Queues(ctx context.Context) (out []Queue, err error) {
	prefix := schema.TableKey(schema.TableQueue)
	err = scan(ctx, c, prefix, schema.PrefixEnd(prefix), func(k, raw []byte) (bool, error) {
		sum, err := schema.DecodeQueueSum(k, raw)
		if err != nil {
			return false, err
		}
		at, err := schema.QueueOf(k)
		q := Queue{Kind: tapeapi.JobKind(at.Kind &^ schema.FailedJobs), Failed: at.Kind&schema.FailedJobs != 0, Name: at.Name, UID: at.UID}
		// The policies of a user are neighbours.
		if n := len(out); n == 0 || !out[n-1].is(q) {
			out = append(out, q)
		}
		last := &out[len(out)-1]
		last.Files, last.Bytes, last.Policies = last.Files+sum.Files, last.Bytes+sum.Bytes, append(last.Policies, at.Policy)
		return true, err
	})
	// The first job of each is a read of one key: the time is not stored with the sum, since the first
	// job changes with every one that is done.
	for i := range out {
		if err != nil {
			break
		}
		var first []schema.Order
		if first, _, err = c.orders(ctx, out[i], nil, 1); len(first) > 0 {
			out[i].Oldest = first[0].From
		}
	}
	return out, err
}

// orders lists the first jobs of a user's queue, or those behind a key, and the key of the last.
func (c *Catalogue) orders(ctx context.Context, q Queue, after []byte, limit int) (out []schema.Order, last []byte, err error) {
	kind := uint8(q.Kind)
	if q.Failed {
		kind += schema.FailedJobs
	}
	prefix := schema.UserQueueKey(schema.TableJobOrder, kind, q.Name, q.UID)
	lo := prefix // all of them, unless a walk goes on
	if after != nil {
		lo = append(after, 0)
	}
	err = scan(ctx, c, lo, schema.PrefixEnd(prefix), func(k, _ []byte) (bool, error) {
		o, err := schema.OrderOf(k)
		out, last = append(out, o), append(last[:0], k...)
		return len(out) < limit, err
	})
	return out, last, err
}

// Jobs lists up to limit jobs of a user's queue in their order, those that take counts first. Jobs
// that take refuses are passed over.
func (c *Catalogue) Jobs(ctx context.Context, q Queue, limit int, take func(tapeapi.JobKey) bool) (out []tapeapi.Job, err error) {
	// A page is what one read of the store brings; sessions ask for about as many.
	const page = 1000
	var after []byte
	for len(out) < limit {
		orders, last, err := c.orders(ctx, q, after, page)
		if err != nil {
			return out, err
		}
		// Jobs that a session has already stay in the order until they are done.
		keys := make([][]byte, 0, len(orders))
		for _, o := range orders {
			if take == nil || take(o.Job) {
				keys = append(keys, schema.JobKey(o.Job))
			}
		}
		raws, err := c.records.Engine().GetMany(ctx, keys)
		if err != nil {
			return out, err
		}
		for i, raw := range raws {
			if raw == nil || len(out) >= limit {
				continue // done since the order was read
			}
			j, err := schema.DecodeJob(keys[i], raw)
			if err != nil {
				return out, schema.Damaged(keys[i], err)
			}
			out = append(out, *j)
		}
		if len(orders) < page {
			break
		}
		// By key and not by time: an order of an admin queues thousands of jobs at one instant.
		after = last
	}
	return out, c.records.Settle(ctx)
}

// Job returns a job, nil when there is none.
func (c *Catalogue) Job(ctx context.Context, k tapeapi.JobKey) (*tapeapi.Job, error) {
	// Jobs are not cached: each is read a few times in its life.
	raw, err := c.records.Engine().GetMany(ctx, [][]byte{schema.JobKey(k)})
	if err != nil || raw[0] == nil {
		return nil, err
	}
	j, err := schema.DecodeJob(nil, raw[0])
	if err != nil {
		return nil, err
	}
	return j, c.records.Settle(ctx)
}

// JobsOf reads all jobs of a file, by kind and copy.
func (c *Catalogue) JobsOf(ctx context.Context, id hemera.FileID) (out []tapeapi.Job, err error) {
	for _, kind := range []tapeapi.JobKind{tapeapi.Archive, tapeapi.Recall, tapeapi.Repack, tapeapi.Verify} {
		for number := range uint8(hemera.TapeCopiesMax) {
			j, err := c.Job(ctx, tapeapi.JobKey{File: id, Kind: kind, Copy: number + 1})
			if err != nil {
				return out, err
			}
			if j != nil {
				out = append(out, *j)
			}
		}
	}
	return out, nil
}

// scan visits a range of the store until visit says that it is enough, and waits until what it saw
// is durable.
func scan(ctx context.Context, c *Catalogue, lo, hi []byte, visit func(k, raw []byte) (more bool, err error)) error {
	var bad error // of a record; the walk ends there
	err := c.records.Engine().Scan(ctx, lo, hi, func(k, raw []byte) bool {
		more, err := visit(k, raw)
		if err != nil {
			bad = schema.Damaged(slices.Clone(k), err)
		}
		return more && err == nil
	})
	if err = errors.Join(err, bad); err != nil {
		return err
	}
	return c.records.Settle(ctx)
}
