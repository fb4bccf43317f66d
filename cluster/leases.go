package cluster

import (
	"fmt"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// Leases registers nodes, renews their leases and takes their reports.
type Leases struct {
	journal  *journal
	roster   *roster
	views    *viewer
	keyring  *Keys
	surveyor *Surveys
	marks    *Marks
	manager  string         // the manager's xrd door, told to nodes
	disksOff bool           // new disks of nodes begin as off
	refused  []attachRecord // wishes that nodes could not fulfil, to be dropped; guarded by mu
}

// Member refuses a node that was removed, whose certificate is still good, and one that waits to be admitted. NotFound, Denied.
func (c *Leases) Member(id hemera.NodeID) error {
	switch admitted, known := c.roster.nodes.members.Load(id); {
	case !known:
		c.journal.mu.Lock()
		defer c.journal.mu.Unlock()
		if c.roster.returning(id) {
			return nil // it is about to register
		}
		return noMember("cluster.Member", id)
	case admitted == false:
		return waiting("cluster.Member", id)
	}
	return nil
}

// Leased refuses a node whose lease is not in force: NotFound for one that is no member, Unavailable for one that
// has to register first.
func (c *Leases) Leased(id hemera.NodeID) error {
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	n := c.roster.nodes.all[id]
	if n == nil {
		return noMember("cluster.Leased", id)
	}
	if !n.leased(c.journal.now()) {
		return errs.New(errs.Unavailable, "cluster.Leased", "node "+id.String(), "the node has no lease: it registers first")
	}
	return nil
}

// Check fails with Fenced unless the node's lease with the epoch is in force.
func (c *Leases) Check(id hemera.NodeID, epoch hemera.Epoch) error {
	came := c.journal.now()
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	_, err := c.lease(id, epoch, came)
	return err
}

// lease returns the node, if it holds the lease. What counts is when its call came: one that had to wait
// here, for a slow store, is not the node's silence.
func (c *Leases) lease(id hemera.NodeID, epoch hemera.Epoch, came time.Time) (*node, error) {
	n := c.roster.nodes.all[id]
	if n == nil {
		return nil, errs.New(errs.Fenced, "cluster.CheckLease", "node "+id.String(), "the node is not known: register")
	}
	if n.online && came.Sub(n.last) > hemera.HeartbeatTimeout {
		// The ticker has not seen it yet; a late call must not find the lease alive.
		c.endLease(n, came)
	}
	if !n.online || n.Epoch != epoch {
		return nil, errs.New(errs.Fenced, "cluster.CheckLease", "node "+id.String(),
			fmt.Sprintf("the lease of epoch %d is over: register", epoch))
	}
	return n, nil
}

// endLeases ends the leases of nodes that fell silent, and shows reports that no view shows yet.
func (c *Leases) endLeases() {
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	now := c.journal.now()
	for _, n := range c.roster.nodes.all {
		if n.online && now.Sub(n.last) > hemera.HeartbeatTimeout {
			c.endLease(n, now)
		}
	}
	if c.views.dirty {
		c.views.publish()
	}
}

// endLease takes a silent node offline. The next view shows it. mu is held.
func (c *Leases) endLease(n *node, now time.Time) {
	n.online, c.views.dirty = false, true
	c.journal.log.Warn("node is offline", "node", n.ID, "addr", n.Addr, "silent", now.Sub(n.last).Round(time.Millisecond))
}

// holderStrength returns the claim of the node that has the disk. One that is offline has none: a disk moves by being
// mounted elsewhere. While it is there in good health, another node that shows it has a copy, or an old list.
func (c *Leases) holderStrength(d *disk) int {
	if n := c.roster.nodes.all[d.Node]; n == nil || !n.leased(c.journal.now()) {
		return 0
	}
	return claimStrength(d.report)
}

// takeReports stores what a node says of its disks; disks it has but does not name are gone.
func (c *Leases) takeReports(on hemera.NodeID, reports []hemera.NodeDisk, why string) (changed bool) {
	named := map[string]hemera.NodeDisk{}
	for _, r := range reports {
		named[r.UUID] = r
	}
	for _, d := range c.roster.disks.byNode[on] {
		r, ok := named[d.UUID]
		if !ok {
			// Sizes stay as they were, so that sums over the cluster do not jump when a disk goes.
			r = absent(d.diskRecord, why)
			r.DiskStats = d.report.DiskStats
			r.Free, r.Load = 0, hemera.DiskLoad{} // nothing can be written, and nothing is under way
		}
		changed = changed || r.Health != d.report.Health
		d.report = boundedDisk(r)
	}
	return changed
}
