package rpc

import (
	"context"

	"hemera/words/hemera"
)

// A remote node uses a Client where a node in the manager's process uses the service itself.
var (
	_ hemera.Control    = (*Client)(nil)
	_ hemera.CopyRules  = (*Client)(nil)
	_ hemera.OpenWrites = (*Client)(nil)
)

// Register implements hemera.Control.
func (c *Client) Register(ctx context.Context, hello hemera.NodeHello) (hemera.NodeWelcome, error) {
	r, err := call(ctx, c, c.current.Load().register, callTimeout, &hello)
	return *r, err
}

// Heartbeat implements hemera.Control.
func (c *Client) Heartbeat(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, report hemera.NodeReport) (hemera.HeartbeatReply, error) {
	r, err := call(ctx, c, c.current.Load().heartbeat, callTimeout, &heartbeatRequest{node, epoch, report})
	return *r, err
}

// Exchange implements hemera.Control.
func (c *Client) Exchange(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, results []hemera.OrderResult) (hemera.ExchangeReply, error) {
	r, err := call(ctx, c, c.current.Load().exchange, exchangeTimeout, &exchangeRequest{node, epoch, results})
	return *r, err
}

// Commit implements hemera.Control. An earlier manager answers with the entry, which is skipped.
func (c *Client) Commit(ctx context.Context, r hemera.CommitRequest) ([]byte, error) {
	request, err := newCommitRequest(&r)
	if err != nil {
		return nil, err
	}
	reply, err := call(ctx, c, c.current.Load().commit, callTimeout, request)
	return reply.Seen, err
}

// Abort implements hemera.Control.
func (c *Client) Abort(ctx context.Context, p *hemera.Permit) error {
	token, err := p.Token()
	if err != nil {
		return err
	}
	_, err = call(ctx, c, c.current.Load().abort, callTimeout, &abortRequest{token})
	return err
}

// Keep implements hemera.Control.
func (c *Client) Keep(ctx context.Context, p *hemera.Permit, size int64) error {
	token, err := p.Token()
	if err != nil {
		return err
	}
	_, err = call(ctx, c, c.current.Load().keep, callTimeout, &keepRequest{token, size})
	return err
}

// Replace implements hemera.Control.
func (c *Client) Replace(ctx context.Context, p *hemera.Permit, failed []hemera.DiskID) (hemera.Grant, error) {
	token, err := p.Token()
	if err != nil {
		return hemera.Grant{}, err
	}
	r, err := call(ctx, c, c.current.Load().replace, callTimeout, &replaceRequest{token, failed})
	if err != nil {
		return hemera.Grant{}, err
	}
	return r.grant(), nil
}

// Resolve implements hemera.Control.
func (c *Client) Resolve(ctx context.Context, id hemera.FileID) (hemera.Entry, string, error) {
	r, err := call(ctx, c, c.current.Load().resolve, callTimeout, &resolveRequest{id})
	return r.Entry, r.Path, err
}

// Announce implements hemera.OpenWrites.
func (c *Client) Announce(ctx context.Context, a hemera.Announcement) error {
	request, err := newAnnounceRequest(&a)
	if err != nil {
		return err
	}
	_, err = call(ctx, c, c.current.Load().announce, callTimeout, request)
	return err
}

// MayFetch implements hemera.CopyRules.
func (c *Client) MayFetch(ctx context.Context, s hemera.CopySource) error {
	_, err := call(ctx, c, c.current.Load().mayFetch, callTimeout, &mayFetchRequest{s})
	return err
}

// Join sends the secret of a join token to the manager and returns the certificate chain (PEM) for the request (PKCS #10,
// DER). The client needs no certificate for it.
func (c *Client) Join(ctx context.Context, secret string, request []byte) ([]byte, error) {
	r, err := call(ctx, c, c.current.Load().join, callTimeout, &joinRequest{secret, request})
	return r.Chain, err
}

// Renew returns the node's next certificate chain (PEM) for the request (PKCS #10, DER).
func (c *Client) Renew(ctx context.Context, request []byte) ([]byte, error) {
	r, err := call(ctx, c, c.current.Load().renew, callTimeout, &renewRequest{request})
	return r.Chain, err
}
