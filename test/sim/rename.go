package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hemera/manager"
	"hemera/test/sim/register"
	"hemera/test/sim/simnet"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// renameFile moves one of the client's files to a fresh name.
// The oracle has two changes for it: the old name loses its content, the new one gains it.
func (c *client) renameFile(ctx context.Context, from string) {
	// A change in doubt could take effect after the rename, and then under a name the oracle does not expect.
	if c.w.oracle.Doubt(from) {
		return // what it holds may still change, under either name
	}
	c.made++
	to := fmt.Sprintf("%s.moved%d", from, c.made)
	// Absent as well would mean that the file may not exist; then the rename fails and both changes are refused.
	what := slices.DeleteFunc(c.w.oracle.Possible(from), func(v register.Content) bool { return v == register.Absent })
	by := c.name + " rename from " + from
	leaves, comes := c.w.oracle.Begin(from, by, register.Absent), c.w.oracle.Begin(to, by, what...)
	done, err := c.rename(ctx, from, to)
	c.saw("rename %s to %s: %t (%v)", from, to, done, err)
	c.w.oracle.End(leaves, done, !done)
	c.w.oracle.End(comes, done, !done)
}

// moves makes, moves or removes a directory, unless managers are being exchanged.
func (c *client) moves(ctx context.Context, do func(context.Context)) {
	// First counted, then asked: the nemesis raises still and then waits for moving to be zero.
	c.w.keeper.moving.Add(1)
	defer c.w.keeper.moving.Add(-1)
	if c.w.keeper.still.Load() == 0 {
		do(ctx)
	}
}

// renameDir moves one of the client's directories to a fresh name.
// The directory is the client's alone, so nothing else is under way below it.
func (c *client) renameDir(ctx context.Context) {
	i := c.rng.IntN(len(c.dirs))
	c.made++
	from, to := c.dirs[i], fmt.Sprintf("/%s/d%d", c.name, c.made+10)
	done, err := c.rename(ctx, from, to)
	c.saw("rename %s to %s: %t (%v)", from, to, done, err)
	if done {
		c.dirs[i] = to
		c.w.oracle.Moved(from, to)
	}
}

// rename moves to a name that nobody else takes, and finds out whether it happened.
// Rename is not idempotent, but fresh names make its outcome visible: the target exists or not.
func (c *client) rename(ctx context.Context, from, to string) (bool, error) {
	_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
		return struct{}{}, m.Names.Rename(ctx, c.who, from, to)
	})
	if simnet.Lost(err) {
		return c.exists(ctx, to), err
	}
	return err == nil, err
}

// exists asks until it knows whether the path exists.
// Any answer but NotFound means that it does. It fails the simulation if there is none.
func (c *client) exists(ctx context.Context, path string) bool {
	const tries = 600 // the manager is never away for as long
	for range tries {
		_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (hemera.Entry, error) {
			return m.Names.Stat(ctx, c.who, path)
		})
		if err == nil || !simnet.Lost(err) {
			return err == nil || errs.KindOf(err) != errs.NotFound
		}
		simnet.Rest(ctx, time.Second)
	}
	c.w.fail("%s cannot find out whether %s exists", c.name, path)
	return false
}

// dirsMax bounds the directories of a client.
const dirsMax = 4

// makeDir makes a directory with a random name.
// Only names the client has never had: a second directory of one name would share the oracle's history.
func (c *client) makeDir(ctx context.Context) {
	if len(c.dirs) == dirsMax {
		return
	}
	c.made++
	dir := fmt.Sprintf("/%s/d%d", c.name, c.made+10)
	_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (hemera.Entry, error) {
		return m.Names.Mkdir(ctx, c.who, dir, 0o777, false)
	})
	done := err == nil || simnet.Lost(err) && c.exists(ctx, dir)
	c.saw("mkdir %s: %t (%v)", dir, done, err)
	if done {
		c.dirs = append(c.dirs, dir)
	}
}

// removeDir removes one of the client's directories if it is empty: nothing may be in it then.
// The last one stays, so that the client always has a place to work.
func (c *client) removeDir(ctx context.Context) {
	if len(c.dirs) == 1 {
		return
	}
	i := c.rng.IntN(len(c.dirs))
	dir, start := c.dirs[i], c.w.oracle.Tick()
	_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
		return struct{}{}, m.Names.Remove(ctx, c.who, dir, hemera.KindDirectory)
	})
	done := err == nil || simnet.Lost(err) && !c.exists(ctx, dir)
	c.saw("rmdir %s: %t (%v)", dir, done, err)
	if !done {
		return
	}
	c.dirs = slices.Delete(c.dirs, i, i+1)
	// Every path below it must have been absent at some instant of the removal.
	for _, path := range c.w.oracle.Known() {
		if strings.HasPrefix(path, dir+"/") {
			if wrong := c.w.oracle.Read(path, start, register.Absent); wrong != "" {
				c.w.fail("%s was removed as empty: %s", dir, wrong)
			}
		}
	}
}
