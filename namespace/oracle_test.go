package namespace_test

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"hemera/namespace"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// oracle is the namespace as a map of full paths: slow, and too simple to be wrong. It knows
// nothing of permissions; the scenarios prove those.
type oracle map[string]*node

type node struct {
	kind   hemera.EntryKind
	id     hemera.FileID
	size   int64
	gen    hemera.Generation
	mode   uint32
	pieces []hemera.Piece
	xattrs map[string]string
	// limits are set on the directory; stale: the counter may not know yet.
	uid, gid uint32
	limits   map[string]bool
	stale    bool
}

// kept is an entry in a recycle bin.
type kept struct {
	*node
	path string // where it was
}

// recycles reports whether what is removed at p is kept: the nearest directory above with a rule decides.
func (o oracle) recycles(p string) bool {
	for p != "/" {
		p = path.Dir(p)
		if rule := o[p].xattrs["sys.recycle"]; rule != "" {
			return rule != "off"
		}
	}
	return false
}

// ok is the kind that means no error.
const ok = errs.Kind(255)

func newOracle() oracle {
	return oracle{"/": {kind: hemera.KindDirectory, id: hemera.RootID, mode: 0o1777}}
}

// way returns the problem of the directories above p, if any.
func (o oracle) way(p string) errs.Kind {
	for dir := "/"; ; {
		rest := strings.TrimPrefix(strings.TrimPrefix(p, dir), "/")
		name, _, more := strings.Cut(rest, "/")
		if !more {
			return ok
		}
		dir = path.Join(dir, name)
		switch n := o[dir]; {
		case n == nil:
			return errs.NotFound
		case n.kind == hemera.KindFile:
			return errs.NotDirectory
		}
	}
}

func (o oracle) find(p string) (*node, errs.Kind) {
	if k := o.way(p); k != ok {
		return nil, k
	}
	if n := o[p]; n != nil {
		return n, ok
	}
	return nil, errs.NotFound
}

func (o oracle) mkdir(p string, mode uint32, parents bool) errs.Kind {
	if parents && p != "/" {
		switch o.way(p) {
		case errs.NotDirectory:
			return errs.NotDirectory
		case errs.NotFound:
			if k := o.mkdir(path.Dir(p), mode, true); k != ok {
				return k
			}
		}
	}
	if k := o.way(p); k != ok {
		return k
	}
	if n := o[p]; n != nil {
		if parents && n.kind == hemera.KindDirectory {
			return ok
		}
		return errs.Exists
	}
	o[p] = &node{kind: hemera.KindDirectory, mode: mode}
	return ok
}

func (o oracle) children(p string) []string {
	var out []string
	for q := range o {
		if q != "/" && path.Dir(q) == p {
			out = append(out, path.Base(q))
		}
	}
	slices.Sort(out)
	return out
}

func (o oracle) remove(p string, kind hemera.EntryKind) errs.Kind {
	n, k := o.find(p)
	switch {
	case k != ok:
		return k
	case p == "/":
		return errs.Invalid
	case kind == hemera.KindFile && n.kind != kind:
		return errs.IsDirectory
	case kind == hemera.KindDirectory && n.kind != kind:
		return errs.NotDirectory
	case len(o.children(p)) > 0:
		return errs.NotEmpty
	}
	delete(o, p)
	return ok
}

func (o oracle) rename(from, to string) errs.Kind {
	n, k := o.find(from)
	if k != ok {
		return k
	}
	if k := o.way(to); k != ok {
		return k
	}
	target := o[to]
	switch {
	case from == "/" || strings.HasPrefix(to, from+"/"):
		return errs.Invalid
	case from == to:
		return ok
	case target != nil && target.kind == hemera.KindDirectory:
		return errs.IsDirectory
	case target != nil && n.kind == hemera.KindDirectory:
		return errs.NotDirectory
	}
	for q, m := range maps.Clone(o) {
		if q == from || strings.HasPrefix(q, from+"/") {
			delete(o, q)
			o[to+strings.TrimPrefix(q, from)] = m
		}
	}
	return ok
}

// commit calls Prepare and Commit without a rival.
func (o oracle) commit(p string, who hemera.Identity, size int64, pieces []hemera.Piece) errs.Kind {
	if k := o.way(p); k != ok {
		return k
	}
	n := o[p]
	if n != nil && n.kind == hemera.KindDirectory {
		return errs.IsDirectory
	}
	if n == nil {
		n = &node{kind: hemera.KindFile, mode: 0o644, uid: who.UID, gid: who.GID}
		o[p] = n
	}
	n.size, n.pieces = size, pieces
	return ok
}

func (o oracle) totals(p string) (t hemera.TreeTotals) {
	prefix := strings.TrimSuffix(p, "/") + "/"
	for q, n := range o {
		switch {
		case q == p || !strings.HasPrefix(q, prefix):
		case n.kind == hemera.KindDirectory:
			t.Dirs++
		default:
			t.Files++
			t.Bytes += n.size
			t.Physical += n.size * int64(len(n.pieces))
		}
	}
	return t
}

// differences compares the whole tree.
func (o oracle) differences(ctx context.Context, n *namespace.Namespace) []string {
	var out []string
	seen := 0
	var walk func(p string)
	walk = func(p string) {
		seen++
		e, err := n.Tree.Stat(ctx, system(), p)
		want := o[p]
		if err != nil || want == nil {
			out = append(out, fmt.Sprintf("%s: %v, oracle has %+v", p, err, want))
			return
		}
		out = append(out, compare(p, e, want)...)
		if !e.IsDir() {
			return
		}
		if t := o.totals(p); t != e.Tree {
			out = append(out, fmt.Sprintf("%s: totals %+v, oracle has %+v", p, e.Tree, t))
		}
		var names []string
		err = n.Tree.List(ctx, system(), p, func(e hemera.Entry) error { names = append(names, e.Name); return nil })
		if want := o.children(p); err != nil || !slices.Equal(names, want) {
			out = append(out, fmt.Sprintf("%s: lists %q, %v; oracle has %q", p, names, err, want))
			return
		}
		for _, name := range names {
			walk(path.Join(p, name))
		}
	}
	walk("/")
	if seen != len(o) {
		out = append(out, fmt.Sprintf("%d entries, oracle has %d", seen, len(o)))
	}
	return out
}

func compare(p string, e hemera.Entry, want *node) []string {
	xattrs := make(map[string]string)
	for k, v := range e.Xattrs {
		xattrs[k] = string(v)
	}
	if want.id == 0 {
		want.id = e.ID // the oracle cannot know it before; from now on it stays
	}
	if e.UID != want.uid || e.GID != want.gid || !want.stale && e.Quota != (len(want.limits) > 0) {
		return []string{fmt.Sprintf("%s: %d:%d, node %t, oracle has %+v", p, e.UID, e.GID, e.Quota, *want)}
	}
	if e.Kind != want.kind || e.ID != want.id || e.Size != want.size || e.Mode != want.mode ||
		!slices.Equal(e.Pieces, want.pieces) || !maps.Equal(xattrs, want.xattrs) || e.Gen < want.gen {
		return []string{fmt.Sprintf("%s: %+v, oracle has %+v", p, e, *want)}
	}
	want.gen = e.Gen
	return nil
}
