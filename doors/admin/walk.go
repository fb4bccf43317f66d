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

// count adds an entry to a sum. Directories add to the number only.
func count(s *adminapi.Sum, e hemera.Entry) {
	if e.IsDir() {
		s.Dirs++
		return
	}
	s.Files++
	s.Bytes += e.Size
	s.Physical += layout.Used(e.Layout, e.Size, e.Pieces)
}

// serveWalk serves the search of a tree. Walks of users take turns page by page; see package fairshare.
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
		// A bad pattern fails here; otherwise the search would have no matches.
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
		// These come from lists of the disks, without a walk.
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

// impaired finds the files below top with the requested standing. The list has files of all users, and access to their
// directories is not checked; so only an admin may call it.
func impaired(ctx context.Context, d *door, who hemera.Identity, top string, out *finder) error {
	s, err := part(d.Status, "status")
	if err != nil {
		return err
	}
	if !who.Admin {
		return errs.New(errs.Denied, "admin.Walk", top, "only an admin is told which files lack pieces").
			WithRemedy("run it on the manager's host as root or as the user the manager runs as")
	}
	// These files come from the lists of the disks, so depth and top are checked here.
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

// finder sends the entries of a walk that match the request. Only the goroutine of the request uses it.
type finder struct {
	request *adminapi.WalkRequest
	found   batch[adminapi.Found] // matches
	paths   batch[string]         // matches of a brief walk
	sum     adminapi.Sum          // of all matches
}

// visit handles one entry, or a directory that could not be listed.
func (f *finder) visit(path string, e hemera.Entry, failure error) error {
	// Paths and entries are in different messages; the flush keeps a failure in its order.
	if failure != nil {
		if err := f.paths.flush(); err != nil {
			return err
		}
		return f.found.add(adminapi.Found{Path: path, Entry: hemera.Entry{Kind: e.Kind}, Err: errs.Plain(failure.Error())})
	}
	e.Xattrs = nil // in a long list these would be most of the bytes
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

// end sends the remaining matches, and the sum. The sum is the last message: a client that has it knows that the walk is
// complete.
func (f *finder) end(send func(*adminapi.FoundEntries) error) error {
	if err := f.found.flush(); err != nil {
		return err
	}
	if err := f.paths.flush(); err != nil {
		return err
	}
	return send(&adminapi.FoundEntries{Sum: &f.sum})
}

// matches reports whether an entry meets all conditions. It looks only at the entry. An empty file has no pieces and is
// never incomplete.
func matches(r *adminapi.WalkRequest, e hemera.Entry) bool {
	if r.Name != "" {
		if ok, _ := gopath.Match(r.Name, e.Name); !ok {
			return false
		}
	}
	if e.IsDir() && (r.Layout != "" || r.Pieces != 0 || r.Incomplete) {
		return false
	}
	// The size of a directory is the sum of all files below it.
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
