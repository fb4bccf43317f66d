package cluster

import (
	"cmp"
	"context"
	"slices"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// Register introduces a node and its disks, gives new ones ids, and begins a new lease. A node
// without an id is taken for the one that holds its disks, else for the one at its address: it lost
// its state or our answer. Invalid when the report makes no sense; NotFound for an id of another
// cluster; Conflict for an address that another node has, or a node that has another: to be tried again.
func (c *Leases) Register(ctx context.Context, hello hemera.NodeHello) (hemera.NodeWelcome, error) {
	if err := checkHello(hello); err != nil {
		return hemera.NodeWelcome{}, err
	}
	var rec nodeRecord
	var welcome hemera.NodeWelcome
	err := c.journal.update(ctx, func(ch *change) (err error) {
		// Before anything is recorded: an outdated store must not give out a lease.
		if err := c.marks.checkSeen(hello); err != nil {
			return err
		}
		rec, err = c.admitted(ctx, ch, hello)
		return err
	}, func() {
		if rec.Waiting {
			// An admin has to see at once that a node waits.
			c.views.publish()
			c.journal.log.Warn("a node wants to be admitted", "node", rec.ID, "addr", rec.Addr, "remedy", "`hemera node admit "+rec.ID.String()+"`, or `hemera node rm "+rec.ID.String()+"`")
			return
		}
		c.marks.current.foreign.Store(nil) // an admin has let it join again
		n := c.roster.nodes.all[rec.ID]
		n.online, n.stopping, n.last = true, false, c.journal.now()
		// A node of an earlier life has registered and its mark was good, so the store is as new as the cluster.
		if n.ID < c.marks.current.first {
			c.marks.current.decide()
		}
		c.takeReports(n.ID, hello.Disks, "its node does not report it")
		c.views.publishSoon()
		c.journal.log.Info("node registered", "node", n.ID, "addr", n.Addr, "epoch", n.Epoch, "disks", len(hello.Disks))
		welcome = c.welcome(n)
	})
	if err == nil && rec.Waiting {
		err = waiting("cluster.Register", rec.ID)
	}
	if err == nil {
		welcome.Seen = c.marks.Mark()
	}
	return welcome, err
}

// admitted puts a node that registers into the change, with its disks. Of one that waits to be admitted it puts only who
// it is and where. mu is held.
func (c *Leases) admitted(ctx context.Context, ch *change, hello hemera.NodeHello) (nodeRecord, error) {
	next := c.roster.next
	rec, err := c.identify(hello)
	if err != nil {
		return rec, err
	}
	if err := c.checkAddr(rec.ID, hello.Addr); err != nil {
		return rec, err
	}
	if rec.ID == 0 {
		rec.ID = next.Node
		next.Node++
	}
	next.Node = max(next.Node, rec.ID+1) // one of before a rebuild has an id of its own
	rec.Addr, rec.Zone, rec.Version = hello.Addr, zoneOf(hello), text(hello.Version)
	// No epoch, no disks: a waiting node has no lease and reports nothing.
	if rec.Waiting {
		if c.roster.nodes.all[rec.ID] == nil || c.roster.nodes.all[rec.ID].nodeRecord != rec {
			ch.put(rec)
		}
		return rec, nil
	}
	// The old lease ends with this change: calls under it are Fenced from then on.
	rec.Epoch++
	config := c.newDisks(ctx)
	for _, d := range hello.Disks {
		c.recordDisk(ch, &next, rec.ID, d, config)
	}
	c.replaceNode(ch, rec)
	ch.put(rec)
	if hello.Unclean {
		c.surveyor.hasten(ch, c.roster.disks.byNode[rec.ID])
	}
	if next != c.roster.next {
		ch.puts = slices.Insert[[]record, record](ch.puts, 0, next) // ids are taken before anything has them
	}
	return rec, nil
}

// identify finds the record of a node that registers, or an empty one for a new node.
func (c *Leases) identify(h hemera.NodeHello) (nodeRecord, error) {
	if h.ID != 0 {
		// The transport has checked that the id is the certificate's.
		if n := c.roster.nodes.all[h.ID]; n != nil {
			return n.nodeRecord, nil
		}
		if c.roster.returning(h.ID) {
			return nodeRecord{ID: h.ID}, nil
		}
		c.marks.stranger(h)
		return nodeRecord{}, noMember("cluster.Register", h.ID)
	}
	for _, d := range h.Disks { // it lost its state: its disks say who it is, unless their node is alive
		if known := c.roster.disks.byUUID[d.UUID]; known != nil && c.roster.nodes.all[known.Node] != nil && !c.roster.nodes.all[known.Node].leased(c.journal.now()) {
			return c.roster.nodes.all[known.Node].nodeRecord, nil
		}
	}
	for _, n := range c.roster.nodes.all { // it has no disk that is known, and was here before
		if n.Addr == h.Addr {
			return n.nodeRecord, nil
		}
	}
	return nodeRecord{}, nil
}

// checkAddr refuses an address that another node has now: clients would be sent to either of them for what
// only one has. It also refuses a node that is at another address now: somebody has a copy of its state, and
// the two would take each other's lease for ever.
func (c *Leases) checkAddr(id hemera.NodeID, addr string) error {
	for _, n := range c.roster.nodes.all {
		if (n.ID == id) == (n.Addr == addr) || !n.leased(c.journal.now()) {
			continue
		}
		if n.ID == id {
			return errs.New(errs.Conflict, "cluster.Register", addr, "node "+id.String()+" is at "+n.Addr+" now").
				WithRemedy("a node that was given another address or port waits some seconds; if that is another machine, this one has a copy of its state: remove that here, not the disks, and join with a token")
		}
		return errs.New(errs.Conflict, "cluster.Register", addr, "node "+n.ID.String()+" has this address").
			WithRemedy("give each node an address of its own with --listen, --port or --advertise; a node that was just admitted again waits some seconds")
	}
	return nil
}

// replaceNode forgets the node that this one is the successor of: a machine that lost its state was admitted again. The successor has had no disk, and
// takes the address and all disks of the other. A node that has disks, or takes an address alone, replaces no other node: that one still has its
// identity, and is about to come back with it. mu is held.
func (c *Leases) replaceNode(ch *change, by nodeRecord) {
	if len(c.roster.disks.byNode[by.ID]) > 0 {
		return
	}
	for _, n := range c.roster.nodes.all {
		if n.ID == by.ID || n.Addr != by.Addr || n.leased(c.journal.now()) || len(c.roster.disks.byNode[n.ID]) == 0 {
			continue
		}
		left := false
		for _, d := range c.roster.disks.byNode[n.ID] {
			moved := slices.ContainsFunc(ch.puts, func(r record) bool {
				now, ok := r.(diskRecord)
				return ok && now.ID == d.ID && now.Node != n.ID
			})
			left = left || !moved
		}
		if !left {
			ch.delete(n.nodeRecord)
		}
	}
}

// recordDisk puts a reported disk into the change: a known one may have moved to this path, or to this node
// if the one that had it does not any more; a new one gets an id. A disk that carries an id we do not know was removed, or is another
// cluster's: it is left alone unless an admin added it.
func (c *Leases) recordDisk(ch *change, next *nextRecord, on hemera.NodeID, d hemera.NodeDisk, config hemera.DiskConfig) {
	// An admin's wish for this path is fulfilled, whatever disk is there.
	wanted, asked := c.roster.attaches[attachRecord{Node: on, Path: d.Path}.key()]
	if asked {
		ch.delete(wanted)
	}
	if known := c.roster.disks.byUUID[d.UUID]; known != nil {
		rec := known.diskRecord
		if rec.Removed && !asked {
			return
		}
		if rec.Node != on && !rec.Removed && c.holderStrength(known) >= claimStrength(d) {
			c.journal.log.Warn("disk is not used at this node: another has it, or it is not there", "disk", rec.ID, "node", on, "path", d.Path, "health", d.Health,
				"holder", rec.Node, "there", rec.Path, "pieces", d.Pieces, "pieces there", known.report.Pieces,
				"remedy", "one of the two is a copy: if it is the one in use, `hemera fsck report` calls its pieces missing; unmount it and restart its node, and this one is used")
			return
		}
		rec.Node, rec.Path, rec.Removed, rec.RemovedAt, rec.RemovedAddr = on, d.Path, false, 0, ""
		if rec != known.diskRecord {
			ch.put(rec)
		}
		c.surveyor.reported(ch, rec.ID, d)
		return
	}
	if d.ID != 0 && !asked && !c.roster.rebuild.now() { // its node has an id for it that this cluster does not have
		c.journal.log.Warn("disk of another cluster, or removed from this one, is not used", "node", on, "path", d.Path, "disk", d.ID)
		return
	}
	rec := diskRecord{ID: c.roster.claim(ch, next, d), UUID: d.UUID, Node: on, Path: d.Path, Space: d.Space, Config: config}
	if asked { // an admin said what it is for, and that it is to be used
		rec.Space, rec.Config = wanted.Space, hemera.ConfigRW
	}
	if rec.Space == "" {
		rec.Space = hemera.DefaultSpace
	}
	if _, ok := c.roster.spaces[rec.Space]; !ok {
		// Spaces are an admin's, and files of another policy shall not go to the disk unasked.
		c.journal.log.Warn("a new disk is off: its node names a space that there is not", "disk", rec.ID, "node", on, "path", text(d.Path), "space", text(string(d.Space)),
			"remedy", "make the space with `hemera space set NAME define=on`, then `hemera fs set "+rec.ID.String()+" space=NAME configstatus=rw`")
		rec.Space, rec.Config = hemera.DefaultSpace, hemera.ConfigOff
	}
	ch.put(rec)
	c.surveyor.reported(ch, rec.ID, d)
}

// welcome returns what a node needs to serve, as of now, without a mark. Removed and absent disks get no id. mu is held.
func (c *Leases) welcome(n *node) hemera.NodeWelcome {
	w := hemera.NodeWelcome{
		ID: n.ID, Epoch: n.Epoch, DiskIDs: map[string]hemera.DiskID{}, Keys: c.keyring.nodeKeys(n.ID), Barred: c.roster.removed.barred,
		ManagerAddr: c.manager, Headroom: c.roster.headrooms(n.ID),
	}
	for _, d := range c.roster.disks.byNode[n.ID] {
		if !d.Removed && d.report.Health != hemera.HealthGone {
			w.DiskIDs[d.UUID] = d.ID
		}
	}
	return w
}

// zoneOf returns the zone that a node names, none if that is no zone.
func zoneOf(h hemera.NodeHello) string {
	zone, err := zoneValue("node", cmp.Or(h.Zone, "-"))
	if err != nil {
		return ""
	}
	return zone
}

// newDisks returns the first settings of new disks that a node brings by itself. Those of this process are the admin's
// own.
func (c *Leases) newDisks(ctx context.Context) hemera.DiskConfig {
	if _, remote := hemera.Caller(ctx); remote && c.disksOff {
		return hemera.ConfigOff
	}
	return hemera.ConfigRW
}
