package xrootd

import (
	"sync/atomic"
)

// Client is a bounded pool of sessions and the operations on names. It follows redirects and obeys
// waits. Methods may be called concurrently.
type Client struct {
	requester
	lanes   atomic.Uint32 // gives files the sessions of a server in turn
	buffers buffers
}

// New makes a client. Close it to end its sessions.
func New(o Options) *Client {
	o = o.withDefaults()
	return &Client{requester: requester{pool: newPool(o), opts: o}}
}

// Options returns the client's options, with defaults filled in.
func (c *Client) Options() Options { return c.opts }

// Close ends all sessions; what is in flight fails. It does not wait for servers that are being dialed.
func (c *Client) Close() error {
	c.pool.close()
	return nil
}

// lane chooses one of the sessions that a server has for a group of files.
func (c *Client) lane(group int) int {
	return group*c.opts.Sessions + int(c.lanes.Add(1))%c.opts.Sessions
}
