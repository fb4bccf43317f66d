package namespace_test

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// keep notes what is at p before a change. The function that it returns is called after the change of the oracle: if the
// change took that away, the oracle has it in its bins. It reports whether it does.
func (h *history) keep(p string) func(changed bool) bool {
	h.t.Helper()
	was := h.o[p]
	if was == nil || p == "/" || h.o.way(p) != ok || !h.o.recycles(p) {
		return func(bool) bool { return false }
	}
	e := must[hemera.Entry](h.t)(h.m.n.Tree.Stat(h.t.Context(), system(), p))
	old := *was
	old.id, old.xattrs = e.ID, maps.Clone(was.xattrs)
	return func(changed bool) bool {
		if !changed {
			return false
		}
		now := h.o[p]
		if now == was { // a content in place of another: the file with it is a new one
			replaced := *was
			replaced.id, replaced.gen, replaced.xattrs = 0, 0, maps.Clone(was.xattrs)
			h.o[p] = &replaced
		}
		h.bins[e.ID] = kept{&old, p}
		return true
	}
}

// rule sets or removes the attribute of a directory.
func (h *history) rule(p string) {
	h.t.Helper()
	n, k := h.o.find(p)
	if k != ok || n.kind != hemera.KindDirectory {
		return
	}
	value := []string{"100d", "100d,1P", "off"}[h.r.IntN(3)]
	if n.xattrs == nil {
		n.xattrs = make(map[string]string)
	}
	n.xattrs["sys.recycle"] = value
	h.expect("setxattr "+p, h.m.n.Tree.SetXattr(h.t.Context(), system(), p, "sys.recycle", []byte(value), false), ok)
}

// any returns an id that is in a bin, or 0.
func (h *history) any() hemera.FileID {
	ids := slices.Sorted(maps.Keys(h.bins))
	if len(ids) == 0 {
		return 0
	}
	return ids[h.r.IntN(len(ids))]
}

// restore brings something back, to p or to where it was.
func (h *history) restore(p string) {
	h.t.Helper()
	id := h.any()
	was, there := h.bins[id]
	r := adminapi.RestoreRequest{ID: id, Parents: h.r.IntN(2) == 0}
	if h.r.IntN(2) == 0 || !there {
		r.To = p
	}
	want, to := errs.NotFound, r.To
	if there {
		if to == "" {
			to = was.path
		}
		want = ok
		if r.Parents && h.o.way(to) == errs.NotFound {
			want = h.o.mkdir(path.Dir(to), 0o755, true)
		}
		if want == ok {
			want = h.o.way(to)
		}
		if want == ok && h.o[to] != nil {
			want = errs.Exists
		}
	}
	at, err := h.m.n.Bins.Restore(h.t.Context(), system(), r)
	h.expect("restore "+to, err, want)
	if want != ok {
		return
	}
	if at != to {
		h.t.Errorf("restored to %q, not %q", at, to)
	}
	h.o[to] = was.node
	delete(h.bins, id)
}

func (h *history) purge() {
	h.t.Helper()
	id, want := h.any(), ok
	if _, there := h.bins[id]; !there {
		want = errs.NotFound
	}
	h.expect("purge", h.m.n.Bins.Purge(h.t.Context(), system(), id), want)
	delete(h.bins, id)
}

// erase removes past the bin.
func (h *history) erase(p string) {
	h.t.Helper()
	n := h.o[p]
	if n == nil || len(n.limits) > 0 || n.stale {
		return
	}
	h.expect("erase "+p, h.m.n.Bins.Erase(h.t.Context(), system(), p, 0), h.o.remove(p, 0))
}

// verifyBins compares what is recycled, and the totals of all bins.
func (h *history) verifyBins() {
	h.t.Helper()
	left := maps.Clone(h.bins)
	err := h.m.n.Bins.ListRecycled(h.t.Context(), system(), adminapi.RecycleQuery{All: true}, func(r adminapi.Recycled) error {
		want, there := left[r.Entry.ID]
		delete(left, r.Entry.ID)
		if !there {
			return errs.New(errs.Internal, "list", r.Path, "it is not in a bin")
		}
		if d := compare(r.Path, r.Entry, want.node); len(d) > 0 || r.Path != want.path || r.Who != system().Name && r.Who != "alice" {
			return errors.New(fmt.Sprint("was at ", want.path, " removed by ", r.Who, ": ", d))
		}
		return nil
	})
	if err != nil || len(left) > 0 {
		h.t.Errorf("in bins: %v; missing are %v", err, left)
	}
	var files, bytes int64
	for _, n := range h.bins {
		if n.kind == hemera.KindFile {
			files++
			bytes += n.size
		}
	}
	if got := h.m.n.Inspection.Stats().Recycled; got.Files != files || got.Bytes != bytes {
		h.t.Errorf("bins have %+v, oracle has %d files of %d bytes", got, files, bytes)
	}
}
