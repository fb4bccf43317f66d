package xrootd

import (
	"context"
	"time"

	"hemera/platform/pause"
	"hemera/rules/wire"
	"hemera/words/errs"
)

// File is an open file. It outlives its connection: a read continues at another server if one fails, a write continues at
// the same one. Methods are safe for concurrent use.
type File struct{ b *binding }

// Info returns the server's description at the open. Size is zero if the server sent none.
func (f *File) Info() Info {
	f.b.mu.Lock()
	defer f.b.mu.Unlock()
	return f.b.info
}

// URL returns the URL where the file was found: its server after all redirects, with the parameters that they gave, such
// as a capability. After a recovery it is the current one.
func (f *File) URL() URL { return f.b.place().url }

// deviceSilenceMax is the least silence that is allowed for requests that wait for a device, not for the network.
const deviceSilenceMax = time.Minute

// ask sends one small request on the handle, and repeats it on a new one if that can help. It obeys waits.
func (f *File) ask(ctx context.Context, op string, q func(h *handle) (wire.Request, []byte)) ([]byte, error) {
	return f.askFor(ctx, max(f.b.client.opts.Stall, deviceSilenceMax), op, q)
}

// askFor does the same as ask with another limit of silence.
func (f *File) askFor(ctx context.Context, silenceMax time.Duration, op string, q func(h *handle) (wire.Request, []byte)) ([]byte, error) {
	var body []byte
	err := f.b.with(ctx, func(h *handle) error {
		p := policy{op: op, waitFor: f.b.client.opts.WaitFor}
		spent := attempts{}
		for {
			w, payload := q(h)
			k := &call{silenceMax: silenceMax}
			if err := h.conn.send(ctx, k, w, payload); err != nil {
				return err
			}
			h.conn.flush()
			a := h.conn.wait(ctx, k)
			next := p.decide(newRoute(f.b.url), a, spent)
			if next.stop {
				body = a.body
				return next.err
			}
			if !next.wait { // handles belong to one server
				return errs.New(errs.Unsupported, op, f.b.url.Redacted(), "redirect in the middle of a file")
			}
			spent.waited += next.delay
			if err := pause.For(ctx, next.delay); err != nil {
				return err
			}
		}
	})
	return body, err
}

// Sync blocks until the server has made durable everything for which a write call has returned. It is repeated on a new
// handle after a lost connection.
func (f *File) Sync(ctx context.Context) error {
	_, err := f.ask(ctx, "xrootd.Sync", func(h *handle) (wire.Request, []byte) { return wire.Sync{Handle: h.fh}, nil })
	return err
}

// SyncWithin does the same as Sync at a server that may be silent for longer, like the destination of a third-party copy.
// Errors name the operation op.
func (f *File) SyncWithin(ctx context.Context, silenceMax time.Duration, op string) error {
	_, err := f.askFor(ctx, silenceMax, op, func(h *handle) (wire.Request, []byte) { return wire.Sync{Handle: h.fh}, nil })
	return err
}

// Truncate sets the size in bytes. After that a reconnect does not expect the removed bytes: see binding.high.
func (f *File) Truncate(ctx context.Context, size int64) error {
	_, err := f.ask(ctx, "xrootd.Truncate", func(h *handle) (wire.Request, []byte) { return wire.Truncate{Handle: h.fh, Size: size}, nil })
	if err == nil {
		f.b.accepted(size, true)
	}
	return err
}

// Stat returns the server's current description of the file. For a file that is being written, the size is that of the
// bytes accepted so far.
func (f *File) Stat(ctx context.Context) (Info, error) {
	body, err := f.ask(ctx, "xrootd.Stat", func(h *handle) (wire.Request, []byte) { return wire.Stat{Handle: h.fh}, nil })
	if err != nil {
		return Info{}, err
	}
	s, err := wire.ParseStat(body)
	return Info{baseName(f.b.url.Path), s}, errs.As(err, errs.Corrupt, "xrootd.Stat", f.b.url.Redacted())
}

// Query sends a query on the open file, of a kind that takes a handle. It fails with Unsupported at servers without it.
func (f *File) Query(ctx context.Context, kind uint16, arg string) (string, error) {
	body, err := f.ask(ctx, "xrootd.Query", func(h *handle) (wire.Request, []byte) {
		return wire.Query{Kind: kind, Handle: h.fh}, []byte(arg)
	})
	return wire.Text(body), err
}

// Close ends all use of the file. For a written file, nil has the server's meaning: at Hemera the content is durable and
// visible. After an error of a write the content is not reliable. A second Close fails with BadHandle. If ctx has ended
// before the call, Close tells the server without waiting for it, and a write is aborted.
func (f *File) Close(ctx context.Context) error {
	// Waiting would fail at once, and the server would not be told.
	if over := ctx.Err(); over != nil {
		f.Release()
		if !f.b.opts.Write {
			return nil
		}
		return errs.Wrap(over, "xrootd.Close", f.b.url.Redacted())
	}
	_, err := f.ask(ctx, "xrootd.Close", func(h *handle) (wire.Request, []byte) { return wire.Close{Handle: h.fh}, nil })
	if h := f.b.close(); h != nil {
		h.done()
	}
	if !f.b.opts.Write {
		return nil // the bytes read were good, whatever the server answers now
	}
	return err
}

// Release ends all use of the file without waiting for the server; a write is aborted. The server must be told, because
// the session stays open, and so would the file.
func (f *File) Release() {
	h := f.b.close()
	switch {
	case h == nil:
	case f.b.opts.Write:
		h.abort()
	default:
		h.leave()
	}
}

// Abandon cancels a write: nothing of it becomes visible if the server supports that; otherwise the file is removed, if
// this open made it. Unlike Release it blocks until the server has done that. The File is closed afterwards, also after
// an error.
func (f *File) Abandon(ctx context.Context) error {
	if _, err := f.Query(ctx, wire.QueryOpaquf, wire.OpaqueAbort); err == nil {
		return f.Close(ctx)
	}
	err := f.Close(ctx)
	if f.b.opts.Create {
		err = f.b.client.Remove(ctx, f.b.url)
	}
	return err
}
