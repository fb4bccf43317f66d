package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hemera/manager"
	"hemera/test/sim/simnet"
	"hemera/words/hemera"
)

// setUp makes the client's directories, before any fault.
// The network is calm then, so an error is a real one.
func (c *client) setUp(ctx context.Context) error {
	for _, dir := range append(slices.Clone(c.dirs), shared) {
		_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (hemera.Entry, error) {
			return m.Names.Mkdir(ctx, c.who, dir, 0o777, true)
		})
		if err != nil {
			return err
		}
	}
	if err := c.setLayouts(ctx); err != nil {
		return err
	}
	if err := setClasses(ctx, c); err != nil {
		return err
	}
	return c.setKeeping(ctx)
}

// run works until the context ends; what is begun is ended.
// Operations get a context without end: a client that stops in the middle would leave the outcome in doubt.
func (c *client) run(ctx context.Context) {
	for ctx.Err() == nil {
		c.step(context.WithoutCancel(ctx))
		simnet.Rest(ctx, time.Duration(c.rng.Int64N(int64(c.w.plan.pause))))
	}
}

// step does one random operation and tells the oracle what was acknowledged.
func (c *client) step(ctx context.Context) {
	// Few names, so that clients and operations meet at the same file.
	dir := c.dirs[c.rng.IntN(len(c.dirs))]
	own := c.rng.IntN(4) != 0
	path := fmt.Sprintf("%s/f%d", dir, c.rng.IntN(4))
	if !own {
		path = fmt.Sprintf("%s/f%d", shared, c.rng.IntN(3))
	}
	if c.w.plan.keeps() && c.rng.IntN(6) == 0 {
		c.revisit(ctx, path)
		return
	}
	if c.w.plan.tape && c.rng.IntN(5) == 0 {
		tapeUser{c}.step(ctx, path)
		return
	}
	// Writes and reads, those with cuts included, are nearly three quarters of all.
	switch c.rng.IntN(25) {
	case 0, 1, 2, 3, 4, 5:
		c.write(ctx, path, hemera.AccessCreate)
	case 6, 7, 8:
		c.write(ctx, path, hemera.AccessUpdate)
	case 9, 10, 11, 12, 13, 14:
		c.read(ctx, path)
	// Two in 25: most names should have a file.
	case 15, 16:
		c.remove(ctx, path)
	case 17, 18:
		if own {
			c.renameFile(ctx, path)
		}
	// Directories seldom: each takes several files along.
	case 19:
		c.moves(ctx, c.renameDir)
	case 20:
		c.moves(ctx, c.makeDir)
	case 21:
		c.moves(ctx, c.removeDir)
	case 22, 23, 24:
		c.cutRead(ctx)
	}
}
