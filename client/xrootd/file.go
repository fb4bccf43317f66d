package xrootd

import (
	"context"
	"time"

	"hemera/rules/wire"
	"hemera/words/errs"
)

// File is an open file. It outlives its connection: a read goes on at another server when one fails,
// a write goes on at the same one. Methods may be called concurrently.
type File struct{ b *binding }

// Info is what the server said at the open. Size is zero if it said nothing.
func (f *File) Info() Info {
	f.b.mu.Lock()
	defer f.b.mu.Unlock()
	return f.b.info
}

// URL is where the file was found: its server after all redirects, with what they gave to show there, such as a capability.
// After a recovery it is the present one.
func (f *File) URL() URL { return f.b.place().url }

// deviceSilenceMax is the least silence allowed to requests that wait for a device, not for the network.
const deviceSilenceMax = time.Minute

// ask does one small request on the handle, and repeats it on a new one when that can help. It obeys waits.
func (f *File) ask(ctx context.Context, op string, q func(h *handle) (wire.Request, []byte)) ([]byte, error) {
	return f.askFor(ctx, max(f.b.client.opts.Stall, deviceSilenceMax), op, q)
}

// askFor is ask with another limit of silence.
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
			if err := pause(ctx, next.delay); err != nil {
				return err
			}
		}
	})
	return body, err
}

// Sync returns when the server has made everything written durable. Only what a write call has returned for counts. It blocks
// for as long as the device needs, and is repeated on a new handle after a lost connection.
func (f *File) Sync(ctx context.Context) error {
	_, err := f.ask(ctx, "xrootd.Sync", func(h *handle) (wire.Request, []byte) { return wire.Sync{Handle: h.fh}, nil })
	return err
}

// SyncWithin is Sync at a server that may be silent for longer, as the destination of a third-party copy is until it
// has copied. Errors name the operation op.
func (f *File) SyncWithin(ctx context.Context, silenceMax time.Duration, op string) error {
	_, err := f.askFor(ctx, silenceMax, op, func(h *handle) (wire.Request, []byte) { return wire.Sync{Handle: h.fh}, nil })
	return err
}

// Truncate sets the size in bytes. A reconnect does not expect the bytes that were cut off: see binding.high.
func (f *File) Truncate(ctx context.Context, size int64) error {
	_, err := f.ask(ctx, "xrootd.Truncate", func(h *handle) (wire.Request, []byte) { return wire.Truncate{Handle: h.fh, Size: size}, nil })
	if err == nil {
		f.b.accepted(size, true)
	}
	return err
}

// Stat asks the server about the file as it is now. Of a file that is being written, the size is what was accepted so far.
func (f *File) Stat(ctx context.Context) (Info, error) {
	body, err := f.ask(ctx, "xrootd.Stat", func(h *handle) (wire.Request, []byte) { return wire.Stat{Handle: h.fh}, nil })
	if err != nil {
		return Info{}, err
	}
	s, err := wire.ParseStat(body)
	return Info{baseName(f.b.url.Path), s}, errs.As(err, errs.Corrupt, "xrootd.Stat", f.b.url.Redacted())
}

// Query asks a question about the open file, of a kind that takes a handle. It fails with Unsupported at servers that do
// not have it.
func (f *File) Query(ctx context.Context, kind uint16, arg string) (string, error) {
	body, err := f.ask(ctx, "xrootd.Query", func(h *handle) (wire.Request, []byte) {
		return wire.Query{Kind: kind, Handle: h.fh}, []byte(arg)
	})
	return wire.Text(body), err
}

// Close ends all use of the file. Of a written file, nil means what the server means by it: at
// Hemera that the content is durable and visible. After an error of a write the content is not to
// be relied on. A second Close is BadHandle. If ctx has ended before the call, Close tells the server without
// waiting for it, and a write is aborted.
func (f *File) Close(ctx context.Context) error {
	// Waiting would fail at once, and the server would not hear of it.
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
		return nil // what was read is good, whatever the server says now
	}
	return err
}

// Release ends all use of the file without waiting for the server; a write is aborted. The server has to be told,
// because the session lives on, and what is open in it would stay open.
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

// Abandon cancels a write: nothing of it becomes visible where the server can do that; elsewhere
// the file, if this open made it, is removed. Unlike Release it waits until the server has done that. The File is closed
// afterwards, also if there was an error.
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
