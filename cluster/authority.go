package cluster

import (
	"bytes"
	"context"

	"hemera/platform/pki"
)

var _ pki.AuthorityRecord = (*Cluster)(nil)

// Authority implements [pki.AuthorityRecord].
func (c *Cluster) Authority() (fingerprint []byte, begun bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.authority), len(c.nodes) > 0
}

// SetAuthority implements [pki.AuthorityRecord].
func (c *Cluster) SetAuthority(ctx context.Context, fingerprint []byte) error {
	return c.update(ctx, func(ch *change) error {
		ch.put(authorityRecord{bytes.Clone(fingerprint)})
		return nil
	}, func() {})
}
