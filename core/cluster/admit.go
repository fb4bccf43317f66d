package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"hemera"
	"hemera/errs"
)

// barTime is how long after a node's removal what it may have seen is refused: longer than any capability opens,
// whatever the clocks say.
const barTime = 24 * time.Hour

// zoneOf is the zone that a node names, none if that is no zone.
func zoneOf(h hemera.NodeHello) string {
	zone, err := zoneValue("node", cmp.Or(h.Zone, "-"))
	if err != nil {
		return ""
	}
	return zone
}

// newDisks is how new disks begin that the node which calls brings by itself. Those of this process are the
// admin's own.
func (c *Cluster) newDisks(ctx context.Context) hemera.DiskConfig {
	if _, remote := hemera.Caller(ctx); remote && c.disksOff {
		return hemera.ConfigOff
	}
	return hemera.ConfigRW
}

// wait records who wants to be admitted and where it is, and refuses it until an admin did. Denied.
func (c *Cluster) wait(ctx context.Context, rec nodeRecord) error {
	if c.nodes[rec.ID] == nil || c.nodes[rec.ID].nodeRecord != rec {
		var ch change
		ch.put(rec)
		if err := c.change(ctx, &ch); err != nil {
			return err
		}
		c.log.Warn("a node wants to be admitted", "node", rec.ID, "addr", rec.Addr, "remedy", "`hemera node admit "+rec.ID.String()+"`, or `hemera node rm "+rec.ID.String()+"`")
	}
	return waiting("cluster.Register", rec.ID)
}

func waiting(op string, id hemera.NodeID) error {
	return errs.New(errs.Denied, op, "node "+id.String(), "the node waits for an admin to admit it").
		WithRemedy("at the manager: `hemera node admit " + id.String() + "`")
}

// AdmitNode lets a node in that waits for it; it registers by itself within seconds. NotFound, and Invalid for one that
// does not wait.
func (c *Cluster) AdmitNode(ctx context.Context, id hemera.NodeID) error {
	const op = "cluster.Admit"
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[id]
	if n == nil {
		return errs.New(errs.NotFound, op, "node "+id.String(), "no such node").WithRemedy("see `hemera node ls`")
	}
	if !n.Waiting {
		return errs.New(errs.Invalid, op, "node "+id.String(), "it does not wait: it was admitted before")
	}
	rec := n.nodeRecord
	rec.Waiting = false
	var ch change
	ch.put(rec)
	return c.change(ctx, &ch)
}

// RemoveNode forgets a node that has no disks. Its certificate is worth nothing from then on: it must
// join anew. NotEmpty while it has disks.
func (c *Cluster) RemoveNode(ctx context.Context, id hemera.NodeID) error {
	return c.removeNode(ctx, id, false)
}

// ExpelNode forgets a node and its disks, which are lost or in bad hands: what they held is made anew from other
// pieces where there are any.
func (c *Cluster) ExpelNode(ctx context.Context, id hemera.NodeID) error {
	return c.removeNode(ctx, id, true)
}

func (c *Cluster) removeNode(ctx context.Context, id hemera.NodeID, disks bool) error {
	const op = "cluster.Remove"
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[id]
	if n == nil {
		return errs.New(errs.NotFound, op, "node "+id.String(), "no such node").WithRemedy("see `hemera node ls`")
	}
	var ch change
	ch.put(removedRecord{ID: id, At: c.now()})
	ch.delete(n.nodeRecord)
	for _, d := range c.byNode[id] {
		if d.Removed {
			continue
		}
		if !disks {
			return errs.New(errs.NotEmpty, op, "node "+id.String(), "it has disk "+d.ID.String()).
				WithRemedy("remove its disks first: `hemera fs set " + d.ID.String() + " drain`, then `hemera fs rm " + d.ID.String() + "`; one that is lost or in bad hands goes at once with --now")
		}
		rec := d.diskRecord
		rec.Removed, rec.RemovedAt, rec.RemovedAddr = true, c.now().Unix(), n.Addr
		ch.put(rec)
	}
	for _, a := range c.attaches {
		if a.Node == id {
			ch.delete(a)
		}
	}
	if len(c.keys) < keysHeld {
		c.putKey(&ch)
	}
	if err := c.change(ctx, &ch); err != nil {
		return err
	}
	c.refreshRing()
	c.log.Warn("a node was removed", "node", id, "addr", n.Addr, "disks", disks)
	return nil
}

// unbar forgets removals of long ago: no capability of that time opens any more.
func (c *Cluster) unbar(ctx context.Context) error {
	var ch change
	for _, r := range c.removed {
		if age := c.now().Sub(r.At); age > barTime || age < -barTime {
			ch.delete(r)
		}
	}
	return c.commit(ctx, &ch)
}

// rebar makes the list of removed nodes that nodes are told. It is not changed in place.
func (c *Cluster) rebar() { c.barred = slices.Sorted(maps.Keys(c.removed)) }
