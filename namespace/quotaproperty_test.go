package namespace_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"testing"

	"hemera/namespace"
	"hemera/rules/recycle"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestNoChangeExceedsALimit makes random changes of all kinds below tight limits of projects, users and groups. After each,
// the accounts are what a count of all files from the beginning gives, and a change that ended well has exceeded no limit
// that it took more of.
func TestNoChangeExceedsALimit(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			h := &tight{t: t, n: fresh(t), r: rand.New(rand.NewPCG(seed, 9))}
			h.begin()
			refused, done := 0, 0
			for range 250 {
				before := h.rows()
				what, err := h.change()
				switch errs.KindOf(err) {
				case errs.OverQuota:
					refused++
				}
				after := h.rows()
				if err == nil {
					done++
				}
				for key, row := range after {
					if over := exceeds(row, before[key]); over != "" && err == nil {
						t.Fatalf("%s: %s of %v: %+v, was %+v", what, over, key, row, before[key])
					}
				}
				if err != nil && fmt.Sprint(before) != fmt.Sprint(after) {
					t.Fatalf("%s: refused (%v) and changed:\n%v\n%v", what, err, before, after)
				}
			}
			checked(t, h.n)
			if refused < 10 || done < 50 {
				t.Errorf("%d refused, %d done: this proves little", refused, done)
			}
		})
	}
}

// exceeds names the limit of a row that is exceeded and has more use than before; "" for none.
func exceeds(now, was hemera.QuotaRow) string {
	for _, d := range []struct {
		what             string
		limit, used, had int64
	}{{"files", now.Limits.Files, now.Used.Files, was.Used.Files}, {"bytes", now.Limits.Bytes, now.Used.Bytes, was.Used.Bytes},
		{"physical bytes", now.Limits.Physical, now.Used.Physical, was.Used.Physical}} {
		if d.limit > 0 && d.used > d.limit && d.used > d.had {
			return d.what
		}
	}
	return ""
}

// tight is a tree with tight limits.
type tight struct {
	t *testing.T
	n *namespace.Namespace
	r *rand.Rand
}

func (h *tight) begin() {
	t, n := h.t, h.n
	people(t, n, "/p/a", "/p/b", "/q/c", "/out/d", "/out/s")
	for _, dir := range []string{"/p", "/q", "/out"} {
		good(t, n.Tree.SetXattr(t.Context(), system(), dir, "sys.versioning", []byte("4"), false))
	}
	setRule(t, n, "/p", "30d")
	setRule(t, n, "/q", "30d")
	limit(t, n, "/p", hemera.QuotaProject, 0, hemera.QuotaAmount{Bytes: 60, Files: 12})
	limit(t, n, "/p/a", hemera.QuotaProject, 0, hemera.QuotaAmount{Physical: 70})
	limit(t, n, "/p", hemera.QuotaUser, hemera.QuotaDefault, hemera.QuotaAmount{Bytes: 40})
	limit(t, n, "/q", hemera.QuotaGroup, 1000, hemera.QuotaAmount{Physical: 60, Files: 5})
	limit(t, n, "/q", hemera.QuotaUser, 1001, hemera.QuotaAmount{Files: 4})
	counted(t, n)
}

// rows returns the limits and what is used of them.
func (h *tight) rows() map[hemera.QuotaKey]hemera.QuotaRow {
	out := map[hemera.QuotaKey]hemera.QuotaRow{}
	for _, r := range must[[]hemera.QuotaRow](h.t)(h.n.Quotas.Quotas(h.t.Context(), system(), "")) {
		out[r.QuotaKey] = r
	}
	return out
}

// path returns one of few, so that changes meet. The directory s is where it was moved last.
func (h *tight) path() string {
	return []string{"/p", "/p/a", "/p/b", "/q", "/q/c", "/out", "/out/d", h.above() + "/s"}[h.r.IntN(8)] + "/" + string(rune('f'+h.r.IntN(3)))
}

