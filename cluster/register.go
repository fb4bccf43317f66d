package cluster

import (
	"context"
	"slices"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// Leases registers nodes, renews their leases and takes their reports.
type Leases struct {
	state    *state
	keyring  *Keys
	surveyor *Surveys
	marks    *Marks
	manager  string         // the manager's xrd door, told to nodes
	disksOff bool           // new disks of nodes begin as off
	refused  []attachRecord // wishes that nodes could not fulfil, to be dropped; guarded by mu
}

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
	err := c.state.update(ctx, func(ch *change) (err error) {
		// Before anything is recorded: an outdated store must not give out a lease.
		if err := c.marks.checkSeen(hello); err != nil {
			return err
		}
		rec, err = c.admitted(ctx, ch, hello)
		return err
	}, func() {
		if rec.Waiting {
			// An admin has to see at once that a node waits.
			c.state.publish()
			c.state.log.Warn("a node wants to be admitted", "node", rec.ID, "addr", rec.Addr, "remedy", "`hemera node admit "+rec.ID.String()+"`, or `hemera node rm "+rec.ID.String()+"`")
			return
		}
		c.marks.current.foreign.Store(nil) // an admin has let it join again
		n := c.state.nodes[rec.ID]
		n.online, n.stopping, n.last = true, false, c.state.now()
		// A node of an earlier life has registered and its mark was good, so the store is as new as the cluster.
		if n.ID < c.marks.current.first {
			c.marks.current.decide()
		}
		c.takeReports(n.ID, hello.Disks, "its node does not report it")
		c.state.publishSoon()
		c.state.log.Info("node registered", "node", n.ID, "addr", n.Addr, "epoch", n.Epoch, "disks", len(hello.Disks))
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
	next := c.state.next
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
		if c.state.nodes[rec.ID] == nil || c.state.nodes[rec.ID].nodeRecord != rec {
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
		c.surveyor.hasten(ch, c.state.byNode[rec.ID])
	}
	if next != c.state.next {
		ch.puts = slices.Insert[[]record, record](ch.puts, 0, next) // ids are taken before anything has them
	}
	return rec, nil
}

// identify finds the record of a node that registers, or an empty one for a new node.
func (c *Leases) identify(h hemera.NodeHello) (nodeRecord, error) {
	if h.ID != 0 {
		// The transport has checked that the id is the certificate's.
		if n := c.state.nodes[h.ID]; n != nil {
			return n.nodeRecord, nil
		}
		if c.returning(h.ID) {
			return nodeRecord{ID: h.ID}, nil
		}
		c.marks.stranger(h)
		return nodeRecord{}, noMember("cluster.Register", h.ID)
	}
	for _, d := range h.Disks { // it lost its state: its disks say who it is, unless their node is alive
		if known := c.state.byUUID[d.UUID]; known != nil && c.state.nodes[known.Node] != nil && !c.state.leased(c.state.nodes[known.Node]) {
			return c.state.nodes[known.Node].nodeRecord, nil
		}
	}
	for _, n := range c.state.nodes { // it has no disk that is known, and was here before
		if n.Addr == h.Addr {
			return n.nodeRecord, nil
		}
	}
	return nodeRecord{}, nil
}

// noMember is the error for a node id that the cluster does not have, or does not have any more.
func noMember(op string, id hemera.NodeID) error {
	return errs.New(errs.NotFound, op, "node "+id.String(), "it is not of this cluster, or was removed from it").
		WithRemedy("remove the node's own state, not its disks, and let it join again")
}

// Member refuses a node that was removed, whose certificate is still good, and one that waits to be admitted. NotFound, Denied.
func (c *Leases) Member(id hemera.NodeID) error {
	switch admitted, known := c.state.members.Load(id); {
	case !known:
		c.state.mu.Lock()
		defer c.state.mu.Unlock()
		if c.returning(id) {
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
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	n := c.state.nodes[id]
	if n == nil {
		return noMember("cluster.Leased", id)
	}
	if !c.state.leased(n) {
		return errs.New(errs.Unavailable, "cluster.Leased", "node "+id.String(), "the node has no lease: it registers first")
	}
	return nil
}

// checkAddr refuses an address that another node has now: clients would be sent to either of them for what
// only one has. It also refuses a node that is at another address now: somebody has a copy of its state, and
// the two would take each other's lease for ever.
func (c *Leases) checkAddr(id hemera.NodeID, addr string) error {
	for _, n := range c.state.nodes {
		if (n.ID == id) == (n.Addr == addr) || !c.state.leased(n) {
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
	if len(c.state.byNode[by.ID]) > 0 {
		return
	}
	for _, n := range c.state.nodes {
		if n.ID == by.ID || n.Addr != by.Addr || c.state.leased(n) || len(c.state.byNode[n.ID]) == 0 {
			continue
		}
		left := false
		for _, d := range c.state.byNode[n.ID] {
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
	wanted, asked := c.state.attaches[attachRecord{Node: on, Path: d.Path}.key()]
	if asked {
		ch.delete(wanted)
	}
	if known := c.state.byUUID[d.UUID]; known != nil {
		rec := known.diskRecord
		if rec.Removed && !asked {
			return
		}
		if rec.Node != on && !rec.Removed && c.holderStrength(known) >= claimStrength(d) {
			c.state.log.Warn("disk is not used at this node: another has it, or it is not there", "disk", rec.ID, "node", on, "path", d.Path, "health", d.Health,
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
	if d.ID != 0 && !asked && c.state.rebuilding.Load() == nil { // its node has an id for it that this cluster does not have
		c.state.log.Warn("disk of another cluster, or removed from this one, is not used", "node", on, "path", d.Path, "disk", d.ID)
		return
	}
	rec := diskRecord{ID: c.claim(ch, next, d), UUID: d.UUID, Node: on, Path: d.Path, Space: d.Space, Config: config}
	if asked { // an admin said what it is for, and that it is to be used
		rec.Space, rec.Config = wanted.Space, hemera.ConfigRW
	}
	if rec.Space == "" {
		rec.Space = hemera.DefaultSpace
	}
	if _, ok := c.state.spaces[rec.Space]; !ok {
		// Spaces are an admin's, and files of another policy shall not go to the disk unasked.
		c.state.log.Warn("a new disk is off: its node names a space that there is not", "disk", rec.ID, "node", on, "path", text(d.Path), "space", text(d.Space),
			"remedy", "make the space with `hemera space set NAME define=on`, then `hemera fs set "+rec.ID.String()+" space=NAME configstatus=rw`")
		rec.Space, rec.Config = hemera.DefaultSpace, hemera.ConfigOff
	}
	ch.put(rec)
	c.surveyor.reported(ch, rec.ID, d)
}

// claimStrength ranks a node's claim to a disk it reports: 0, no claim, if the disk is not there.
func claimStrength(r hemera.NodeDisk) int {
	switch r.Health {
	case hemera.HealthGone:
		return 0
	case hemera.HealthFailing:
		return 1
	}
	return 2
}

// holderStrength is the claim of the node that has the disk. One that is offline has none: a disk moves by being
// mounted elsewhere. While it is there in good health, another node that shows it has a copy, or an old list.
func (c *Leases) holderStrength(d *disk) int {
	if n := c.state.nodes[d.Node]; n == nil || !c.state.leased(n) {
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
	for _, d := range c.state.byNode[on] {
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

// welcome returns what a node needs to serve, as of now, without a mark. Removed and absent disks get no id. mu is held.
func (c *Leases) welcome(n *node) hemera.NodeWelcome {
	w := hemera.NodeWelcome{
		ID: n.ID, Epoch: n.Epoch, DiskIDs: map[string]hemera.DiskID{}, Keys: c.keyring.nodeKeys(n.ID), Barred: c.state.barred,
		ManagerAddr: c.manager, Headroom: c.state.headrooms(n.ID),
	}
	for _, d := range c.state.byNode[n.ID] {
		if !d.Removed && d.report.Health != hemera.HealthGone {
			w.DiskIDs[d.UUID] = d.ID
		}
	}
	return w
}

// Headroom is the bytes kept free on a disk: the space's setting, or when that is zero (auto) a
// hundredth of the disk but at most 1 GiB.
func Headroom(setting, capacity int64) int64 {
	if setting > 0 {
		return setting
	}
	// For small disks a hundredth, for large ones a size that does not waste terabytes.
	return min(capacity/100, 1<<30)
}
