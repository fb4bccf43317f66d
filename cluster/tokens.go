package cluster

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"time"

	"hemera/platform/kv"
	"hemera/platform/pki"
	"hemera/words/errs"
)

var _ pki.TokenStore = (*Tokens)(nil)

// Tokens keeps the records of join tokens. They are in the store alone, so it needs neither the turn nor mu.
type Tokens struct {
	store  kv.Reader
	writer kv.Writer
	now    func() time.Time
}

// tokenKept is the time for which the record of a token stays after the token's end: a node that comes late with it gets
// the reason, that it has expired.
const tokenKept = 24 * time.Hour

// PutToken implements [pki.TokenStore].
func (c *Tokens) PutToken(ctx context.Context, id [32]byte, r pki.TokenRecord) error {
	text, err := json.Marshal(r)
	if err != nil {
		return errs.Wrap(err, "cluster.PutToken", "")
	}
	var b kv.Batch
	b.Put(tokenKey(id), text)
	return errs.Wrap(c.write(ctx, &b), "cluster.PutToken", "")
}

// RemoveToken implements [pki.TokenStore].
func (c *Tokens) RemoveToken(ctx context.Context, id [32]byte) error {
	var b kv.Batch
	b.Delete(tokenKey(id))
	return errs.Wrap(c.write(ctx, &b), "cluster.RemoveToken", "")
}

// write makes a batch durable.
func (c *Tokens) write(ctx context.Context, b *kv.Batch) error {
	ticket, err := c.writer.Enqueue(b)
	if err == nil {
		err = ticket.Wait(ctx)
	}
	return err
}

// Tokens implements [pki.TokenStore].
func (c *Tokens) Tokens(ctx context.Context) (map[[32]byte]pki.TokenRecord, error) {
	all := map[[32]byte]pki.TokenRecord{}
	lo := []byte(Prefix + "token/")
	err := c.store.Scan(ctx, lo, append(bytes.Clone(lo), 0xff), func(key, value []byte) bool {
		var r pki.TokenRecord
		var id [32]byte
		// A record that cannot be read does not admit a node. It is skipped, so that it does not hide the others.
		if n, err := hex.Decode(id[:], key[len(lo):]); err == nil && n == len(id) && json.Unmarshal(value, &r) == nil {
			all[id] = r
		}
		return true
	})
	return all, errs.Wrap(err, "cluster.Tokens", "")
}

// dropTokens removes the records that are not needed any more.
func (c *Tokens) dropTokens(ctx context.Context) error {
	all, err := c.Tokens(ctx)
	var b kv.Batch
	for id, r := range all {
		// What does not fit in a batch is removed in the next sweep.
		if r.Expires.Before(c.now().Add(-tokenKept)) && len(b.Ops) < kv.BatchOps {
			b.Delete(tokenKey(id))
		}
	}
	if err != nil || len(b.Ops) == 0 {
		return err
	}
	return errs.Wrap(c.write(ctx, &b), "cluster.DropTokens", "")
}

// Token implements [pki.TokenStore].
func (c *Tokens) Token(ctx context.Context, id [32]byte) (pki.TokenRecord, error) {
	var r pki.TokenRecord
	text, err := c.store.Get(ctx, tokenKey(id))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, errs.Wrap(err, "cluster.Token", "")
}

// tokenKey returns the key of a token by the SHA-256 of its secret: the store does not have the secret.
func tokenKey(id [32]byte) []byte { return []byte(Prefix + "token/" + hex.EncodeToString(id[:])) }