// above returns the directory that s is in.
func (h *tight) above() string {
	for _, dir := range []string{"/p", "/p/a", "/q", "/out", "/out/d"} {
		if _, err := h.n.Tree.Stat(h.t.Context(), system(), dir+"/s"); err == nil {
			return dir
		}
	}
	h.t.Fatal("the directory is gone")
	return ""
}

// restoreVersion gives a file back one of its earlier contents.
func (h *tight) restoreVersion(p string) (what string, err error) {
	dir, _ := recycle.VersionDir(path.Base(p))
	var names []string
	err = h.n.Tree.List(h.t.Context(), system(), path.Join(path.Dir(p), dir), func(e hemera.Entry) error { names = append(names, e.Name); return nil })
	if err != nil || len(names) == 0 {
		return "no version of " + p, err
	}
	return "restore a version of " + p, h.n.Bins.RestoreVersion(h.t.Context(), system(), p, names[h.r.IntN(len(names))])
}

// convert gives a file another number of copies. Nobody has claimed room for that.
func (h *tight) convert(p string) (what string, err error) {
	e, err := h.n.Tree.Stat(h.t.Context(), system(), p)
	if err != nil || e.IsDir() {
		return "nothing to convert", err
	}
	prep, _, err := h.n.Writes.PrepareConversion(h.t.Context(), e.ID, e.Gen)
	if err != nil {
		return "convert " + p, err
	}
	c := commitOf(prep, p, system())
	c.Replaces, c.BaseGen, c.Convert, c.Promised, c.Size, c.Sums = 0, e.Gen, true, -1, e.Size, e.Checksums
	c.Layout, c.Pieces = hemera.Replica(1+h.r.IntN(4)), nil
	for i := range c.Layout.Pieces {
		c.Pieces = append(c.Pieces, hemera.Piece{Index: i, Disk: hemera.DiskID(1 + i)})
	}
	c.Claim = 1
	_, err = h.n.Writes.Commit(h.t.Context(), c)
	return fmt.Sprint("convert ", p, " to ", c.Layout), err
}

// change makes one random change.
func (h *tight) change() (what string, err error) {
	ctx, n := h.t.Context(), h.n
	p, q := h.path(), h.path()
	switch h.r.IntN(12) {
	case 0, 1, 2:
		who := []hemera.Identity{alice(), bob()}[h.r.IntN(2)]
		who.Admin = true // any may replace any file
		prep, err := n.Writes.Prepare(ctx, who, hemera.OpenRequest{Path: p, Access: hemera.AccessCreate, Mode: 0o666})
		if err != nil {
			return "open " + p, err
		}
		c := commitOf(prep, p, who)
		c.Size = 1 + h.r.Int64N(14)
		c.Claim, c.Promised = 1, -1
		_, err = n.Writes.Commit(ctx, c)
		return fmt.Sprint("write ", p, " ", c.Size), err
	case 3, 4:
		return "rename " + p + " " + q, n.Tree.Rename(ctx, system(), p, q)
	case 5:
		return "remove " + p, n.Tree.Remove(ctx, system(), p, 0)
	case 6:
		uid := int64(1000 + h.r.IntN(2))
		return fmt.Sprint("chown ", p, " ", uid), n.Tree.SetOwner(ctx, system(), p, uid, uid)
	case 7:
		return h.restoreVersion(p)
	case 8, 9:
		return h.convert(p)
	case 10:
		from, to := h.above()+"/s", []string{"/p", "/p/a", "/q", "/out", "/out/d"}[h.r.IntN(5)]+"/s"
		return "move " + from + " to " + to, n.Tree.Rename(ctx, system(), from, to)
	}
	var ids []hemera.FileID
	good(h.t, n.Bins.ListRecycled(ctx, system(), adminapi.RecycleQuery{All: true}, func(r adminapi.Recycled) error {
		ids = append(ids, r.Entry.ID)
		return nil
	}))
	if len(ids) == 0 {
		return "nothing to restore", nil
	}
	_, err = n.Bins.Restore(ctx, system(), adminapi.RestoreRequest{ID: ids[h.r.IntN(len(ids))], To: q})
	return "restore to " + q, err
}
