package copy

import (
	"context"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"time"

	"hemera/client/xrootd"
	"hemera/words/errs"
)

// attributesOf returns the attributes that a target gets from a source; unknown is the mode if the source's is not known.
// Only root can give files away, as with cp.
func attributesOf(src state, unknown uint32) xrootd.Attributes {
	a := xrootd.Attributes{Mode: src.mode, Mtime: src.mtime, UID: -1, GID: -1}
	if a.Mode == 0 {
		a.Mode = unknown
	}
	// Names of another machine are ids here only if this one has them too.
	if os.Geteuid() == 0 {
		a.UID, a.GID = idOf(src.owner, user.Lookup), idOf(src.group, lookupGroup)
	}
	return a
}

// idOf returns an id that is written as a number, or as a name that this machine has; else -1.
func idOf(name string, lookup func(string) (*user.User, error)) int64 {
	if n, err := strconv.ParseUint(name, 10, 32); err == nil { // from a server without a name for it
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

// lookupGroup finds a group in the form of a user, for idOf.
func lookupGroup(name string) (*user.User, error) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return nil, err
	}
	return &user.User{Uid: g.Gid}, nil
}

// equalAttributes reports whether a target has all attributes already, as far as its server reports them.
func equalAttributes(a xrootd.Attributes, there state) bool {
	return there.mode == a.Mode && there.mtime.Unix() == a.Mtime.Unix() && a.UID < 0 && a.GID < 0
}

// setAttributes gives an open local file its owner, mode and time.
func setAttributes(f *os.File, a xrootd.Attributes) error {
	if a.UID >= 0 || a.GID >= 0 {
		if err := f.Chown(int(a.UID), int(a.GID)); err != nil {
			return err
		}
	}
	// After the owner, since a change of owner clears the bits of setuid and setgid.
	if err := f.Chmod(fs.FileMode(a.Mode)); err != nil {
		return err
	}
	return os.Chtimes(f.Name(), time.Time{}, a.Mtime) // the zero time keeps the access time
}

// preserve gives a copy the mode, time and owner of its source.
func (x *copier) preserve(ctx context.Context, to Place, src state, unknown uint32) error {
	a := attributesOf(src, unknown)
	if to.Remote {
		return x.c.SetAttributes(ctx, to.URL, a)
	}
	f, err := os.Open(to.Path)
	if err != nil {
		return errs.Wrap(err, "copy.Preserve", to.Path)
	}
	defer f.Close()
	return errs.Wrap(setAttributes(f, a), "copy.Preserve", to.Path)
}

// finishDirs gives directories their attributes at the end, the last first: a new entry changes the time of its
// directory, and needs permission to write.
func (x *copier) finishDirs(ctx context.Context) {
	for len(x.dirs) > 0 && ctx.Err() == nil {
		last := x.dirs[len(x.dirs)-1]
		x.dirs = x.dirs[:len(x.dirs)-1] // children were recorded after their parents
		if err := x.preserve(ctx, last.to, last.src, 0o755); err != nil {
			x.fault(last, err)
		}
	}
}

// canPreserve fails if times cannot be kept. An error is better than a copy that seems to have kept them.
func (x *copier) canPreserve(ctx context.Context, to Place) error {
	if !x.o.Preserve || !to.Remote {
		return nil
	}
	ok, err := x.c.Publishes(ctx, to.URL.Endpoint)
	if err == nil && !ok {
		return errs.New(errs.Unsupported, "copy.Preserve", to.String(), "XRootD has no way to set times, and the server is not Hemera").
			WithRemedy("leave out --preserve")
	}
	return err
}
