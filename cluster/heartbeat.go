package cluster

import (
	"context"
	"fmt"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// Heartbeat renews the lease and takes the report. The report of a node that has ended ends its lease. Fenced when the lease is over, or when the node
// has a new disk or one that was another's: registering again gives all of them.
func (c *Leases) Heartbeat(id hemera.NodeID, epoch hemera.Epoch, report hemera.NodeReport) (hemera.HeartbeatReply, error) {
	// Before the lock: what counts is when the node spoke, not when it was heard.
	reply, err := c.renew(id, epoch, report, c.journal.now())
	if err == nil {
		reply.Seen = c.marks.Mark()
	}
	return reply, err
}

// renew makes the reply of Heartbeat, without a mark, and changes memory alone.
func (c *Leases) renew(id hemera.NodeID, epoch hemera.Epoch, report hemera.NodeReport, came time.Time) (hemera.HeartbeatReply, error) {
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	n, err := c.lease(id, epoch, came)
	if err != nil {
		return hemera.HeartbeatReply{}, err
	}
	if len(report.Disks) > disksPerNodeMax {
		return hemera.HeartbeatReply{}, errs.New(errs.TooLarge, "cluster.Heartbeat", n.Addr, fmt.Sprintf("a node has at most %d disks", disksPerNodeMax))
	}
	reply := hemera.HeartbeatReply{Keys: c.keyring.nodeKeys(id), Barred: c.roster.removed.barred, Headroom: c.roster.headrooms(id), Attach: c.roster.attaches.of(id)}
	// Disks that changed hands need a registration, which is durable; a heartbeat changes no record.
	for _, r := range report.Disks {
		known := c.roster.disks.byUUID[r.UUID]
		_, asked := c.roster.attaches[attachRecord{Node: id, Path: r.Path}.key()]
		switch {
		// A disk without an id, or one that an admin wants back.
		case (known == nil || known.Removed) && (r.ID == 0 && known == nil || asked):
			return hemera.HeartbeatReply{}, errs.New(errs.Fenced, "cluster.Heartbeat", r.Path, "the disk is new: register")
		// It has an id that this cluster does not have, or was removed: the node must stop to use it.
		case known == nil || known.Removed:
			reply.Detach = append(reply.Detach, r.ID)
		// The usual case: the node reports its own disk.
		case known.Node == id:
		case claimStrength(r) > c.holderStrength(known):
			return hemera.HeartbeatReply{}, errs.New(errs.Fenced, "cluster.Heartbeat", r.Path, "the disk has come here: register")
		case claimStrength(r) == 0 && c.holderStrength(known) > 0:
			reply.Detach = append(reply.Detach, r.ID) // it has been moved away
		}
	}
	// The lease is renewed by the moment of the answer, so that a wait for the lock does not shorten it.
	n.last, n.stats, n.skew = c.journal.now(), boundedStats(report.Stats), 0
	if !report.Clock.IsZero() {
		// Round(0) drops the monotonic readings: the walls' clocks are compared.
		n.skew = report.Clock.Round(0).Sub(came.Round(0))
	}
	for _, u := range n.stats.Unusable { // the node tried a path that an admin wants, and could not
		if a, asked := c.roster.attaches[attachRecord{Node: id, Path: u.Path}.key()]; asked {
			c.refused = append(c.refused, a)
		}
	}
	// Loads and counts may be shown a moment late. What changes decisions is published below.
	c.views.dirty = true
	c.surveyor.note(id, report.Disks)
	changed := n.stopping != report.Stopping
	n.stopping = report.Stopping
	if report.Ended {
		n.online, changed = false, true
		c.journal.log.Info("node has stopped", "node", n.ID, "addr", n.Addr)
	}
	// A disk's health, or whether the node serves, changed.
	if c.takeReports(id, report.Disks, "its node does not report it") || changed {
		c.views.publishSoon()
	}
	return reply, nil
}

// dropRefusedAttaches forgets wishes for disks that their nodes could not use: the admin has seen why.
func (c *Leases) dropRefusedAttaches(ctx context.Context) error {
	return c.journal.update(ctx, func(ch *change) error {
		for _, a := range c.refused {
			ch.delete(a)
		}
		c.refused = nil
		return nil
	}, nil)
}
