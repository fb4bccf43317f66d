package cluster

import (
	"context"
	"fmt"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// awaitNodes begins to wait for one of the nodes that the store knows, if there are any. mu is held.
func (c *Marks) awaitNodes() {
	c.current.since, c.current.first = c.journal.now(), c.roster.next.Node
	for _, n := range c.roster.nodes.all {
		if !n.Waiting {
			return
		}
	}
	// A store without admitted nodes is new, or no node can say otherwise: there is nothing to wait for.
	c.current.decide()
}

// Loaded begins the wait for a node again, as nodes can reach the manager from now on. It is called before anything else uses the marks.
func (c *Marks) Loaded() { c.current.since = c.journal.now() }

// stranger notes that a node came which this store does not know and never removed. A store without nodes is then a new one in
// the place of that node's: clients wait, as what they look for may be there. mu is held.
func (c *Marks) stranger(h hemera.NodeHello) {
	if _, removed := c.roster.removed.all[h.ID]; removed || len(c.roster.nodes.all) > 0 {
		return
	}
	c.current.foreign.Store(errs.New(errs.Unavailable, "cluster.Change", "", fmt.Sprintf("this cluster is new, and node %d at %s is of another", h.ID, h.Addr)).
		WithRemedy("stop the manager and start it with the directory of that cluster; if it is lost, restore a backup with `hemera ns restore`, or see `hemera ns rebuild prepare`"))
}

// Current fails with Unavailable while changes may not be made: while it is not known whether the store is as new as the cluster, for good when it is
// not, and during a rebuild.
func (c *Marks) Current() error {
	if err := c.newest(); err != nil {
		return err
	}
	return c.checkRebuilt()
}

// newest does what Current does, without the rebuild.
func (c *Marks) newest() error {
	if err := c.current.outdated.Load(); err != nil {
		return &errs.Error{Kind: errs.Unavailable, Op: "cluster.Change", Text: "the manager ends", Cause: err}
	}
	if err := c.current.foreign.Load(); err != nil {
		return err
	}
	if c.undecided() <= 0 {
		return nil
	}
	return errs.New(errs.Unavailable, "cluster.Change", "", "the manager has just started, and waits for its nodes")
}

// Deciding reports whether [Marks.Current] fails because it is not known yet whether the store is as new as the cluster.
func (c *Marks) Deciding() bool { return c.undecided() > 0 }

// undecided returns the longest time that the decision may still take.
func (c *Marks) undecided() time.Duration {
	select {
	case <-c.current.known:
		return 0
	default:
		return currentTime - c.journal.now().Sub(c.current.since)
	}
}

// AwaitCurrent waits until changes may be made, at most until ctx ends. Unavailable when the store is older than the
// cluster, and during a rebuild.
func (c *Marks) AwaitCurrent(ctx context.Context) error {
	if err := c.AwaitNewest(ctx); err != nil {
		return err
	}
	return c.checkRebuilt()
}

// AwaitNewest waits as AwaitCurrent does, and is nil during a rebuild: for what disks and tapes tell of lost files.
func (c *Marks) AwaitNewest(ctx context.Context) error {
	if left := c.undecided(); left > 0 {
		late := time.NewTimer(left)
		defer late.Stop()
		select {
		case <-c.current.known:
		case <-late.C:
			c.current.decide()
		case <-ctx.Done():
			return errs.Wrap(ctx.Err(), "cluster.Change", "")
		}
	}
	return c.newest()
}

// checkRebuilt fails with Unavailable while the namespace is being rebuilt: clients wait, as for a manager that is not
// there.
func (c *Marks) checkRebuilt() error {
	if !c.roster.rebuild.now() {
		return nil
	}
	return errs.New(errs.Unavailable, "cluster.Change", "", "the namespace is being rebuilt").
		WithRemedy("an admin ends this with `hemera ns rebuild finish`")
}
