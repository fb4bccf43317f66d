package etcdjournal

import (
	"context"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"hemera/platform/kv/journal"
	"hemera/platform/pause"
	"hemera/words/errs"
)

// pageEntries is the number of entries that are read at once. Each may have a MiB.
const pageEntries = 8

// follower is one call of Follow.
type follower struct {
	j     *Journal
	next  uint64 // number of the next entry for visit
	visit func(journal.Entry) error
	ended error // of visit, or of an entry that cannot be read; it ends Follow
}

// Follow implements journal.Journal. It reads what is there, then watches from the revision of the read on. When the watch ends, because the member
// has gone, or etcd has removed the history that the watch still needed, it reads again: entries stay until they are trimmed.
func (j *Journal) Follow(ctx context.Context, from uint64, visit func(journal.Entry) error) error {
	f := &follower{j: j, next: from, visit: visit}
	for {
		revision, err := f.read(ctx)
		if err == nil {
			f.watch(ctx, revision+1)
			err = f.ended
		}
		if err == nil {
			err = pause.For(ctx, j.o.Pause)
		}
		if err != nil {
			return errs.Wrap(err, "etcdjournal.Follow", "")
		}
	}
}

// AwaitNewer implements journal.Journal. It looks, then watches from the revision of the look on.
func (j *Journal) AwaitNewer(ctx context.Context, epoch uint64) error {
	const op = "etcdjournal.AwaitNewer"
	for {
		resp, err := j.try(ctx, op, func(ctx context.Context) (*clientv3.TxnResponse, error) {
			return j.kv.Txn(ctx).Then(clientv3.OpGet(j.epochKey()), clientv3.OpGet(j.headKey())).Commit()
		})
		if err != nil {
			return err
		}
		now, _, err := j.state(op, resp)
		if err != nil || now > epoch {
			return err
		}
		watch, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
		<-j.watcher.Watch(watch, j.epochKey(), clientv3.WithRev(resp.Header.Revision+1)) // a change, or the end of the watch: look again
		cancel()
		if err := pause.For(ctx, j.o.Pause); err != nil {
			return errs.Wrap(err, op, "")
		}
	}
}

// read visits the entries that are there, and returns the revision at which there were no more.
func (f *follower) read(ctx context.Context) (revision int64, err error) {
	const op = "etcdjournal.Follow"
	for {
		resp, err := f.j.try(ctx, op, func(ctx context.Context) (*clientv3.TxnResponse, error) {
			return f.j.kv.Txn(ctx).Then(clientv3.OpGet(f.j.epochKey()), clientv3.OpGet(f.j.headKey()),
				clientv3.OpGet(f.j.entries(), clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly()),
				clientv3.OpGet(f.j.entryKey(f.next), clientv3.WithRange(clientv3.GetPrefixRangeEnd(f.j.entries())), clientv3.WithLimit(pageEntries))).Commit()
		})
		if err != nil {
			return 0, err
		}
		b, err := f.j.bounds(op, resp)
		switch {
		case err != nil:
			return 0, err
		case f.next < b.First:
			return 0, journal.Trimmed(op, b)
		case f.next > b.Last.Seq+1:
			return 0, journal.Ahead(op, f.next, b)
		}
		page := resp.Responses[3].GetResponseRange().Kvs
		if len(page) == 0 {
			return resp.Header.Revision, nil
		}
		for _, entry := range page {
			if !f.take(entry.Key, entry.Value) {
				return 0, f.gap()
			}
		}
	}
}

// gap returns the error of visit, or that of a journal that lacks an entry in its middle.
func (f *follower) gap() error {
	if f.ended != nil {
		return f.ended
	}
	return errs.New(errs.Corrupt, "etcdjournal.Follow", f.j.entryKey(f.next), "an entry of the journal is missing")
}

// watch visits the entries that come, until the watch ends or visit fails.
func (f *follower) watch(ctx context.Context, revision int64) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx)) // a member without a leader lets another one answer
	defer cancel()
	for events := range f.j.watcher.Watch(ctx, f.j.entries(), clientv3.WithPrefix(), clientv3.WithRev(revision), clientv3.WithFilterDelete()) {
		if events.Err() != nil {
			return
		}
		for _, event := range events.Events {
			if !f.take(event.Kv.Key, event.Kv.Value) {
				return
			}
		}
	}
}

// take visits the next entry, and skips one that was visited. It reports false if visit failed, or if entries between are missing.
func (f *follower) take(key, raw []byte) bool {
	if !strings.HasPrefix(string(key), f.j.entries()) {
		return true
	}
	seq, err := f.j.seqOf(key)
	if err != nil {
		f.ended = err
		return false
	}
	if seq != f.next {
		return seq < f.next
	}
	e, p, err := journal.Decode(raw)
	if err == nil && p.Seq != seq {
		err = errs.New(errs.Corrupt, "etcdjournal.Follow", string(key), "the entry has another number in its head")
	}
	if err == nil {
		err = f.visit(e)
	}
	if err != nil {
		f.ended = err
		return false
	}
	f.next++
	return true
}
