package sim

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"hemera/manager"
	"hemera/rules/recycle"
	"hemera/test/sim/simnet"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// keeping is the part of a plan that is about what stays of removed and replaced files.
type keeping struct {
	recycle  string // the rule of the whole tree; "" has no recycle bin
	versions string // how many versions of a file are kept below some directories; "" keeps none
}

// keepAll is the rule under which nothing leaves a bin by itself.
// A simulation lasts some hours of its own time.
const keepAll = "30d"

// versionsAll is a number of versions that no file reaches.
// It is the most that the attribute takes.
const versionsAll = "100"

// drawKeeping draws what is kept. Half of the plans keep something.
// It has a source of its own, so that old seeds keep their other choices.
func (p *plan) drawKeeping() {
	if p.sabotage == PurgeKept {
		p.recycle = keepAll
		return
	}
	r := p.random("keeping")
	if p.sabotage != Nothing || r.IntN(2) == 0 {
		return
	}
	// For ever, for longer than the load, by size, not at all.
	p.recycle = []string{keepAll, keepAll, keepAll, "20s", "300K", ""}[r.IntN(6)]
	// Two are trimmed soon. With no bin, versions of removed files go at once.
	p.versions = []string{"", "", "2", versionsAll}[r.IntN(4)]
}

// keeps reports whether something is kept.
// Without it clients do what they did before there were bins.
func (p *plan) keeps() bool { return p.recycle != "" || p.versions != "" }

// keepsAll reports whether nothing of what was acknowledged may go, unless somebody purges it.
func (p *plan) keepsAll() bool {
	return p.recycle == keepAll && (p.versions == "" || p.versions == versionsAll)
}

// setKeeping gives the tree the plan's rule, and the client's first directory and the shared one their versions.
func (c *client) setKeeping(ctx context.Context) error {
	// An empty value would be a rule as well: that of no rule.
	set := func(dir, name, value string) error {
		if value == "" {
			return nil
		}
		_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
			return struct{}{}, m.Attributes.SetXattr(ctx, hemera.SystemIdentity(), dir, name, []byte(value), false)
		})
		return err
	}
	if err := set("/", recycle.Attr, c.w.plan.recycle); err != nil {
		return err
	}
	// Every client sets that of the shared directory, to the same.
	for _, dir := range []string{c.dirs[0], shared} {
		if err := set(dir, recycle.AttrVersions, c.w.plan.versions); err != nil {
			return err
		}
	}
	return nil
}

// revisit does something with what is kept: it restores an entry of a bin or a version, or purges an entry.
// A client lists its bin as a user does, through the network: an answer may be older than the next request.
func (c *client) revisit(ctx context.Context, path string) {
	if c.w.plan.versions != "" && c.rng.IntN(2) == 0 {
		c.restoreVersion(ctx, path)
		return
	}
	mine, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (list []adminapi.Recycled, err error) {
		err = m.Recycle.ListRecycled(ctx, c.who, adminapi.RecycleQuery{}, func(r adminapi.Recycled) error {
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
// The oracle hears of it before the first request: from then on the file may be gone.
func (c *client) purge(ctx context.Context, r adminapi.Recycled) {
	if c.w.plan.sabotage != PurgeKept {
		c.w.oracle.Purging(r.Entry.ID)
	}
	_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
		return struct{}{}, m.Recycle.Purge(ctx, c.who, r.Entry.ID)
	})
	c.saw("purge %s, which was %s: %v", r.Entry.ID.Hex(), r.Path, err)
}

// restore moves an entry from its bin to a fresh name, in one of the client's directories as they are named now.
// Its versions, if it has any, come with it.
// Restores are not idempotent, but fresh names make their outcome visible, as those of renames.
func (c *client) restore(ctx context.Context, r adminapi.Recycled) {
	what := c.w.oracle.Written(&r.Entry)
	if len(what) == 0 {
		return // the judge says so
	}
	// A write that was opened before the removal takes the place of the file wherever that is. Nobody else writes to what was the
	// client's own.
	if !strings.HasPrefix(r.Path, "/"+c.name+"/") || c.w.oracle.Unsure(r.Entry.ID) {
		return
	}
	c.made++
	to := fmt.Sprintf("%s/back%d", c.dirs[c.rng.IntN(len(c.dirs))], c.made)
	attempt := c.w.oracle.Begin(to, c.name+" restore of "+r.Path, what...)
	_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (string, error) {
		return m.Recycle.Restore(ctx, c.who, adminapi.RestoreRequest{ID: r.Entry.ID, To: to})
	})
	done := err == nil || simnet.Lost(err) && c.exists(ctx, to)
	c.saw("restore %s, which was %s, to %s: %t (%v)", r.Entry.ID.Hex(), r.Path, to, done, err)
	c.w.oracle.End(attempt, done, !done)
}

// restoreVersion puts an earlier content in the place of the one now.
// To the oracle it is a write of that content: in doubt it may happen until a later one is over.
func (c *client) restoreVersion(ctx context.Context, name string) {
	dir, _ := recycle.VersionDir(path.Base(name))
	versions, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (list []hemera.Entry, err error) {
		err = m.Names.List(ctx, c.who, path.Join(path.Dir(name), dir), func(e hemera.Entry) error {
			list = append(list, e)
			return nil
		})
		return list, err
	})
	if err != nil || len(versions) == 0 {
		c.saw("list the versions of %s: %d, %v", name, len(versions), err)
		return
	}
	// By the time of the request it may have been trimmed, or restored by another client.
	e := versions[c.rng.IntN(len(versions))]
	what := c.w.oracle.Written(&e)
	if len(what) == 0 {
		return
	}
	attempt := c.w.oracle.Begin(name, c.name+" restore of version "+e.Name, what...)
	_, err = ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
		return struct{}{}, m.Recycle.RestoreVersion(ctx, c.who, name, e.Name)
	})
	c.saw("restore %s as it was in version %s: %v", name, e.Name, err)
	c.w.oracle.End(attempt, err == nil, err != nil && !simnet.Lost(err))
}

// isVersion reports whether the path is one of a version.
// The oracle does not follow those by path: they move with their file.
func isVersion(name string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(dir string) bool {
		_, is := recycle.FileOfVersions(dir)
		return is
	})
}
