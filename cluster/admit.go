package cluster

import (
	"context"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// barTime is the time after a node's removal in which the secrets that it may have seen are refused: longer than any
// capability opens, whatever the clocks say.
const barTime = 24 * time.Hour

// AdmitNode lets a node in that waits for it; it registers by itself within seconds. NotFound, and Invalid for one that
// does not wait.
func (c *Admin) AdmitNode(ctx context.Context, id hemera.NodeID) error {
	const op = "cluster.Admit"
	return c.journal.update(ctx, func(ch *change) error {
		n := c.roster.nodes.all[id]
		if n == nil {
			return errs.New(errs.NotFound, op, "node "+id.String(), "no such node").WithRemedy("see `hemera node ls`")
		}
		if !n.Waiting {
			return errs.New(errs.Invalid, op, "node "+id.String(), "it does not wait: it was admitted before")
		}
		rec := n.nodeRecord
		rec.Waiting = false
		ch.put(rec)
		return nil
	}, c.views.publish)
}

// RemoveNode forgets a node that has no disks. Its certificate is worth nothing from then on: it must
// join again. NotEmpty while it has disks.
func (c *Admin) RemoveNode(ctx context.Context, id hemera.NodeID) error {
	return c.removeNode(ctx, id, false)
}

// ExpelNode forgets a node and its disks, which are lost or in bad hands: what they held is made again from other
// pieces where there are any.
func (c *Admin) ExpelNode(ctx context.Context, id hemera.NodeID) error {
	return c.removeNode(ctx, id, true)
}

// removeNode removes a node, with its disks if disks is set. A new key goes with the removal, so that what
// the removed node may still see of later capabilities is nothing.
func (c *Admin) removeNode(ctx context.Context, id hemera.NodeID, disks bool) error {
	var addr string
	return c.journal.update(ctx, func(ch *change) error {
		n := c.roster.nodes.all[id]
		if n == nil {
			return errs.New(errs.NotFound, "cluster.Remove", "node "+id.String(), "no such node").WithRemedy("see `hemera node ls`")
		}
		addr = n.Addr // for the log: the record is gone by then
		ch.put(removedRecord{ID: id, At: c.journal.now()})
		ch.delete(n.nodeRecord)
		if err := c.removeDisks(ch, n, disks); err != nil {
			return err
		}
		for _, a := range c.roster.attaches {
			if a.Node == id {
				ch.delete(a)
			}
		}
		// With too many keys held the removal continues without a new one: the node is barred in any case.
		if len(c.keyring.table) < keysHeld {
			c.keyring.putKey(ch)
		}
		return nil
	}, func() {
		c.views.publish()
		c.keyring.refreshRing()
		c.journal.log.Warn("a node was removed", "node", id, "addr", addr, "disks", disks)
	})
}

// removeDisks puts the removal of a node's disks into the change. NotEmpty if it has some and they must stay. mu is held.
func (c *Admin) removeDisks(ch *change, n *node, disks bool) error {
	for _, d := range c.roster.disks.byNode[n.ID] {
		if d.Removed {
			continue
		}
		if !disks {
			return errs.New(errs.NotEmpty, "cluster.Remove", "node "+n.ID.String(), "it has disk "+d.ID.String()).
				WithRemedy("remove its disks first: `hemera fs set " + d.ID.String() + " drain`, then `hemera fs rm " + d.ID.String() + "`; one that is lost or in bad hands goes at once with --now")
		}
		rec := d.diskRecord
		rec.Removed, rec.RemovedAt, rec.RemovedAddr = true, c.journal.now().Unix(), n.Addr
		ch.put(rec)
	}
	return nil
}

// unbar forgets removals of long ago: no capability of that time opens any more.
func (c *Admin) unbar(ctx context.Context) error {
	return c.journal.update(ctx, func(ch *change) error {
		for _, r := range c.roster.removed.all {
			// A removal far in the future was noted by a clock that was wrong, and would never end.
			if age := c.journal.now().Sub(r.At); age > barTime || age < -barTime {
				ch.delete(r)
			}
		}
		return nil
	}, nil)
}

// ReserveNode makes an id, and a record, for a node that is being admitted; it registers with that id.
func (c *Admin) ReserveNode(ctx context.Context) (id hemera.NodeID, err error) {
	err = c.journal.update(ctx, func(ch *change) error {
		// The id is stored before it is given out, so that no second node can get it after a crash.
		next := c.roster.next
		id = next.Node
		next.Node++
		ch.put(nodeRecord{ID: id, Waiting: c.approve})
		ch.put(next)
		return nil
	}, c.views.publish)
	if err != nil {
		return 0, err
	}
	return id, nil
}
