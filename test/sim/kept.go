package sim

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"hemera"
	"hemera/rules/recycle"
	"hemera/services/manager"
)

// keeping is the part of a plan that is about what stays of removed and replaced files.
type keeping struct {
	recycle  string // the rule of the whole tree; "" has no recycle bin
	versions string // how many versions of a file are kept below some directories; "" keeps none
}

// keepAll is the rule under which nothing leaves a bin by itself.
const keepAll = "30d"

// versionsAll is a number of versions that no file reaches.
const versionsAll = "100"

// drawKeeping draws what is kept. Half of the plans keep something.
func (p *plan) drawKeeping() {
	r := p.random("keeping")
	if p.sabotage != Nothing || r.IntN(2) == 0 {
		return
	}
	p.recycle = []string{keepAll, keepAll, keepAll, "20s", "300K", ""}[r.IntN(6)]
	p.versions = []string{"", "", "2", versionsAll}[r.IntN(4)]
}

// keeps reports whether something is kept.
func (p *plan) keeps() bool { return p.recycle != "" || p.versions != "" }

// keepsAll reports whether nothing of what was acknowledged may go, unless somebody purges it.
func (p *plan) keepsAll() bool {
	return p.recycle == keepAll && (p.versions == "" || p.versions == versionsAll)
}

// setKeeping gives the tree the plan's rule, and the client's first directory and the shared one their versions.
func (c *client) setKeeping(ctx context.Context) error {
	set := func(dir, name, value string) error {
		if value == "" {
			return nil
		}
		_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
			return struct{}{}, m.SetXattr(ctx, hemera.SystemIdentity(), dir, name, []byte(value), false)
		})
		return err
	}
	if err := set("/", recycle.Attr, c.w.plan.recycle); err != nil {
		return err
	}
	for _, dir := range []string{c.dirs[0], shared} {
		if err := set(dir, recycle.AttrVersions, c.w.plan.versions); err != nil {
			return err
		}
	}
	return nil
}

// revisit does something with what is kept: it restores an entry of a bin or a version, or purges an entry.
func (c *client) revisit(ctx context.Context, path string) {
	if c.w.plan.versions != "" && c.rng.IntN(2) == 0 {
		c.restoreVersion(ctx, path)
		return
	}
	mine, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (list []hemera.Recycled, err error) {
		err = m.ListRecycled(ctx, c.who, hemera.RecycleQuery{}, func(r hemera.Recycled) error {
			if !r.Entry.IsDir() { // what is in a directory of versions would go with it
				list = append(list, r)
			}
			return nil
		})
		return list, err
	})
	if err != nil || len(mine) == 0 {
		c.saw("list what is recycled: %d, %v", len(mine), err)
		return
	}
	r := mine[c.rng.IntN(len(mine))]
	if r.Entry.UID != c.who.UID {
		c.w.fail("%s sees in a recycle bin what %d owns: %+v", c.name, r.Entry.UID, r)
	}
	if c.rng.IntN(4) == 0 {
		c.purge(ctx, r)
		return
	}
	c.restore(ctx, r)
}

// purge removes an entry of a bin for good.
func (c *client) purge(ctx context.Context, r hemera.Recycled) {
	c.w.oracle.purging(r.Entry.ID)
	_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
		return struct{}{}, m.Purge(ctx, c.who, r.Entry.ID)
	})
	c.saw("purge %s, which was %s: %v", r.Entry.ID.Hex(), r.Path, err)
}

// restore moves an entry from its bin to a fresh name.
// Restores are not idempotent, but fresh names make their outcome visible, as those of renames.
func (c *client) restore(ctx context.Context, r hemera.Recycled) {
	what := c.w.oracle.written(r.Entry.ID, r.Entry.Gen)
	if len(what) == 0 {
		return // the judge says so
	}
	c.made++
	to := fmt.Sprintf("%s/back%d", c.dirs[c.rng.IntN(len(c.dirs))], c.made)
	attempt := c.w.oracle.begin(to, c.name+" restore of "+r.Path, what...)
	_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (string, error) {
		return m.Restore(ctx, c.who, hemera.RestoreRequest{ID: r.Entry.ID, To: to})
	})
	done := err == nil || lost(err) && c.exists(ctx, to)
	c.saw("restore %s, which was %s, to %s: %t (%v)", r.Entry.ID.Hex(), r.Path, to, done, err)
	c.w.oracle.end(attempt, done, !done)
}

// restoreVersion puts an earlier content in the place of the one now.
func (c *client) restoreVersion(ctx context.Context, name string) {
	dir, _ := recycle.VersionDir(path.Base(name))
	versions, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (list []hemera.Entry, err error) {
		err = m.List(ctx, c.who, path.Join(path.Dir(name), dir), func(e hemera.Entry) error {
			list = append(list, e)
			return nil
		})
		return list, err
	})
	if err != nil || len(versions) == 0 {
		c.saw("list the versions of %s: %d, %v", name, len(versions), err)
		return
	}
	e := versions[c.rng.IntN(len(versions))]
	what := c.w.oracle.written(e.ID, e.Gen)
	if len(what) == 0 {
		return
	}
	attempt := c.w.oracle.begin(name, c.name+" restore of version "+e.Name, what...)
	_, err = ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
		return struct{}{}, m.RestoreVersion(ctx, c.who, name, e.Name)
	})
	c.saw("restore %s as it was in version %s: %v", name, e.Name, err)
	c.w.oracle.end(attempt, err == nil, err != nil && !lost(err))
}

// isVersion reports whether the path is one of a version.
func isVersion(name string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(dir string) bool {
		_, is := recycle.FileOfVersions(dir)
		return is
	})
}
