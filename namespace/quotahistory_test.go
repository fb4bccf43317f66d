package namespace_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"

	"hemera/namespace"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// nodeOf returns the quota node that a path's files count at, "" if none.
func (o oracle) nodeOf(p string) string {
	for dir := path.Dir(p); ; dir = path.Dir(dir) {
		if n := o[dir]; n != nil && len(n.limits) > 0 {
			return dir
		}
		if dir == "/" {
			return ""
		}
	}
}

// used returns the lines of quota ls when everything is counted.
func (o oracle) used() []string {
	sums := make(map[hemera.QuotaKey]hemera.QuotaAmount)
	for p, n := range o {
		if n.limits["project"] {
			t := o.totals(p)
			sums[hemera.QuotaKey{Path: p, Kind: hemera.QuotaProject}] = hemera.QuotaAmount{Files: t.Files, Bytes: t.Bytes, Physical: t.Physical}
		}
		at := o.nodeOf(p)
		if n.kind != hemera.KindFile || at == "" {
			continue
		}
		u, g := hemera.QuotaKey{Path: at, Kind: hemera.QuotaUser, ID: n.uid}, hemera.QuotaKey{Path: at, Kind: hemera.QuotaGroup, ID: n.gid}
		used := hemera.QuotaAmount{Files: 1, Bytes: n.size, Physical: n.size * int64(len(n.pieces))}
		sums[u], sums[g] = sums[u].Add(used), sums[g].Add(used)
	}
	var out []string
	for _, k := range slices.SortedFunc(maps.Keys(sums), func(a, b hemera.QuotaKey) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Kind%hemera.QuotaProject, b.Kind%hemera.QuotaProject), cmp.Compare(a.ID, b.ID))
	}) {
		if u := sums[k]; u != (hemera.QuotaAmount{}) {
			out = append(out, fmt.Sprintf("%s %s %d: %d %d %d", k.Path, k.Kind, k.ID, u.Files, u.Bytes, u.Physical))
		}
	}
	return out
}

// uncertain says that a node which nobody counted yet may be above the paths, or may be one of them.
// Which directories are nodes then is the counter's business.
func (o oracle) uncertain(paths ...string) bool {
	for _, p := range paths {
		for dir := p; ; dir = path.Dir(dir) {
			if n := o[dir]; n != nil && (n.stale || len(n.limits) > 0) {
				return true
			}
			if dir == "/" {
				break
			}
		}
	}
	return false
}

// rename expects what the oracle says, or that a tree may not leave its quota node.
func (h *history) rename(p, q string) {
	h.t.Helper()
	keeps := h.keep(q)
	err := h.m.n.Tree.Rename(h.t.Context(), system(), p, q)
	if errors.Is(err, errs.Unsupported) && h.o.uncertain(p, q) {
		if k := maps.Clone(h.o).rename(p, q); k != ok || h.o[p].kind != hemera.KindDirectory || len(h.o.children(p)) == 0 && len(h.o[p].limits) == 0 && !h.o[p].stale {
			h.t.Errorf("rename %s %s: %v, oracle says %v", p, q, err, k)
		}
		return
	}
	k := h.o.rename(p, q)
	keeps(k == ok && p != q)
	h.expect("rename "+p+" "+q, err, k)
}

// remove expects what the oracle says, or that a quota node stays.
func (h *history) remove(p string, kind hemera.EntryKind) {
	h.t.Helper()
	keeps := h.keep(p)
	err := h.m.n.Tree.Remove(h.t.Context(), system(), p, kind)
	n := h.o[p]
	if n != nil && n.stale && len(n.limits) == 0 && errors.Is(err, errs.Denied) {
		return
	}
	want := maps.Clone(h.o).remove(p, kind)
	if want == ok && len(n.limits) > 0 {
		want = errs.Denied
	} else {
		keeps(h.o.remove(p, kind) == ok)
	}
	h.expect("remove "+p, err, want)
}

func (h *history) chown(p string) {
	h.t.Helper()
	uid, gid := int64(h.r.IntN(4))-1, int64(h.r.IntN(3))-1
	n, k := h.o.find(p)
	if k == ok && uid >= 0 {
		n.uid = uint32(uid)
	}
	if k == ok && gid >= 0 {
		n.gid = uint32(gid)
	}
	h.expect("chown "+p, h.m.n.Tree.SetOwner(h.t.Context(), system(), p, uid, gid), k)
}

// quota sets a limit, or removes all of a directory.
func (h *history) quota(p string) {
	h.t.Helper()
	ctx, tree := h.t.Context(), h.m.n
	n, k := h.o.find(p)
	if h.r.IntN(2) == 0 {
		err := tree.Quotas.RemoveQuota(ctx, system(), hemera.QuotaKey{Path: p})
		switch {
		case k == ok && n.stale && err == nil:
		case k == ok && n.kind == hemera.KindFile:
			h.expect("quota rm "+p, err, errs.NotDirectory)
		case k == ok && len(n.limits) == 0:
			h.expect("quota rm "+p, err, errs.NotFound)
		default:
			h.expect("quota rm "+p, err, k)
		}
		if k == ok && len(n.limits) > 0 {
			n.limits, n.stale = nil, true
		}
		return
	}
	key := hemera.QuotaKey{Path: p, Kind: hemera.QuotaKind(1 + h.r.IntN(3)), ID: uint32(h.r.IntN(3))}
	name := fmt.Sprint(key.Kind, key.ID)
	if key.Kind == hemera.QuotaProject {
		key.ID, name = 0, "project"
	}
	if k == ok && n.kind == hemera.KindFile {
		k = errs.NotDirectory
	}
	if k == ok {
		if n.limits == nil {
			n.limits = make(map[string]bool)
		}
		n.limits[name], n.stale = true, true
	}
	h.expect("quota set "+p, tree.Quotas.SetQuota(ctx, system(), key, ample), k)
}

// settle has all nodes counted; from then on the oracle knows them.
func (h *history) settle() {
	h.t.Helper()
	counted(h.t, h.m.n)
	for _, n := range h.o {
		n.stale = false
	}
}

// counter counts beside what the history does, until the machine stops.
type counter struct {
	wg     sync.WaitGroup
	cancel context.CancelFunc
}

func (m *machine) count(n *namespace.Namespace) {
	if m.counter.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(m.t.Context())
	m.counter.cancel = cancel
	m.counter.wg.Go(func() {
		if err := n.Quotas.CountQuotas(ctx); err != nil && ctx.Err() == nil {
			m.t.Error(err)
		}
	})
}

func (c *counter) stop() {
	if c.cancel != nil {
		c.cancel()
		c.wg.Wait()
		c.cancel = nil
	}
}
