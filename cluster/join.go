package cluster

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/kv"
)

// NewNode reserves the id of a node that is being admitted. It is in no view until the node has
// registered with it.
func (c *Cluster) NewNode(ctx context.Context) (hemera.NodeID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rec, next := nodeRecord{ID: c.next.Node}, c.next
	next.Node++
	var ch change
	ch.put(rec)
	ch.put(next)
	return rec.ID, c.commit(ctx, &ch)
}

// PutToken stores what whoever admits nodes must know of a join token, under the token's hash, and
// drops tokens that have expired. The record is at most 64 KiB and not looked into.
func (c *Cluster) PutToken(ctx context.Context, id [32]byte, expires time.Time, record []byte) error {
	const op = "cluster.PutToken"
	if len(record) > 64<<10 {
		return errs.New(errs.TooLarge, op, "", "the token's record is above 64 KiB")
	}
	text, err := json.Marshal(tokenRecord{Expires: expires, Record: record})
	if err != nil {
		return errs.Wrap(err, op, "")
	}
	var b kv.Batch
	if err := c.expiredTokens(ctx, &b); err != nil {
		return errs.Wrap(err, op, "")
	}
	b.Put(tokenKey(id), text)
	ticket, err := c.writer.Enqueue(&b)
	if err == nil {
		err = ticket.Wait(ctx)
	}
	return errs.Wrap(err, op, "")
}

// expiredTokens adds the deletion of some expired tokens to the batch.
func (c *Cluster) expiredTokens(ctx context.Context, b *kv.Batch) error {
	lo, now := []byte(Prefix+"token/"), c.now()
	hi := []byte(Prefix + "token0")
	return c.store.Scan(ctx, lo, hi, func(key, value []byte) bool {
		var r tokenRecord
		if json.Unmarshal(value, &r) != nil || now.After(r.Expires) {
			b.Delete(append([]byte(nil), key...))
		}
		return len(b.Ops) < 100
	})
}

// Token returns the record of a join token. NotFound when there is none or it has expired.
func (c *Cluster) Token(ctx context.Context, id [32]byte) ([]byte, error) {
	unknown := errs.New(errs.NotFound, "cluster.Token", "", "the join token is unknown or has expired").
		WithRemedy("make a new one with `hemera token create`")
	text, err := c.store.Get(ctx, tokenKey(id))
	if errors.Is(err, errs.NotFound) {
		return nil, unknown
	}
	if err != nil {
		return nil, errs.Wrap(err, "cluster.Token", "")
	}
	var r tokenRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, errs.Wrap(err, "cluster.Token", "")
	}
	if c.now().After(r.Expires) {
		return nil, unknown
	}
	return r.Record, nil
}

func tokenKey(id [32]byte) []byte { return []byte(Prefix + "token/" + hex.EncodeToString(id[:])) }
