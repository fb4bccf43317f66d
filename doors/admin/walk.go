package admin

import (
	"context"
	gopath "path"
	"strings"
	"time"

	"hemera/platform/treewalk"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// WalkRequest asks for a tree, parents before their children and names in byte order. Conditions
// are all to be met; a zero condition asks for nothing. Entries that do not meet them are walked
// through all the same.
// A pointer that is nil asks for nothing, too.
type WalkRequest struct {
	Path  string
	Kind  hemera.EntryKind `json:",omitempty"` // files or directories only
	Name  string           `json:",omitempty"` // a pattern as in path.Match, on the last component
	Depth int              `json:",omitempty"` // at most so far below Path; 0: all, -1: Path itself only
	// Sizes apply to files alone, and with Kind KindDirectory to all that is in a directory. SizeMax is a pointer because 0 is a sensible maximum.
	SizeMin int64      `json:",omitempty"`
	SizeMax *int64     `json:",omitempty"`
	Newer   *time.Time `json:",omitempty"` // modified after
	Older   *time.Time `json:",omitempty"` // modified before
	// ChangedAfter and ChangedBefore are of the record: mode, owner, attributes, or content.
	ChangedAfter  *time.Time `json:",omitempty"`
	ChangedBefore *time.Time `json:",omitempty"`
	UID           *uint32    `json:",omitempty"`
	GID           *uint32    `json:",omitempty"`
	NotUID        *uint32    `json:",omitempty"`
	NotGID        *uint32    `json:",omitempty"`
	// Layout, Pieces and Incomplete apply to files, and leave directories out.
	Layout     string `json:",omitempty"` // its kind, or all of it: replica, replica:2
	Pieces     int    `json:",omitempty"` // the number of pieces of the layout
	Incomplete bool   `json:",omitempty"` // fewer pieces than the layout has
	// Standing asks for files of this standing. They are found from the lists of disks and tapes, not by a walk, in no order of names, and need an
	// admin.
	Standing hemera.FileStanding `json:",omitempty"`
	// Brief answers with paths alone, Count with nothing but the sum: a fraction of the work.
	Brief, Count bool `json:",omitempty"`
}

// Found is one entry of a walk, without its attributes. Err is set when a directory could not be listed, and names it: the walk
// goes on.
type Found struct {
	Path  string
	Entry hemera.Entry // zero in a brief walk
	Err   string       `json:",omitempty"`
}

// Sum is how much a walk found.
// Bytes is the logical size of files, Physical what all their pieces take on disks.
type Sum struct{ Files, Dirs, Bytes, Physical int64 }

// add counts an entry. Directories count by number only.
func (s *Sum) add(e hemera.Entry) {
	if e.IsDir() {
		s.Dirs++
		return
	}
	s.Files++
	s.Bytes += e.Size
	s.Physical += layout.Used(e.Layout, e.Size, e.Pieces)
}

// found is one message: entries, paths alone, or in the end the sum.
type found struct {
	Found []Found  `json:",omitempty"`
	Paths []string `json:",omitempty"`
	Sum   *Sum     `json:",omitempty"`
}

// serveWalk serves the search of a tree. Users' walks take turns, page by page; see package turns.
func serveWalk(d *door) {
	stream(d, "Walk", false, func(ctx context.Context, who hemera.Identity, r *WalkRequest, send func(*found) error) error {
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
			found: batch[Found]{send: func(f []Found) error { return send(&found{Found: f}) }},
			paths: batch[string]{send: func(p []string) error { return send(&found{Paths: p}) }}}
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
	request *WalkRequest
	found   batch[Found]  // matches
	paths   batch[string] // matches of a brief walk
	sum     Sum           // of all matches
}

// visit takes one entry, or a directory that could not be listed.
func (f *finder) visit(path string, e hemera.Entry, failure error) error {
	// Paths and entries go in different messages; a failure keeps its place between them.
	if failure != nil {
		if err := f.paths.flush(); err != nil {
			return err
		}
		return f.found.add(Found{Path: path, Entry: hemera.Entry{Kind: e.Kind}, Err: errs.Plain(failure.Error())})
	}
	e.Xattrs = nil // of all that is found they could be most
	if f.request.matches(e) {
		f.sum.add(e)
		switch {
		case f.request.Count:
		case f.request.Brief:
			if err := f.paths.add(path); err != nil {
				return err
			}
		default:
			if err := f.found.add(Found{Path: path, Entry: e}); err != nil {
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
func (f *finder) end(send func(*found) error) error {
	if err := f.found.flush(); err != nil {
		return err
	}
	if err := f.paths.flush(); err != nil {
		return err
	}
	return send(&found{Sum: &f.sum})
}

// matches is true if an entry meets all conditions.
// It only looks at the entry, so it costs no reading. A file that is empty has no pieces and is never incomplete.
func (r *WalkRequest) matches(e hemera.Entry) bool {
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

// walkClient is the part of a [Client] that searches trees.
type walkClient struct{ server *server }

// Walk calls visit for every entry found, while the server still searches, and returns how much was
// found. It ends with visit's error, if any.
// The walk at the server ends when visit fails or the context ends.
func (c walkClient) Walk(ctx context.Context, r WalkRequest, visit func(Found) error) (sum Sum, err error) {
	err = receive(ctx, c.server, "Walk", r, func(m *found) error {
		for _, f := range m.Found {
			if err := visit(f); err != nil {
				return err
			}
		}
		for _, p := range m.Paths {
			if err := visit(Found{Path: p}); err != nil {
				return err
			}
		}
		if m.Sum != nil {
			sum = *m.Sum
		}
		return nil
	})
	return sum, err
}
