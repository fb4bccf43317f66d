package client

import (
	"context"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"time"

	"hemera"
	"hemera/errs"
)

// Dress is what a copy keeps of its source besides the content.
type Dress struct {
	Mode     uint32    // permission bits
	Mtime    time.Time // zero: leave
	UID, GID int64     // -1: leave
}

// SetDress gives an entry of a Hemera server its mode, time and owner. Denied for who may not.
func (c *Client) SetDress(ctx context.Context, u URL, d Dress) error {
	if !d.Mtime.IsZero() {
		u.Opaque = u.Opaque.With(hemera.OpaqueMtime, strconv.FormatInt(d.Mtime.UnixNano(), 10))
	}
	if d.UID >= 0 || d.GID >= 0 {
		u.Opaque = u.Opaque.With(hemera.OpaqueOwner, strconv.FormatInt(d.UID, 10)+":"+strconv.FormatInt(d.GID, 10))
	}
	return c.Chmod(ctx, u, d.Mode)
}

// dressOf is what a target is to get. Only root gives files away, as with cp.
func dressOf(src state, unknown uint32) Dress {
	d := Dress{Mode: src.mode, Mtime: src.mtime, UID: -1, GID: -1}
	if d.Mode == 0 {
		d.Mode = unknown
	}
	if os.Geteuid() == 0 {
		d.UID, d.GID = idOf(src.owner, user.Lookup), idOf(src.group, lookupGroup)
	}
	return d
}

// idOf is an id that is written as a number, or as a name that this machine knows; else -1.
func idOf(name string, lookup func(string) (*user.User, error)) int64 {
	if n, err := strconv.ParseUint(name, 10, 32); err == nil {
		return int64(n)
	}
	if name == "" {
		return -1
	}
	if u, err := lookup(name); err == nil {
		if n, err := strconv.ParseUint(u.Uid, 10, 32); err == nil {
			return int64(n)
		}
	}
	return -1
}

func lookupGroup(name string) (*user.User, error) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return nil, err
	}
	return &user.User{Uid: g.Gid}, nil
}

// dressed reports whether what is there has all that it is to get, as far as its server tells.
func (d Dress) dressed(there state) bool {
	return there.mode == d.Mode && there.mtime.Unix() == d.Mtime.Unix() && d.UID < 0 && d.GID < 0
}

// wear gives an open local file its dress.
func (d Dress) wear(f *os.File) error {
	if d.UID >= 0 || d.GID >= 0 {
		if err := f.Chown(int(d.UID), int(d.GID)); err != nil {
			return err
		}
	}
	if err := f.Chmod(fs.FileMode(d.Mode)); err != nil {
		return err
	}
	return os.Chtimes(f.Name(), time.Time{}, d.Mtime)
}

// dress gives what was copied the mode, time and owner of its source.
func (x *copier) dress(ctx context.Context, to Place, src state, unknown uint32) error {
	d := dressOf(src, unknown)
	if to.Remote {
		return x.c.SetDress(ctx, to.URL, d)
	}
	f, err := os.Open(to.Path)
	if err != nil {
		return errs.Wrap(err, "preserve", to.Path)
	}
	defer f.Close()
	return errs.Wrap(d.wear(f), "preserve", to.Path)
}

// dressDirs is for the end: what is put into a directory changes its time, and needs permission to write.
func (x *copier) dressDirs(ctx context.Context) {
	for len(x.dirs) > 0 && ctx.Err() == nil {
		last := x.dirs[len(x.dirs)-1]
		x.dirs = x.dirs[:len(x.dirs)-1]
		if err := x.dress(ctx, last.to, last.src, 0o755); err != nil {
			x.fault(last, err)
		}
	}
}

// canDress fails where times cannot be kept: better than a copy that looks as asked for.
func (x *copier) canDress(ctx context.Context, to Place) error {
	if !x.o.Preserve || !to.Remote {
		return nil
	}
	ok, err := x.c.Publishes(ctx, to.URL.Endpoint)
	if err == nil && !ok {
		return errs.New(errs.Unsupported, "preserve", to.String(), "XRootD has no way to set times, and the server is not Hemera").
			WithRemedy("leave out --preserve")
	}
	return err
}
