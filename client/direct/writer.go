package direct

import (
	"context"

	"hemera/client/xrootd"
	"hemera/rules/wire"
	"hemera/transfer"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Writer writes a new file in order, to the nodes of its pieces or through its head. Use it from one goroutine, and end it by
// Commit or Abandon. Of a file that is written to the nodes it keeps the parity of up to 8 rows, and up to 32 MiB a piece of
// what nodes have not answered yet.
type Writer struct {
	ctx     context.Context
	head    *xrootd.File
	through *xrootd.Writer // of a file that goes through its head; nil otherwise
	pieces  hemera.File    // the write, as this host has it; nil if through is not
	commits *committer     // of pieces
	off     int64
}

// Unwritten says that a write to nodes failed, and that nothing became visible for certain. The same may succeed through a
// head.
type Unwritten struct{ error }

// Unwrap returns the failure itself.
func (u Unwritten) Unwrap() error { return u.error }

// Create opens a new file for writing, and decides where its bytes go. It blocks and fails as [xrootd.Client.Open] does. With Always
// it fails with the kind of the reason for which a file of a coded layout cannot be written to its nodes. The context bounds
// all calls of the writer.
func (c *Client) Create(ctx context.Context, u xrootd.URL, o xrootd.OpenOptions) (*Writer, error) {
	if c.opts.Mode == Never {
		return c.Through(ctx, u, o)
	}
	if c.opts.Mode == Always { // a manager with nodes of its own opens small files itself, but for those that ask where
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

// Through opens a new file for writing through its head, as Create does with Never.
func (c *Client) Through(ctx context.Context, u xrootd.URL, o xrootd.OpenOptions) (*Writer, error) {
	return c.Continue(ctx, u, o, 0)
}

// Continue opens a file that is there and writes on from off, through its head. It blocks and fails as [xrootd.Client.Open] does.
func (c *Client) Continue(ctx context.Context, u xrootd.URL, o xrootd.OpenOptions, off int64) (*Writer, error) {
	head, err := c.xrd.Open(ctx, u, o)
	if err != nil {
		return nil, err
	}
	return &Writer{ctx: ctx, head: head, through: head.NewWriter(ctx, off)}, nil
}

// begin has the file written to its nodes if it is suited.
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
		// The close of a write asks its committer once: what a client may repeat, the connection to the head repeats.
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

// Head is the node that commits the write, as host:port.
func (w *Writer) Head() string { return w.head.URL().Addr() }

// Offset is how many bytes were written.
func (w *Writer) Offset() int64 {
	if w.through != nil {
		return w.through.Offset()
	}
	return w.off
}

// Write sends p, which may be reused when it returns. It returns before all nodes have the bytes.
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

// Flush returns when servers have accepted what goes through the head. At nodes that is part of the commit.
func (w *Writer) Flush() error {
	if w.through != nil {
		return w.through.Flush()
	}
	return nil
}

// Commit makes the file durable and visible, as [xrootd.File.Close] does. It waits for the nodes to seal their pieces, for the head to
// compare them, and for the manager. After an error the content is not to be relied on; after [Unwritten] nothing is visible.
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

// Keep ends a write through a head with what it has so far, as a part for a later copy. It reports whether it could: the
// pieces of a direct write are of no use before the end.
func (w *Writer) Keep(ctx context.Context) bool {
	if w.through == nil || w.through.Flush() != nil || w.Offset() == 0 {
		return false
	}
	_ = w.head.Truncate(ctx, w.Offset()) // on purpose: a close below the announced size fails
	return w.head.Close(ctx) == nil
}

// Abandon cancels the write: nothing of it becomes visible. It waits for the servers to have heard.
func (w *Writer) Abandon(ctx context.Context) error {
	if w.through != nil {
		return w.head.Abandon(ctx)
	}
	return w.pieces.End(ctx, hemera.EndAbort)
}
