package cluster

import (
	"context"
	"path"
	"strings"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// Admin makes what admins decide about nodes, disks and spaces durable.
type Admin struct {
	journal *journal
	roster  *roster
	views   *viewer
	keyring *Keys
	approve bool // new nodes wait until an admin admits them
}

// AddDisk has a node take a path as a disk, at its next heartbeat. NotFound for the node; Exists
// when the path is a disk of it already.
func (c *Admin) AddDisk(ctx context.Context, id hemera.NodeID, want hemera.AttachDisk) error {
	const op = "cluster.AddDisk"
	p, space := want.Path, want.Space
	return c.journal.update(ctx, func(ch *change) error {
		if c.roster.nodes.all[id] == nil {
			return errs.New(errs.NotFound, op, "node "+id.String(), "no such node").WithRemedy("see `hemera node ls`")
		}
		// One spelling for one path: the wish is found again by the path that the node reports.
		if !path.IsAbs(p) || path.Clean(p) != p {
			return errs.New(errs.Invalid, op, p, "the path must be absolute and clean")
		}
		if space == "" {
			space = hemera.DefaultSpace
		}
		if _, ok := c.roster.spaces[space]; !ok {
			return noSuchSpace(op, space)
		}
		for _, d := range c.roster.disks.byNode[id] {
			if d.Path == p && !d.Removed {
				return errs.New(errs.Exists, op, p, "the path is disk "+d.ID.String()+" already")
			}
		}
		ch.put(attachRecord{Node: id, Path: p, Space: space, Folder: want.Folder})
		return nil
	}, nil)
}

// SetDisk sets one property of a disk; see [Settings].
func (c *Admin) SetDisk(ctx context.Context, id hemera.DiskID, key, value string) error {
	return c.journal.update(ctx, func(ch *change) error {
		d, err := c.knownDisk("cluster.Set", id)
		if err != nil {
			return err
		}
		rec := d.diskRecord
		switch key {
		case "configstatus":
			switch hemera.DiskConfig(value) {
			case hemera.ConfigRW, hemera.ConfigRO, hemera.ConfigDrain, hemera.ConfigOff:
				rec.Config = hemera.DiskConfig(value)
			// Only the drain itself knows that nothing is left.
			case hemera.ConfigEmpty:
				return invalid("fs", key, value).WithRemedy("set it to drain: it becomes empty by itself when nothing is left")
			default:
				return invalid("fs", key, value)
			}
		case "space":
			rec.Space = hemera.SpaceName(value)
			if _, ok := c.roster.spaces[rec.Space]; !ok {
				return noSuchSpace("cluster.Set", rec.Space)
			}
		case "zone":
			if rec.ZoneSet, err = zoneValue("fs", value); err != nil {
				return err
			}
		case "errors":
			if value != "0" {
				return invalid("fs", key, value).WithRemedy("errors can be cleared only: errors=0")
			}
			rec.Cleared = clearedErrors{Checksum: d.report.Load.ChecksumErrors, IO: d.report.Load.IOErrors}
			if n := c.roster.nodes.all[d.Node]; n != nil {
				rec.Cleared.Started = n.stats.Started.UnixNano()
			}
		default:
			return unknownKey("fs", key)
		}
		ch.put(rec)
		return nil
	}, c.views.publish)
}

// SetEmpty records that a drained disk holds nothing any more. It does nothing if the disk is not
// set to drain now.
func (c *Admin) SetEmpty(ctx context.Context, id hemera.DiskID) error {
	// Twice in a row does nothing: the drain may report the same disk again.
	return c.journal.update(ctx, func(ch *change) error {
		d := c.roster.disks.all[id]
		// Another setting came while the last piece was moved: it stays.
		if d == nil || d.Config != hemera.ConfigDrain {
			return nil
		}
		rec := d.diskRecord
		rec.Config = hemera.ConfigEmpty
		ch.put(rec)
		return nil
	}, c.views.publish)
}

// RemoveDisk takes a disk out of the view for good; its id is not reused. [Admin.Removed] lists it
// until [Admin.ForgetDisk]: pieces on it may have to be made again elsewhere.
func (c *Admin) RemoveDisk(ctx context.Context, id hemera.DiskID) error {
	return c.journal.update(ctx, func(ch *change) error {
		d, err := c.knownDisk("cluster.Remove", id)
		if err != nil {
			return err
		}
		rec := d.diskRecord
		rec.Removed, rec.RemovedAt = true, c.journal.now().Unix()
		// The address is kept with the disk, as the node may be removed next.
		if n := c.roster.nodes.all[rec.Node]; n != nil {
			rec.RemovedAddr = n.Addr
		}
		ch.put(rec)
		return nil
	}, c.views.publish)
}

// Removed lists disks that were removed and not forgotten.
func (c *Admin) Removed() (ids []hemera.DiskID) {
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	for id, d := range c.roster.disks.all {
		if d.Removed {
			ids = append(ids, id)
		}
	}
	return ids
}

// ForgetDisk forgets a removed disk.
func (c *Admin) ForgetDisk(ctx context.Context, id hemera.DiskID) error {
	return c.journal.update(ctx, func(ch *change) error {
		d := c.roster.disks.all[id]
		if d == nil || !d.Removed {
			return nil
		}
		ch.delete(d.diskRecord)
		// Survey and disk go together: a record without its disk would stay for ever.
		ch.delete(surveyRecord{Disk: id})
		return nil
	}, c.views.publish)
}

// SetNode sets one property of a node; see [Settings].
func (c *Admin) SetNode(ctx context.Context, id hemera.NodeID, key, value string) error {
	return c.journal.update(ctx, func(ch *change) error {
		n := c.roster.nodes.all[id]
		if n == nil {
			return errs.New(errs.NotFound, "cluster.Set", "node "+id.String(), "no such node").WithRemedy("see `hemera node ls`")
		}
		rec := n.nodeRecord
		var err error
		switch key {
		case "status":
			on, err := onOff("node", key, value)
			if err != nil {
				return err
			}
			rec.Disabled = !on
		case "zone":
			if rec.ZoneSet, err = zoneValue("node", value); err != nil {
				return err
			}
		default:
			return unknownKey("node", key)
		}
		ch.put(rec)
		return nil
	}, c.views.publish)
}

// SpaceUnused returns an error when the space cannot be removed: NotFound, Invalid for the default, NotEmpty
// while a disk belongs to it, also one that was removed and may come back, or one that a node is to take.
func (c *Admin) SpaceUnused(name hemera.SpaceName) error {
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	return c.spaceUnused(name)
}

// spaceUnused does what SpaceUnused does, with mu held.
func (c *Admin) spaceUnused(name hemera.SpaceName) error {
	const op = "cluster.Remove"
	if _, ok := c.roster.spaces[name]; !ok {
		return noSuchSpace(op, name)
	}
	if name == hemera.DefaultSpace {
		return errs.New(errs.Invalid, op, string(name), "the default space always exists")
	}
	for _, d := range c.roster.disks.all {
		switch {
		// Another space's disk.
		case d.Space != name:
		case d.Removed:
			return errs.New(errs.NotEmpty, op, string(name), "disk "+d.ID.String()+", which was removed, belonged to it and files still name it").
				WithRemedy("hemera status names those files; remove them, or bring the disk back with hemera fs add")
		default:
			return errs.New(errs.NotEmpty, op, string(name), "it has disk "+d.ID.String()).
				WithRemedy("give the disk another space: hemera fs set " + d.ID.String() + " space=OTHER")
		}
	}
	for _, a := range c.roster.attaches {
		if a.Space == name {
			return errs.New(errs.NotEmpty, op, string(name), "a node is to take "+a.Path+" as a disk of it").
				WithRemedy("wait until the node is online, or remove the node")
		}
	}
	return nil
}

// RemoveSpace forgets a space; see [Admin.SpaceUnused]. Whether files refer to it is the caller's to see.
func (c *Admin) RemoveSpace(ctx context.Context, name hemera.SpaceName) error {
	return c.journal.update(ctx, func(ch *change) error {
		if err := c.spaceUnused(name); err != nil {
			return err
		}
		ch.delete(c.roster.spaces[name])
		return nil
	}, c.views.publish)
}

// SetSpace sets one property of a space, or makes it with the key define; see [Settings].
func (c *Admin) SetSpace(ctx context.Context, name hemera.SpaceName, key, value string) error {
	return c.journal.update(ctx, func(ch *change) error {
		key = strings.TrimPrefix(key, "space.")
		rec, ok := c.roster.spaces[name]
		switch {
		case key == "define" && !validName(string(name)):
			return errs.New(errs.Invalid, "cluster.SetSpace", string(name), "a space's name is 1 to 64 letters, digits, '.', '-' and '_'")
		case key == "define" && ok:
			return errs.New(errs.Exists, "cluster.SetSpace", string(name), "the space exists already")
		case key == "define":
			// The value is not used: EOS's scripts give a size of groups.
			ch.put(defaultSpace(name))
			return nil
		case !ok:
			return noSuchSpace("cluster.SetSpace", name)
		}
		if err := rec.set(key, value); err != nil {
			return err
		}
		ch.put(rec)
		return nil
	}, c.views.publish)
}

// knownDisk finds a disk that was not removed. NotFound. mu is held.
func (c *Admin) knownDisk(op string, id hemera.DiskID) (*disk, error) {
	d := c.roster.disks.all[id]
	if d == nil || d.Removed {
		return nil, errs.New(errs.NotFound, op, "disk "+id.String(), "no such disk").WithRemedy("see `hemera fs ls`")
	}
	return d, nil
}

// EndRebuild ends the rebuild: clients may change the namespace from now on. NotFound if there is none.
func (c *Admin) EndRebuild(ctx context.Context) error {
	return c.journal.update(ctx, func(ch *change) error {
		if !c.roster.rebuild.now() {
			return errs.New(errs.NotFound, "cluster.EndRebuild", "", "the namespace is not being rebuilt").
				WithRemedy("after a restore, and after `finish`, `hemera ns rebuild forget` ends the search for what was lost")
		}
		ch.delete(rebuildRecord{})
		return nil
	}, c.views.publish)
}
