// Package etcdjournal is a journal in etcd: three managers have a member in their own process ([Start]), or a site has a cluster of its own.
//
// # Keys
//
// Below a prefix there are "epoch", the number of the writer; "owner", its name; "head", the position of the last entry; and
// "entry/" with the number in hexadecimal, for each entry.
//
// An append is one transaction: if epoch is mine and head is the entry before mine, put the entry and head. etcd decides it on one
// machine and repeats it on the others in the same order, so a fenced writer gets nothing in. If the condition does not hold, the same
// transaction reads the three keys, and [judge] tells a refusal from an earlier try whose answer was lost.
//
// # Repeats
//
// A proposal that got no answer may still be carried out, so an entry that is not there now says nothing. Append therefore repeats the same
// transaction until it is decided: once it is carried out, all others of it do nothing. Each try has a limit of its own, as etcd
// answers a proposal that a dead leader took with it only after seconds.
package etcdjournal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"hemera/platform/kv/journal"
	"hemera/platform/pause"
	"hemera/words/errs"
)

// Options has the settings of a journal.
type Options struct {
	// Prefix begins all keys; "" is "hemera/journal/". Two clusters of Hemera that share one etcd have different ones.
	Prefix string
	// TryTime limits one try of a transaction; 0 is 2 s. It is longer than an election.
	TryTime time.Duration
	// Pause is the time between two tries; 0 is 20 ms.
	Pause time.Duration
}

// Journal implements [journal.Journal] on a client of etcd, which it does not close.
type Journal struct {
	kv      clientv3.KV
	watcher clientv3.Watcher
	o       Options
}

var _ journal.Journal = (*Journal)(nil)

// New returns the journal that etcd has below the prefix. It does not ask etcd.
func New(kv clientv3.KV, watcher clientv3.Watcher, o Options) *Journal {
	if o.Prefix == "" {
		o.Prefix = "hemera/journal/"
	}
	if o.TryTime == 0 {
		o.TryTime = 2 * time.Second
	}
	if o.Pause == 0 {
		o.Pause = 20 * time.Millisecond
	}
	return &Journal{kv: kv, watcher: watcher, o: o}
}

// Names of keys, below the prefix.
func (j *Journal) epochKey() string           { return j.o.Prefix + "epoch" }
func (j *Journal) ownerKey() string           { return j.o.Prefix + "owner" }
func (j *Journal) headKey() string            { return j.o.Prefix + "head" }
func (j *Journal) entries() string            { return j.o.Prefix + "entry/" }
func (j *Journal) entryKey(seq uint64) string { return fmt.Sprintf("%s%016x", j.entries(), seq) }

// Create implements journal.Journal. The beginning has a random sum, so that the chains of two journals never agree.
func (j *Journal) Create(ctx context.Context, after uint64) error {
	begin := formatHead(journal.Position{Seq: after, Chain: random()})
	resp, err := j.try(ctx, "etcdjournal.Create", func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return j.kv.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(j.headKey()), "=", 0)).
			Then(clientv3.OpPut(j.headKey(), begin), clientv3.OpPut(j.epochKey(), "0")).
			Else(clientv3.OpGet(j.headKey())).Commit()
	})
	if err != nil {
		return err
	}
	if !resp.Succeeded && string(value(resp, 0)) != begin { // equal: an earlier try of this call, whose answer was lost
		return errs.New(errs.Exists, "etcdjournal.Create", j.o.Prefix, "etcd has a journal there already")
	}
	return nil
}

// Begin implements journal.Journal. A try whose answer was lost costs an epoch, which does no harm.
func (j *Journal) Begin(ctx context.Context, owner string) (epoch uint64, last journal.Position, err error) {
	const op = "etcdjournal.Begin"
	state := []clientv3.Op{clientv3.OpGet(j.epochKey()), clientv3.OpGet(j.headKey())}
	for {
		next := formatNumber(epoch + 1)
		resp, err := j.try(ctx, op, func(ctx context.Context) (*clientv3.TxnResponse, error) {
			return j.kv.Txn(ctx).
				If(clientv3.Compare(clientv3.Value(j.epochKey()), "=", formatNumber(epoch))).
				Then(append(state, clientv3.OpPut(j.epochKey(), next), clientv3.OpPut(j.ownerKey(), owner))...).
				Else(state...).Commit()
		})
		if err != nil {
			return 0, journal.Position{}, err
		}
		found, last, err := j.state(op, resp)
		if err != nil {
			return 0, journal.Position{}, err
		}
		if resp.Succeeded {
			return epoch + 1, last, nil
		}
		epoch = found
	}
}

// state reads epoch and head from the first two answers of a transaction. NotFound if there is no journal.
func (j *Journal) state(op string, resp *clientv3.TxnResponse) (epoch uint64, last journal.Position, err error) {
	rawEpoch, rawHead := value(resp, 0), value(resp, 1)
	if rawEpoch == nil || rawHead == nil {
		return 0, last, errs.New(errs.NotFound, op, j.o.Prefix, "etcd has no journal there")
	}
	epoch, err = strconv.ParseUint(string(rawEpoch), 10, 64)
	if err == nil {
		last, err = parseHead(string(rawHead))
	}
	return epoch, last, errs.As(err, errs.Corrupt, op, j.o.Prefix)
}

