package xrootd

import (
	"sync/atomic"
)

// Client is a bounded pool of sessions and the operations on names. It follows redirects and obeys
// waits. Methods may be called concurrently.
type Client struct {
	requester               // the session pool and what follows redirects
	lanes     atomic.Uint32 // gives files the sessions of a server in turn
	buffers   buffers
}

// New makes a client. It connects to nothing yet. Close it to end its sessions; a client that is not closed keeps them, and
// two goroutines each, until they are idle for Options.Idle.
func New(o Options) *Client {
	o = o.withDefaults()
	o.answers = &transit{}
	return &Client{requester: requester{pool: newPool(o), opts: o}}
}

// Options returns the client's options, with defaults filled in. Changing the copy changes nothing.
func (c *Client) Options() Options { return c.opts }

// Close ends all sessions; what is in flight fails with Unavailable, and later calls with Cancelled. It does not wait for servers
// that are being dialed. Files that are open for writing end as if their client had been lost: at Hemera nothing of them becomes
// visible.
func (c *Client) Close() error {
	c.pool.close()
	return nil
}

// lane chooses one of the sessions that a server has for a group of files.
func (c *Client) lane(group int) int {
	return group*c.opts.Sessions + int(c.lanes.Add(1))%c.opts.Sessions
}
