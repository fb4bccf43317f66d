package direct

import (
	"context"

	"hemera/client/xrootd"
	"hemera/rules/capability"
	"hemera/rules/wire"
	"hemera/transfer"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// committer implements [transfer.Committer] for a host that is a client: the head of the write makes the calls that a
// head makes to its manager. The head compares the pieces before it commits.
type committer struct {
	head    *xrootd.File
	closing bool // the close has begun: its result may be visible
}

var _ transfer.Committer = (*committer)(nil)

// Commit gives the pieces to the head, and closes the file, which commits it. It must be called once. An undecided error
// has the same meaning as one of a close.
func (c *committer) Commit(ctx context.Context, r hemera.CommitRequest) error {
	if r.Size > 0 { // an empty file needs no pieces
		ask := wire.EncodeAdopt(hemera.SealInfo{FileSize: r.Size, Checksums: r.Checksums, Sync: true}, r.Pieces)
		if _, err := c.head.Query(ctx, wire.QueryOpaquf, ask); err != nil {
			c.head.Release() // so that no later close commits a file without its bytes
			if errs.Undecided(err) {
				// The writer removes the pieces: without a close nothing can have been committed.
				err = errs.As(err, errs.IO, "direct.Commit", c.head.URL().Redacted())
			}
			return err
		}
	}
	c.closing = true
	return c.head.Close(ctx)
}

// Abort makes the head cancel the write. If the head cannot be reached, it cancels the write itself when its client does
// not come back.
func (c *committer) Abort(ctx context.Context, _ *hemera.Permit) error {
	if _, err := c.head.Query(ctx, wire.QueryOpaquf, wire.OpaqueAbort); err != nil {
		c.head.Release()
		return nil
	}
	return c.head.Close(ctx)
}

// Keep does nothing: a write of a client cannot outlive the client.
func (c *committer) Keep(context.Context, *hemera.Permit, int64) error { return nil }

// Replace requests other disks instead of the failed ones.
func (c *committer) Replace(ctx context.Context, _ *hemera.Permit, failed []hemera.DiskID) (hemera.Grant, error) {
	token, err := c.head.Query(ctx, wire.QueryOpaquf, wire.EncodeReplace(failed))
	if err != nil {
		return hemera.Grant{}, err
	}
	permit, err := parseWrite(token)
	if err == nil && len(permit.Targets) < int(permit.Layout.Pieces) {
		return hemera.Grant{}, wrong(&permit.Capability, "has not one disk for each piece")
	}
	return hemera.Grant{Permit: permit}, err
}

// parseWrite returns the permit of a token. It fails with Invalid if the token is not a capability to write a new file,
// or has values that no manager would sign.
func parseWrite(token string) (*hemera.Permit, error) {
	c, err := capability.Peek(token)
	if err != nil {
		return nil, err
	}
	if c.Access != hemera.AccessCreate {
		return nil, wrong(&c, "is not for a new file")
	}
	if len(c.Targets) > int(c.Layout.Pieces) {
		return nil, wrong(&c, "has more disks than pieces")
	}
	return permitOf(&c, token)
}
