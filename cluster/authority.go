package cluster

import (
	"bytes"
	"context"

	"hemera/platform/pki"
)

var _ pki.AuthorityRecord = (*Cluster)(nil)

// Authority implements [pki.AuthorityRecord].
func (c *Cluster) Authority() (fingerprint []byte, begun bool) {
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	return bytes.Clone(c.state.authority), len(c.state.nodes) > 0
}

// SetAuthority implements [pki.AuthorityRecord].
func (c *Cluster) SetAuthority(ctx context.Context, fingerprint []byte) error {
	return c.state.update(ctx, func(ch *change) error {
		ch.put(authorityRecord{bytes.Clone(fingerprint)})
		return nil
	}, func() {})
}
