package admin

import (
	"context"
	gopath "path"
	"time"

	"hemera"
	"hemera/errs"
)

// WalkRequest asks for a tree, parents before their children and names in byte order. Conditions
// are all to be met; a zero condition asks for nothing. Entries that do not meet them are walked
// through all the same.
type WalkRequest struct {
	Path  string
	Kind  hemera.EntryKind `json:",omitempty"` // files or directories only
	Name  string           `json:",omitempty"` // a pattern as in path.Match, on the last component
	Depth int              `json:",omitempty"` // at most so far below Path; 0: all, -1: Path itself only
	// Sizes apply to files. SizeMax is a pointer because 0 is a sensible maximum.
	SizeMin int64      `json:",omitempty"`
	SizeMax *int64     `json:",omitempty"`
	Newer   *time.Time `json:",omitempty"` // modified after
	Older   *time.Time `json:",omitempty"` // modified before
	UID     *uint32    `json:",omitempty"`
	GID     *uint32    `json:",omitempty"`
}

// Found is one entry of a walk. Err is set when a directory could not be listed: the walk goes on.
type Found struct {
	Path  string
	Entry hemera.Entry
	Err   string `json:",omitempty"`
}

type found struct{ Found []Found }

func (d *door) serveWalk() {
	stream(d, "Walk", false, func(ctx context.Context, who hemera.Identity, r *WalkRequest, send func(*found) error) error {
		n, err := part(d.Names, "namespace")
		if err != nil {
			return err
		}
		if _, err := gopath.Match(r.Name, ""); err != nil {
			return errs.New(errs.Invalid, "admin.Walk", r.Name, "is no pattern").
				WithRemedy("patterns take *, ? and [a-z], as in a shell")
		}
		w := walk{request: r, names: n, who: who, out: batch[Found]{send: func(f []Found) error { return send(&found{f}) }}}
		if err := w.run(ctx); err != nil {
			return err
		}
		return w.out.flush()
	})
}

type walk struct {
	request *WalkRequest
	names   hemera.Names
	who     hemera.Identity
	out     batch[Found]
}

func (w *walk) run(ctx context.Context) error {
	top := gopath.Clean(w.request.Path)
	e, err := w.names.Stat(ctx, w.who, top)
	if err != nil {
		return err
	}
	return w.visit(ctx, top, e, 0)
}

// visit reports one entry and goes below it. It lists children while the parent's listing is under
// way, so its memory is bounded by the depth of the tree and not by the width of a directory.
func (w *walk) visit(ctx context.Context, at string, e hemera.Entry, depth int) error {
	if w.request.matches(e) {
		if err := w.out.add(Found{Path: at, Entry: e}); err != nil {
			return err
		}
	}
	if err := w.out.touch(); err != nil {
		return err
	}
	if !e.IsDir() || w.request.Depth != 0 && depth >= max(w.request.Depth, 0) {
		return nil
	}
	var stop error
	err := w.names.List(ctx, w.who, at, func(child hemera.Entry) error {
		stop = w.visit(ctx, gopath.Join(at, child.Name), child, depth+1)
		return stop
	})
	if err == nil || stop != nil || ctx.Err() != nil {
		return err
	}
	// The directory went away or is not ours to read: say so and go on with the next.
	return w.out.add(Found{Path: at, Entry: e, Err: err.Error()})
}

func (r *WalkRequest) matches(e hemera.Entry) bool {
	if r.Name != "" {
		if ok, _ := gopath.Match(r.Name, e.Name); !ok {
			return false
		}
	}
	switch {
	case r.Kind != 0 && e.Kind != r.Kind,
		!e.IsDir() && e.Size < r.SizeMin,
		!e.IsDir() && r.SizeMax != nil && e.Size > *r.SizeMax,
		r.Newer != nil && !e.Mtime.After(*r.Newer),
		r.Older != nil && !e.Mtime.Before(*r.Older),
		r.UID != nil && e.UID != *r.UID,
		r.GID != nil && e.GID != *r.GID:
		return false
	}
	return true
}

// Walk calls visit for every entry found, while the server still searches. It ends with visit's
// error, if any.
func (c *Client) Walk(ctx context.Context, r WalkRequest, visit func(Found) error) error {
	return receive(ctx, c, "Walk", r, func(m *found) error {
		for _, f := range m.Found {
			if err := visit(f); err != nil {
				return err
			}
		}
		return nil
	})
}
