package cluster

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"time"

	"hemera"
	"hemera/auth"
	"hemera/errs"
	"hemera/kv"
)

var _ auth.TokenStore = (*Cluster)(nil)

// tokenKept is how long the record of a token stays after the token's end: whoever comes late with it
// is told that it has expired.
const tokenKept = 24 * time.Hour

// PutToken implements [auth.TokenStore]. Records of tokens that ended long ago go with it.
func (c *Cluster) PutToken(ctx context.Context, id [32]byte, r auth.TokenRecord) error {
	text, err := json.Marshal(r)
	if err != nil {
		return errs.Wrap(err, "cluster.PutToken", "")
	}
	var b kv.Batch
	if err := c.oldTokens(ctx, &b); err != nil {
		return errs.Wrap(err, "cluster.PutToken", "")
	}
	b.Put(tokenKey(id), text)
	ticket, err := c.writer.Enqueue(&b)
	if err == nil {
		err = ticket.Wait(ctx)
	}
	return errs.Wrap(err, "cluster.PutToken", "")
}

// oldTokens puts the removal of records that nobody needs any more into the batch.
func (c *Cluster) oldTokens(ctx context.Context, b *kv.Batch) error {
	lo := []byte(Prefix + "token/")
	before := c.now().Add(-tokenKept)
	return c.store.Scan(ctx, lo, append(bytes.Clone(lo), 0xff), func(key, value []byte) bool {
		var r auth.TokenRecord
		if json.Unmarshal(value, &r) == nil && r.Expires.Before(before) {
			b.Delete(bytes.Clone(key))
		}
		return len(b.Ops) < kv.BatchOps/2
	})
}

// Token implements [auth.TokenStore].
func (c *Cluster) Token(ctx context.Context, id [32]byte) (auth.TokenRecord, error) {
	var r auth.TokenRecord
	text, err := c.store.Get(ctx, tokenKey(id))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, errs.Wrap(err, "cluster.Token", "")
}

// ReserveNode makes an id, and a record, for a node that is being admitted; it registers with that id.
func (c *Cluster) ReserveNode(ctx context.Context) (hemera.NodeID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.next
	rec := nodeRecord{ID: next.Node}
	next.Node++
	var ch change
	ch.put(rec)
	ch.put(next)
	if err := c.commit(ctx, &ch); err != nil {
		return 0, err
	}
	c.publish()
	return rec.ID, nil
}

func tokenKey(id [32]byte) []byte { return []byte(Prefix + "token/" + hex.EncodeToString(id[:])) }
