package copy

import (
	"path"
	"path/filepath"
	"strings"
	"time"

	"hemera/client/xrootd"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Place is one end of a copy: a remote URL or a local path.
type Place struct {
	Remote  bool
	URL     xrootd.URL // if remote
	Path    string     // local, clean
	Content bool       // written with /. at its end: the content of the directory, not the directory itself
}

// ParsePlace reads a URL or a local path.
func ParsePlace(s string) (Place, error) {
	if xrootd.IsRemote(s) {
		u, err := xrootd.ParseURL(s)
		path, _, _ := strings.Cut(s, "?")
		return Place{Remote: true, URL: u, Content: strings.HasSuffix(path, contentMark)}, err
	}
	if s = strings.TrimPrefix(s, "file://"); s == "" {
		return Place{}, errs.New(errs.Invalid, "copy.Copy", "", "the path is empty")
	}
	return Place{Path: filepath.Clean(s), Content: strings.HasSuffix(s, contentMark)}, nil
}

// contentMark at the end of a source means the content of a directory, as with cp.
const contentMark = "/."

// String returns the place without secrets.
func (p Place) String() string {
	if p.Remote {
		return p.URL.Redacted()
	}
	return p.Path
}

// Join returns the place of an entry below; rel has slashes.
func (p Place) Join(rel string) Place {
	if rel == "" {
		return p
	}
	if p.Remote {
		p.URL = p.URL.Join(rel)
	} else {
		p.Path = filepath.Join(p.Path, filepath.FromSlash(rel))
	}
	return p
}

// base returns the last name of the place, which is the name of its copy in a directory.
func (p Place) base() string {
	if p.Remote {
		return path.Base(p.URL.Path)
	}
	return filepath.Base(p.Path)
}

// state is the state of a place.
type state struct {
	exists  bool // if not, all else is zero
	dir     bool
	special bool      // a device or a pipe of this machine
	size    int64     // bytes
	mode    uint32    // permission bits; 0 if not known
	mtime   time.Time // in seconds at servers; zero if not known
	version string    // of a file of this machine: changes with its bytes; "" if not known
	owner   string    // name or number
	group   string
	link    bool  // a skipped link
	fault   error // reason why this entry cannot be copied
}

// ofEntry reports whether a failure concerns one entry only, so that others may succeed.
func ofEntry(err error) bool {
	switch errs.KindOf(err) {
	case errs.NotFound, errs.Denied, errs.Invalid, errs.TooLarge, errs.Exists, errs.IsDirectory, errs.NotDirectory, errs.Unsupported:
		return true
	}
	return false
}

// end is one end of a copy and its state.
type end struct {
	Place
	state
}

// resolveTarget returns the target of one of the sources: in a destination that is a directory, else the destination
// itself.
func resolveTarget(from, to end, recursive bool, sources int) (Place, error) {
	src, dst := from.Place, to.Place
	switch {
	case !from.exists:
		err := errs.New(errs.NotFound, "copy.Copy", src.String(), "no such file or directory")
		if !src.Remote {
			err = err.WithRemedy("look at the name with ls; a path of the cluster begins with a colon, such as :/" + src.base())
		}
		return dst, err
	case from.dir && !recursive:
		return dst, errs.New(errs.IsDirectory, "copy.Copy", src.String(), "").WithRemedy("add -r to copy a directory with all that is in it")
	case to.exists && to.dir && src.Content && from.dir: // written with /. at its end
		return dst, nil
	case to.exists && to.dir:
		return dst.Join(src.base()), nil
	case dst.Remote && !from.dir && hemera.OfDirectory(dst.URL.Path):
		return dst, errs.New(errs.NotFound, "copy.Copy", dst.String(), "there is no such directory")
	case sources > 1: // they would replace each other
		return dst, errs.New(errs.NotDirectory, "copy.Copy", dst.String(), "several sources need a directory to go to")
	case from.dir && to.exists: // to is a file
		return dst, errs.New(errs.NotDirectory, "copy.Copy", dst.String(), "a directory cannot replace a file")
	}
	return dst, nil
}

// action says how to handle one file.
type action int

const (
	actCopy    action = iota
	actCompare        // the target may be the same file already
)

// choose returns the action for a file, by the current state of the target.
func choose(src state, dst state, dstName string, o Options) (action, error) {
	switch {
	case !dst.exists:
		return actCopy, nil
	case dst.dir:
		return actCopy, errs.New(errs.IsDirectory, "copy.Copy", dstName, "a file cannot replace a directory")
	case dst.special: // nothing to replace, compare or continue
		return actCopy, nil
	case o.Continue && dst.size == src.size: // also with Force: an identical file need not be copied
		return actCompare, nil
	case o.Force:
		return actCopy, nil
	case o.Continue: // parts have names of their own, so this is not the beginning of one of our copies
		return actCopy, errs.New(errs.Exists, "copy.Copy", dstName, "another file of that name is there, with another size").
			WithRemedy("use --force to replace it")
	}
	return actCopy, errs.New(errs.Exists, "copy.Copy", dstName, "").WithRemedy("use --force to replace it")
}
