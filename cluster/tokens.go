package cluster

import (
	"context"
	"encoding/hex"
	"encoding/json"

	"hemera"
	"hemera/auth"
	"hemera/errs"
	"hemera/kv"
)

var _ auth.TokenStore = (*Cluster)(nil)

// PutToken implements [auth.TokenStore].
func (c *Cluster) PutToken(ctx context.Context, id [32]byte, r auth.TokenRecord) error {
	text, err := json.Marshal(r)
	if err != nil {
		return errs.Wrap(err, "cluster.PutToken", "")
	}
	var b kv.Batch
	b.Put(tokenKey(id), text)
	ticket, err := c.writer.Enqueue(&b)
	if err == nil {
		err = ticket.Wait(ctx)
	}
	return errs.Wrap(err, "cluster.PutToken", "")
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
