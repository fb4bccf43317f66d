package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/manager"
)

// renameFile moves one of the client's files to a fresh name.
func (c *client) renameFile(ctx context.Context, from string) {
	if c.w.oracle.doubt(from) {
		return // what it holds may still change, under either name
	}
	c.made++
	to := fmt.Sprintf("%s.moved%d", from, c.made)
	what := slices.DeleteFunc(c.w.oracle.possible(from), func(v content) bool { return v == absent })
	by := c.name + " rename from " + from
	leaves, comes := c.w.oracle.begin(from, by, absent), c.w.oracle.begin(to, by, what...)
	done, err := c.rename(ctx, from, to)
	c.saw("rename %s to %s: %t (%v)", from, to, done, err)
	c.w.oracle.end(leaves, done, !done)
	c.w.oracle.end(comes, done, !done)
}

// renameDir moves one of the client's directories to a fresh name.
func (c *client) renameDir(ctx context.Context) {
	i := c.rng.IntN(len(c.dirs))
	c.made++
	from, to := c.dirs[i], fmt.Sprintf("/%s/d%d", c.name, c.made+10)
	done, err := c.rename(ctx, from, to)
	c.saw("rename %s to %s: %t (%v)", from, to, done, err)
	if done {
		c.dirs[i] = to
		c.w.oracle.moved(from, to)
	}
}

// rename moves to a name that nobody else takes, and finds out whether it happened.
func (c *client) rename(ctx context.Context, from, to string) (bool, error) {
	_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
		return struct{}{}, m.Rename(ctx, c.who, from, to)
	})
	for last := err; lost(last); {
		rest(ctx, time.Second)
		_, last = ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (hemera.Entry, error) {
			return m.Stat(ctx, c.who, to)
		})
		if !lost(last) {
			return errs.KindOf(last) != errs.NotFound, err
		}
	}
	return err == nil, err
}
