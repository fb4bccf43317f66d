package load

import (
	"context"
	"fmt"
	"time"
)

// mdtest is the label pattern of the load Metadata. Its phases have the names of mdtest's rows, in lower case.
const mdtest = "mdtest"

// metadata returns the phases of mdtest for one iteration, in its order: each client makes a tree, and in it directories
// and empty files; each looks at those of another client (mdtest -N 1), and removes its own (mdtest -u).
func (o *Options) metadata(s set) []phase {
	// The client whose entries a phase uses.
	own := func(c *client) int { return c.id }
	other := (*client).neighbour
	each := func(whose func(*client) int, one entryWork) work { return o.entries(s, whose, one) }
	return []phase{
		{name: "tree-creation", entries: true, do: onTree(s, makeTree)},
		{name: "directory-creation", entries: true, do: each(own, func(ctx context.Context, c *client, name string) error {
			return c.tree.mkdir(ctx, c.target, name+".d")
		})},
		{name: "directory-stat", entries: true, cold: true, do: each(other, func(ctx context.Context, c *client, name string) error {
			return c.target.Stat(ctx, name+".d")
		})},
		{name: "directory-removal", entries: true, do: each(own, func(ctx context.Context, c *client, name string) error {
			return c.tree.rmdir(ctx, c.target, name+".d")
		})},
		{name: "file-creation", entries: true, do: each(own, createEmpty)},
		{name: "file-stat", entries: true, cold: true, do: each(other, func(ctx context.Context, c *client, name string) error {
			return c.target.Stat(ctx, name)
		})},
		{name: "file-read", entries: true, cold: true, do: each(other, openAndClose)},
		{name: "file-removal", entries: true, do: each(own, func(ctx context.Context, c *client, name string) error {
			return c.tree.remove(ctx, c.target, name)
		})},
		{name: "tree-removal", entries: true, do: onTree(s, removeTree)},
	}
}

// entryWork does one operation on one entry.
type entryWork func(ctx context.Context, c *client, name string) error

// entries returns the work in which each client does one operation on each entry of a client, one after another.
func (o *Options) entries(s set, whose func(*client) int, one entryWork) work {
	return func(ctx context.Context, c *client, n *count) error {
		// Directories and files have the same numbers; directories end with .d.
		dir := s.tree(whose(c))
		for i := range o.SmallFiles {
			if err := timed(n, func() error { return one(ctx, c, fmt.Sprintf("%s/entry%d", dir, i)) }); err != nil {
				return err
			}
		}
		return nil
	}
}

// tree returns the directory of a client's tree.
func (s set) tree(client int) string {
	return fmt.Sprintf("%s/%s%d-client%d", s.dir, s.letter, s.iteration, client)
}

// onTree returns the work in which each client does one operation on its tree.
func onTree(s set, one entryWork) work {
	return func(ctx context.Context, c *client, n *count) error {
		return timed(n, func() error { return one(ctx, c, s.tree(c.id)) })
	}
}

// timed counts one operation without bytes, if it succeeds.
func timed(n *count, one func() error) error {
	// A failed operation ends the phase, and its time is not a latency.
	start := time.Now()
	if err := one(); err != nil {
		return err
	}
	n.add(0, 0, time.Since(start))
	return nil
}

// makeTree makes the directory of a client's entries.
func makeTree(ctx context.Context, c *client, dir string) error {
	return c.tree.mkdir(ctx, c.target, dir)
}

func removeTree(ctx context.Context, c *client, dir string) error {
	return c.tree.rmdir(ctx, c.target, dir)
}

// createEmpty makes an empty file, durably if the options ask for it.
func createEmpty(ctx context.Context, c *client, name string) error {
	c.tree.file(name)
	f, err := c.target.Create(ctx, name, 0)
	if err != nil {
		return err
	}
	return f.Close(ctx)
}

// openAndClose opens and closes a file, like mdtest's read of files without bytes.
func openAndClose(ctx context.Context, c *client, name string) error {
	f, err := c.target.Open(ctx, name)
	if err != nil {
		return err
	}
	return f.Close(ctx)
}
