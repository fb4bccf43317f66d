package direct

import (
	"context"

	"hemera/client/xrootd"
	"hemera/rules/wire"
	"hemera/transfer"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Writer writes a new file in order, to the nodes of its pieces or through its head. It is not safe for concurrent use
// and must be ended by Commit or Abandon. For a file that is written to the nodes it keeps the parity of up to 8 rows,
// and up to 32 MiB for each piece of bytes that nodes have not acknowledged yet.
type Writer struct {
	ctx     context.Context
	head    *xrootd.File
	through *xrootd.Writer // for a file that goes through its head; nil otherwise
	pieces  hemera.File    // the write at this host; nil if through is not
	commits *committer     // of pieces
	off     int64
}

// Unwritten says that a write to nodes failed, and that certainly nothing became visible. The same write may succeed
// through a head.
type Unwritten struct{ error }

// Unwrap returns the failure itself.
func (u Unwritten) Unwrap() error { return u.error }

// Create opens a new file for writing, and decides where its bytes go. It blocks and fails as [xrootd.Client.Open] does.
// With Always, if a file of a coded layout cannot be written to its nodes, it fails with the kind of the reason. The
// context bounds all calls of the writer.
func (c *Client) Create(ctx context.Context, u xrootd.URL, o xrootd.OpenOptions) (*Writer, error) {
	if c.opts.Mode == Never {
		return c.Through(ctx, u, o)
	}
	if c.opts.Mode == Always { // a manager with nodes in its process opens small files itself, unless the client asks for the place
		u.Opaque = u.Opaque.With(wire.OpaqueWhere, "1")
	}
	head, err := c.xrd.Open(ctx, u, o)
	if err != nil {
		return nil, err
	}
	w := &Writer{ctx: ctx, head: head}
	if err := c.begin(w, o.Size); err != nil {
		head.Release()
		return nil, err
	}
	if w.pieces == nil {
		w.through = head.NewWriter(ctx, 0)
	}
	return w, nil
}

// Through opens a new file for writing through its head, like Create with Never.
func (c *Client) Through(ctx context.Context, u xrootd.URL, o xrootd.OpenOptions) (*Writer, error) {
	return c.Continue(ctx, u, o, 0)
}

// Continue opens an existing file and continues to write at off, through its head. It blocks and fails as
// [xrootd.Client.Open] does.
func (c *Client) Continue(ctx context.Context, u xrootd.URL, o xrootd.OpenOptions, off int64) (*Writer, error) {
	head, err := c.xrd.Open(ctx, u, o)
	if err != nil {
		return nil, err
	}
	return &Writer{ctx: ctx, head: head, through: head.NewWriter(ctx, off)}, nil
}

// begin writes the file to its nodes if it is suited.
func (c *Client) begin(w *Writer, size int64) error {
	name, always := w.head.URL().Redacted(), c.opts.Mode == Always
	token := w.head.URL().Opaque.Value(wire.OpaqueCapability)
	if token == "" {
		c.note(name, "its server opened it without a capability, as servers do with small files, and those that are not Hemera's with all")
		return nil
	}
	permit, err := parseWrite(token)
	if err != nil {
		c.note(name, err.Error())
		return nil
	}
	reason := suitedToWrite(c.opts.Mode, &permit.Capability, size, c.reach.reachable)
	if reason == "" && !always && !pays(permit.Layout, c.link(), c.headLink(w.ctx, w.head.URL().Endpoint)) {
		reason = "the link of its head is free, and no slower than this machine's"
	}
	if reason == "" {
		w.commits = &committer{head: w.head}
		host := c.newHost(w.commits)
		// The close of a write calls its committer once: the connection to the head repeats requests if a client may.
		host.Writes.Patience = 1
		w.pieces, err = transfer.NewPending(host).Open(w.ctx, permit, hemera.NodeOpen{Truncate: true})
		if err == nil {
			c.straight(name, permit.Layout)
		}
		return err
	}
	if always && permit.Layout.Coded() {
		return errs.New(errs.Unsupported, "direct.Create", name, reason).WithRemedy("it can be written through one node, without --direct always")
	}
	c.note(name, reason)
	return nil
}

// Direct reports whether the file is written to the nodes of its pieces.
func (w *Writer) Direct() bool { return w.pieces != nil }

// Head returns the node that commits the write, as host:port.
func (w *Writer) Head() string { return w.head.URL().Addr() }

// Offset returns the number of bytes written.
func (w *Writer) Offset() int64 {
	if w.through != nil {
		return w.through.Offset()
	}
	return w.off
}

// Write sends p, which the caller may reuse when it returns. It returns before all nodes have the bytes.
func (w *Writer) Write(p []byte) (int, error) {
	if w.through != nil {
		return w.through.Write(p)
	}
	if err := w.pieces.WritePages(p, nil, w.off); err != nil {
		return 0, Unwritten{err}
	}
	w.off += int64(len(p))
	return len(p), nil
}

// Flush blocks until the server has accepted all bytes that go through the head. At nodes this is part of the commit.
func (w *Writer) Flush() error {
	if w.through != nil {
		return w.through.Flush()
	}
	return nil
}

// Commit makes the file durable and visible, as [xrootd.File.Close] does. It blocks until the nodes have sealed their
// pieces, the head has compared them, and the manager has committed. After an error the content is not reliable; after
// [Unwritten] nothing is visible.
func (w *Writer) Commit(ctx context.Context) error {
	if w.through == nil {
		err := w.pieces.End(ctx, hemera.EndClose)
		if err != nil && !w.commits.closing {
			err = Unwritten{err}
		}
		return err
	}
	if err := w.through.Flush(); err != nil {
		return err
	}
	return w.head.Close(ctx)
}

// Keep ends a write through a head with its bytes so far, as a part for a later copy. It reports whether that was
// possible: the pieces of a direct write are not usable before the end.
func (w *Writer) Keep(ctx context.Context) bool {
	if w.through == nil || w.through.Flush() != nil || w.Offset() == 0 {
		return false
	}
	_ = w.head.Truncate(ctx, w.Offset()) // because a close below the announced size fails
	return w.head.Close(ctx) == nil
}

// Abandon cancels the write: nothing of it becomes visible. It blocks until the servers have answered.
func (w *Writer) Abandon(ctx context.Context) error {
	if w.through != nil {
		return w.head.Abandon(ctx)
	}
	return w.pieces.End(ctx, hemera.EndAbort)
}
