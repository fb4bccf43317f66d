package xrootd

import (
	"sync/atomic"
)

// Client is a bounded pool of sessions, with the operations on names. It follows redirects and obeys waits. Methods are
// safe for concurrent use.
type Client struct {
	requester               // the session pool and the following of redirects
	lanes     atomic.Uint32 // distributes files to the sessions of a server
	buffers   buffers
}

// New makes a client. It does not connect yet. Close ends its sessions; a client that is not closed keeps them, with two
// goroutines each, until they are idle for Options.Idle.
func New(o Options) *Client {
	o = o.withDefaults()
	o.answers = &transit{}
	return &Client{requester: requester{pool: newPool(o), opts: o}}
}

// Options returns a copy of the client's options, with defaults filled in.
func (c *Client) Options() Options { return c.opts }

// Close ends all sessions. Requests in flight fail with Unavailable, and later calls with Cancelled. It does not wait for
// servers that are being dialed. Files that are open for writing end as if their client had been lost: at Hemera nothing
// of them becomes visible.
func (c *Client) Close() error {
	c.pool.close()
	return nil
}

// lane chooses one of a server's sessions for a group of files.
func (c *Client) lane(group int) int {
	return group*c.opts.Sessions + int(c.lanes.Add(1))%c.opts.Sessions
}
