package admin

import (
	"context"
	gopath "path"
	"strings"

	"hemera/platform/treewalk"
	"hemera/rules/layout"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// count adds an entry to a sum. Directories count by number only.
func count(s *adminapi.Sum, e hemera.Entry) {
	if e.IsDir() {
		s.Dirs++
		return
	}
	s.Files++
	s.Bytes += e.Size
	s.Physical += layout.Used(e.Layout, e.Size, e.Pieces)
}

// serveWalk serves the search of a tree. Users' walks take turns, page by page; see package turns.
func serveWalk(d *door) {
	stream(d, "Walk", false, func(ctx context.Context, who hemera.Identity, r *adminapi.WalkRequest, send func(*adminapi.FoundEntries) error) error {
		names, err := part(d.Names, "namespace")
		if err != nil {
			return err
		}
		dirs, err := part(d.Directories, "namespace")
		if err != nil {
			return err
		}
		// A bad pattern is an error now, rather than a search without matches.
		if _, err := gopath.Match(r.Name, ""); err != nil {
			return errs.New(errs.Invalid, "admin.Walk", r.Name, "is not a pattern").
				WithRemedy("patterns take *, ? and [a-z], as in a shell")
		}
		e, err := names.Stat(ctx, who, r.Path)
		if err != nil {
			return err
		}
		top := hemera.PlainPath(r.Path)
		out := &finder{request: r,
			found: batch[adminapi.Found]{send: func(f []adminapi.Found) error { return send(&adminapi.FoundEntries{Found: f}) }},
			paths: batch[string]{send: func(p []string) error { return send(&adminapi.FoundEntries{Paths: p}) }}}
		// These come from lists of disks; the tree is not walked.
		if r.Standing != "" {
			if err := impaired(ctx, d, who, top, out); err != nil {
				return err
			}
			return out.end(send)
		}
		o := treewalk.Options{Dirs: dirs, Who: who, Depth: r.Depth, Acquire: func(ctx context.Context) (func(), error) { return d.Turns.Acquire(ctx, who) }, Panics: d.Panics}
		if err := treewalk.Walk(ctx, top, e, out.visit, o); err != nil {
			return err
		}
		return out.end(send)
	})
}

// impaired finds the files below top that have the standing that is asked for.
// The list has files of all users, whose directories were not checked for the caller; so an admin has to ask.
func impaired(ctx context.Context, d *door, who hemera.Identity, top string, out *finder) error {
	s, err := part(d.Status, "status")
	if err != nil {
		return err
	}
	if !who.Admin {
		return errs.New(errs.Denied, "admin.Walk", top, "only an admin is told which files lack pieces").
			WithRemedy("run it on the manager's host as root or as the user the manager runs as")
	}
	// These files come from the lists of disks, so depth and top are checked here.
	prefix := strings.TrimSuffix(top, "/") + "/"
	return s.Impaired(ctx, out.request.Standing, func(path string, e hemera.Entry) error {
		below, inside := strings.CutPrefix(path, prefix)
		depth := strings.Count(below, "/") + 1
		switch {
		case path != top && !inside,
			out.request.Depth != 0 && path != top && depth > max(0, out.request.Depth):
			return nil
		}
		return out.visit(path, e, nil)
	})
}

// finder sends what a walk meets and the request asks for.
// It is used by the goroutine of its request alone.
type finder struct {
	request *adminapi.WalkRequest
	found   batch[adminapi.Found] // matches
	paths   batch[string]         // matches of a brief walk
	sum     adminapi.Sum          // of all matches
}

// visit takes one entry, or a directory that could not be listed.
func (f *finder) visit(path string, e hemera.Entry, failure error) error {
	// Paths and entries go in different messages; a failure keeps its place between them.
	if failure != nil {
		if err := f.paths.flush(); err != nil {
			return err
		}
		return f.found.add(adminapi.Found{Path: path, Entry: hemera.Entry{Kind: e.Kind}, Err: errs.Plain(failure.Error())})
	}
	e.Xattrs = nil // of all that is found they could be most
	if matches(f.request, e) {
		count(&f.sum, e)
		switch {
		case f.request.Count:
		case f.request.Brief:
			if err := f.paths.add(path); err != nil {
				return err
			}
		default:
			if err := f.found.add(adminapi.Found{Path: path, Entry: e}); err != nil {
				return err
			}
		}
	}
	// A search without matches must still send something in time.
	if err := f.found.touch(); err != nil {
		return err
	}
	return f.paths.touch()
}

// end sends what is left, and the sum.
// The sum is the last message, so a client that got it knows that the walk is complete.
func (f *finder) end(send func(*adminapi.FoundEntries) error) error {
	if err := f.found.flush(); err != nil {
		return err
	}
	if err := f.paths.flush(); err != nil {
		return err
	}
	return send(&adminapi.FoundEntries{Sum: &f.sum})
}

// matches is true if an entry meets all conditions.
// It only looks at the entry, so it costs no reading. A file that is empty has no pieces and is never incomplete.
func matches(r *adminapi.WalkRequest, e hemera.Entry) bool {
	if r.Name != "" {
		if ok, _ := gopath.Match(r.Name, e.Name); !ok {
			return false
		}
	}
	if e.IsDir() && (r.Layout != "" || r.Pieces != 0 || r.Incomplete) {
		return false
	}
	// A directory has the size of all below it.
	size := e.Size
	if e.IsDir() {
		size = e.Tree.Bytes
	}
	switch {
	case r.Kind != 0 && e.Kind != r.Kind,
		e.IsDir() && r.Kind == 0 && (r.SizeMin > 0 || r.SizeMax != nil),
		size < r.SizeMin,
		r.SizeMax != nil && size > *r.SizeMax,
		r.Newer != nil && !e.Mtime.After(*r.Newer),
		r.Older != nil && !e.Mtime.Before(*r.Older),
		r.ChangedAfter != nil && !e.Ctime.After(*r.ChangedAfter),
		r.ChangedBefore != nil && !e.Ctime.Before(*r.ChangedBefore),
		r.UID != nil && e.UID != *r.UID,
		r.GID != nil && e.GID != *r.GID,
		r.NotUID != nil && e.UID == *r.NotUID,
		r.NotGID != nil && e.GID == *r.NotGID,
		r.Layout != "" && e.Layout.Kind.String() != r.Layout && e.Layout.String() != r.Layout,
		r.Pieces != 0 && int(e.Layout.Pieces) != r.Pieces,
		r.Incomplete && len(e.Pieces) >= layout.Count(e.Layout, e.Size):
		return false
	}
	return true
}
