package xrootd

import (
	"context"
	"strconv"
	"strings"
	"time"

	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Info is a server's description of an entry. Name is its last component. Fields that other servers than Hemera leave out
// are zero.
type Info struct {
	Name string
	wire.StatInfo
}

// IsDir reports whether the entry is a directory.
func (i Info) IsDir() bool { return i.Flags&wire.StatIsDir != 0 }

// onPath returns the builder of a request whose payload is the URL's path. It is called for each attempt, since redirects
// change the URL.
func onPath(w wire.Request) func(URL) (wire.Request, []byte) {
	return func(u URL) (wire.Request, []byte) { return w, u.payload() }
}

// Stat returns the description of one entry. It follows links that the server follows, and is repeated after a lost
// connection. It fails with NotFound if the name does not exist, and with NotDirectory if a component of the path is a
// file.
func (c *Client) Stat(ctx context.Context, u URL) (Info, error) {
	a, err := c.do(ctx, newRoute(u), request{op: "xrootd.Stat", build: onPath(wire.Stat{}), repeatable: true})
	if err != nil {
		return Info{}, err
	}
	s, err := wire.ParseStat(a.body)
	return Info{baseName(u.Path), s}, errs.As(err, errs.Corrupt, "xrootd.Stat", u.Redacted())
}

// baseName returns the text after the last slash.
func baseName(path string) string {
	path = hemera.PlainPath(path)
	return path[strings.LastIndexByte(path, '/')+1:]
}

// change sends a request whose answer is empty. It is not repeated once it may have arrived: a second removal or rename
// could hit an entry that another client made in between.
func (c *Client) change(ctx context.Context, u URL, op string, w wire.Request) error {
	_, err := c.do(ctx, newRoute(u), request{op: op, build: onPath(w)})
	return err
}

// Mkdir makes a directory with the permission bits of mode. With parents it also makes those above it, an existing
// directory is not an error, and the request is repeated after a lost connection. Without parents it fails with Exists if
// the name is taken.
func (c *Client) Mkdir(ctx context.Context, u URL, mode uint32, parents bool) error {
	w := wire.Mkdir{Mode: uint16(mode)}
	if parents {
		w.Options = wire.MkdirPath
	}
	q := request{op: "xrootd.MakeDirectory", build: onPath(w), repeatable: parents}
	_, err := c.do(ctx, newRoute(u), q)
	if parents && errs.KindOf(err) == errs.Exists && err != nil {
		// The stock server returns this error if the directory has another mode.
		if i, statErr := c.Stat(ctx, u); statErr == nil && i.IsDir() {
			return nil
		}
	}
	return err
}

// Remove removes a file. Some servers also remove an empty directory. After Unavailable the caller does not know whether
// the file is gone.
func (c *Client) Remove(ctx context.Context, u URL) error {
	return c.change(ctx, u, "xrootd.Remove", wire.Rm{})
}

// Rmdir removes an empty directory. It fails with NotEmpty, even if a server gives the reason only in its text.
func (c *Client) Rmdir(ctx context.Context, u URL) error {
	return c.change(ctx, u, "xrootd.RemoveDirectory", wire.Rmdir{})
}

// Chmod sets the permission bits of mode; other bits are not sent.
func (c *Client) Chmod(ctx context.Context, u URL, mode uint32) error {
	return c.change(ctx, u, "xrootd.ChangeMode", wire.Chmod{Mode: uint16(mode)})
}

// Truncate sets a file's size in bytes.
func (c *Client) Truncate(ctx context.Context, u URL, size int64) error {
	return c.change(ctx, u, "xrootd.Truncate", wire.Truncate{Size: size})
}

// Rename moves an entry within its server; to is a path. The server decides whether an existing file is replaced. It is
// not repeated once it may have arrived. After Unavailable the caller checks both names.
func (c *Client) Rename(ctx context.Context, from URL, to string) error {
	q := request{op: "xrootd.Rename", build: func(u URL) (wire.Request, []byte) {
		return wire.Mv{FromLength: int16(len(from.Path))}, []byte(from.Path + " " + u.Opaque.Join(to))
	}}
	_, err := c.do(ctx, newRoute(from), q)
	return err
}

// Publish moves a file within its server if it matches p; see hemera.Names. Servers other than Hemera do not support it
// and would move any file, so call [Client.Publishes] before.
func (c *Client) Publish(ctx context.Context, server URL, p hemera.Publication) error {
	opaque := server.Opaque.With(wire.OpaqueSize, strconv.FormatInt(p.Size, 10))
	if p.Sum.Kind != hemera.ChecksumNone {
		opaque = opaque.With(wire.OpaqueSum, p.Sum.String())
	}
	if !p.Replace {
		opaque = opaque.With(wire.OpaqueNew, "1")
	}
	server.Path = p.To
	q := request{op: "xrootd.Publish", build: func(URL) (wire.Request, []byte) {
		return wire.Mv{FromLength: int16(len(p.From))}, []byte(p.From + " " + opaque.Join(p.To))
	}}
	_, err := c.do(ctx, newRoute(server), q)
	return err
}

// Attributes has the attributes that a copy takes from its source.
type Attributes struct {
	Mode     uint32    // permission bits
	Mtime    time.Time // zero: unchanged
	UID, GID int64     // -1: unchanged
}

// SetAttributes gives an entry of a Hemera server its mode, time and owner. It fails with Denied if the user may
// not do that.
func (c *Client) SetAttributes(ctx context.Context, u URL, a Attributes) error {
	if !a.Mtime.IsZero() {
		u.Opaque = u.Opaque.With(wire.OpaqueMtime, strconv.FormatInt(a.Mtime.UnixNano(), 10))
	}
	if a.UID >= 0 || a.GID >= 0 {
		u.Opaque = u.Opaque.With(wire.OpaqueOwner, strconv.FormatInt(a.UID, 10)+":"+strconv.FormatInt(a.GID, 10))
	}
	return c.Chmod(ctx, u, a.Mode)
}

// List calls visit for each entry of a directory, in the server's order, with bounded memory. It uses its own session, so
// that visit may use the client freely and be slow. It ends with visit's error, if any. Entries that are made or removed
// meanwhile may be missing or not. A lost connection ends it: visit must not be called twice for the same entry.
func (c *Client) List(ctx context.Context, u URL, visit func(Info) error) error {
	var l listing
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	each := func(i Info) error { return c.visitEntry(ctx, u, i, l.plain, visit) }
	q := request{op: "xrootd.List", build: onPath(wire.Dirlist{Options: wire.DirlistStat})}
	err := c.stream(ctx, u, q, func(chunk []byte) error { return l.feed(chunk, false, each) })
	if err == nil {
		err = l.feed(nil, true, each)
	}
	return err
}

// visitEntry calls visit with an entry. It gets the attributes with a stat if the server lists names only.
func (c *Client) visitEntry(ctx context.Context, dir URL, i Info, plain bool, visit func(Info) error) error {
	if plain {
		full, err := c.Stat(ctx, dir.Join(i.Name))
		if errs.KindOf(err) == errs.NotFound && err != nil {
			return nil // removed meanwhile
		}
		if err != nil {
			return err
		}
		i = full
	}
	return visit(i)
}

// Xattrs returns a value for access to the attributes of an entry. It sends no request.
func (c *Client) Xattrs(u URL) Xattrs { return Xattrs{c, u} }