// Append implements journal.Journal.
func (j *Journal) Append(ctx context.Context, e journal.Entry) error {
	const op = "etcdjournal.Append"
	encoded, err := e.Encode()
	if err != nil {
		return err
	}
	mine := journal.Position{Seq: e.Seq, Chain: journal.Sum(encoded), Epoch: e.Epoch}
	key, text := j.entryKey(e.Seq), string(encoded)
	resp, err := j.try(ctx, op, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return j.kv.Txn(ctx).
			If(clientv3.Compare(clientv3.Value(j.epochKey()), "=", formatNumber(e.Epoch)),
				clientv3.Compare(clientv3.CreateRevision(key), "=", 0),
				// The epoch of the entry before is not known here, so head has it last, and the comparison is of the range of values with this
				// beginning.
				clientv3.Compare(clientv3.Value(j.headKey()), ">", headOf(e.Seq-1, e.Prev)),
				clientv3.Compare(clientv3.Value(j.headKey()), "<", headOf(e.Seq-1, e.Prev)+"~")).
			Then(clientv3.OpPut(key, text), clientv3.OpPut(j.headKey(), formatHead(mine))).
			Else(clientv3.OpGet(j.epochKey()), clientv3.OpGet(j.headKey()), clientv3.OpGet(key)).Commit()
	})
	if err != nil || resp.Succeeded {
		return err
	}
	epoch, last, err := j.state(op, resp)
	if err != nil {
		return err
	}
	return judge(mine, e.Prev, found{epoch: epoch, last: last, entry: value(resp, 2)})
}

// Bounds implements journal.Journal.
func (j *Journal) Bounds(ctx context.Context) (journal.Bounds, error) {
	resp, err := j.try(ctx, "etcdjournal.Bounds", func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return j.kv.Txn(ctx).Then(clientv3.OpGet(j.epochKey()), clientv3.OpGet(j.headKey()),
			clientv3.OpGet(j.entries(), clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly())).Commit()
	})
	if err != nil {
		return journal.Bounds{}, err
	}
	return j.bounds("etcdjournal.Bounds", resp)
}

// bounds reads the bounds from a transaction that got epoch, head and the oldest entry.
func (j *Journal) bounds(op string, resp *clientv3.TxnResponse) (b journal.Bounds, err error) {
	if b.Epoch, b.Last, err = j.state(op, resp); err != nil {
		return b, err
	}
	b.First = b.Last.Seq + 1
	if oldest := resp.Responses[2].GetResponseRange().Kvs; len(oldest) > 0 {
		b.First, err = j.seqOf(oldest[0].Key)
	}
	return b, err
}

// seqOf returns the number in the key of an entry.
func (j *Journal) seqOf(key []byte) (uint64, error) {
	seq, err := strconv.ParseUint(string(key[len(j.entries()):]), 16, 64)
	return seq, errs.As(err, errs.Corrupt, "etcdjournal.Follow", string(key))
}

// trimStep bounds the entries that one transaction removes.
const trimStep = 1000

// Trim implements journal.Journal. It compacts etcd's history too, without which etcd would keep the removed entries. A reader that is behind gets
// what is still there: Follow reads again if etcd has lost its place. Trim waits until the member that answers has removed the entries.
func (j *Journal) Trim(ctx context.Context, below uint64) error {
	const op = "etcdjournal.Trim"
	b, err := j.Bounds(ctx)
	if err != nil {
		return err
	}
	below = min(below, b.Last.Seq+1)
	for first := b.First; first < below; {
		upTo := min(first+trimStep, below)
		resp, err := j.try(ctx, op, func(ctx context.Context) (*clientv3.TxnResponse, error) {
			return j.kv.Txn(ctx).Then(clientv3.OpDelete(j.entryKey(first), clientv3.WithRange(j.entryKey(upTo)))).Commit()
		})
		if err != nil {
			return err
		}
		first = upTo
		if _, err := j.kv.Compact(ctx, resp.Header.Revision, clientv3.WithCompactPhysical()); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
			return errs.As(err, kindOf(err), op, "")
		}
	}
	return nil
}

// try runs a transaction until it has an answer that decides, or ctx ends. The transaction must be one that does nothing when it is repeated.
func (j *Journal) try(ctx context.Context, op string, run func(context.Context) (*clientv3.TxnResponse, error)) (*clientv3.TxnResponse, error) {
	for {
		once, cancel := context.WithTimeout(ctx, j.o.TryTime)
		resp, err := run(once)
		cancel()
		if err == nil {
			return resp, nil
		}
		if ctx.Err() != nil { // that of the caller
			return nil, errs.As(err, errs.KindOf(ctx.Err()), op, "")
		}
		if kind := kindOf(err); kind != errs.Unavailable {
			return nil, errs.As(err, kind, op, "")
		}
		if err := pause.For(ctx, j.o.Pause); err != nil {
			return nil, errs.As(err, errs.KindOf(ctx.Err()), op, "")
		}
	}
}

// value returns the value that the nth request of a transaction got, nil without one.
func value(resp *clientv3.TxnResponse, n int) []byte {
	if kvs := resp.Responses[n].GetResponseRange().Kvs; len(kvs) > 0 {
		return kvs[0].Value
	}
	return nil
}
