package cluster

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"hemera/rules/policy"
	"hemera/rules/recycle"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Setting documents one key of SetDisk, SetNode or SetSpace.
type Setting struct{ Of, Key, Values, Help string }

// Settings lists every key an admin can set, for help texts. Keys of spaces are also taken with
// EOS's prefix "space.".
func Settings() []Setting {
	return append([]Setting{
		{"fs", "configstatus", "rw|ro|drain|off", "use fully; read only; move every piece elsewhere; not at all"},
		{"fs", "space", "<name>", "the space the disk belongs to; pieces it holds stay"},
		{"fs", "zone", "<name>|-", "failure domain of this disk; - for its node's"},
		{"fs", "errors", "0", "forget the checksum and I/O errors counted so far"},
		{"node", "status", "on|off", "off takes the node's disks out of use without repairing around them"},
		{"node", "zone", "<name>|-", "failure domain of the node; - for what the node says"},
		{"space", "define", "on", "make the space"},
		{"space", "policy.layout", "plain|replica:<n>|rs:<k>+<m>|stripe:<n>|lrc:<k>+<l>+<g>|raid5|raid6|raiddp|archive|qrain", "layout of new files; a name without numbers takes policy.nstripes next"},
		{"space", "policy.nstripes", "1..32", "all pieces of new files together: copies, or data and parity"},
		{"space", "policy.blocksize", "auto|64k..16M", "block size of new files in coded layouts; auto: 1M"},
		{"space", "policy.checksum", "none|adler32|crc32c|…", "checksum of new files"},
		{"space", "policy.minpieces", "auto|1..32", "sealed pieces an acknowledged close needs; auto: all while a spare disk exists, else one fewer than there are disks, at least one"},
		{"space", "policy.sync", "on|off", "fdatasync each piece before it counts as sealed"},
		{"space", "policy.recycle", "<time>[,<size>]|off", "how long and how much of removed and replaced files is kept, as in 30d,10T; sys.recycle of a directory overrides it"},
		{"space", "headroom", "auto|<bytes>[K|M|G|T]", "kept free on every disk; auto: 1 % of the disk, at most 1 GiB"},
	}, balancerSettings...)
}

// defaultSpace is a space as `space set NAME define` makes it: two replicas, Adler-32.
func defaultSpace(name string) spaceRecord {
	return spaceRecord{Name: name, Layout: hemera.Replica(2), Checksum: hemera.Adler32.String()}
}

// firstSpace is the record of the space that a new cluster begins with.
func firstSpace(s hemera.Space) spaceRecord {
	rec := defaultSpace(hemera.DefaultSpace)
	if s.Policy.Layout.Validate() != nil {
		return rec
	}
	rec.Layout, rec.Checksum, rec.PiecesMin = s.Policy.Layout, s.Policy.Checksum.String(), s.Policy.PiecesMin
	rec.BlockSize = s.Policy.BlockSize
	rec.NoSync, rec.Headroom = !s.Policy.Sync, s.Headroom
	return rec
}

// Admin makes what admins decide about nodes, disks and spaces durable.
type Admin struct {
	state   *state
	keyring *Keys
	approve bool // new nodes wait until an admin admits them
}

// AddDisk has a node take a path as a disk, at its next heartbeat. NotFound for the node; Exists
// when the path is a disk of it already.
func (c *Admin) AddDisk(ctx context.Context, id hemera.NodeID, want hemera.AttachDisk) error {
	const op = "cluster.AddDisk"
	p, space := want.Path, want.Space
	return c.state.update(ctx, func(ch *change) error {
		if c.state.nodes[id] == nil {
			return errs.New(errs.NotFound, op, "node "+id.String(), "no such node").WithRemedy("see `hemera node ls`")
		}
		// One spelling for one path: the wish is found again by the path that the node reports.
		if !path.IsAbs(p) || path.Clean(p) != p {
			return errs.New(errs.Invalid, op, p, "the path must be absolute and clean")
		}
		if space == "" {
			space = hemera.DefaultSpace
		}
		if _, ok := c.state.spaces[space]; !ok {
			return noSuchSpace(op, space)
		}
		for _, d := range c.state.byNode[id] {
			if d.Path == p && !d.Removed {
				return errs.New(errs.Exists, op, p, "the path is disk "+d.ID.String()+" already")
			}
		}
		ch.put(attachRecord{Node: id, Path: p, Space: space, Folder: want.Folder})
		return nil
	}, func() {})
}

// SetDisk sets one property of a disk; see [Settings].
func (c *Admin) SetDisk(ctx context.Context, id hemera.DiskID, key, value string) error {
	return c.state.update(ctx, func(ch *change) error {
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
			if _, ok := c.state.spaces[value]; !ok {
				return noSuchSpace("cluster.Set", value)
			}
			rec.Space = value
		case "zone":
			if rec.ZoneSet, err = zoneValue("fs", value); err != nil {
				return err
			}
		case "errors":
			if value != "0" {
				return invalid("fs", key, value).WithRemedy("errors can be cleared only: errors=0")
			}
			rec.Cleared = clearedErrors{Checksum: d.report.Load.ChecksumErrors, IO: d.report.Load.IOErrors}
			if n := c.state.nodes[d.Node]; n != nil {
				rec.Cleared.Started = n.stats.Started.UnixNano()
			}
		default:
			return unknownKey("fs", key)
		}
		ch.put(rec)
		return nil
	}, nil)
}

// SetEmpty records that a drained disk holds nothing any more. It does nothing if the disk is not
// set to drain now.
func (c *Admin) SetEmpty(ctx context.Context, id hemera.DiskID) error {
	// Twice in a row does nothing: the drain may report the same disk again.
	return c.state.update(ctx, func(ch *change) error {
		d := c.state.disks[id]
		// Another setting came while the last piece was moved: it stays.
		if d == nil || d.Config != hemera.ConfigDrain {
			return nil
		}
		rec := d.diskRecord
		rec.Config = hemera.ConfigEmpty
		ch.put(rec)
		return nil
	}, nil)
}

// RemoveDisk takes a disk out of the view for good; its id is not reused. [Admin.Removed] lists it
// until [Admin.ForgetDisk]: pieces on it may have to be made again elsewhere.
func (c *Admin) RemoveDisk(ctx context.Context, id hemera.DiskID) error {
	return c.state.update(ctx, func(ch *change) error {
		d, err := c.knownDisk("cluster.Remove", id)
		if err != nil {
			return err
		}
		rec := d.diskRecord
		rec.Removed, rec.RemovedAt = true, c.state.now().Unix()
		// The address is kept with the disk, as the node may be removed next.
		if n := c.state.nodes[rec.Node]; n != nil {
			rec.RemovedAddr = n.Addr
		}
		ch.put(rec)
		return nil
	}, nil)
}

// Removed lists disks that were removed and not forgotten.
func (c *Admin) Removed() (ids []hemera.DiskID) {
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	for id, d := range c.state.disks {
		if d.Removed {
			ids = append(ids, id)
		}
	}
	return ids
}

// ForgetDisk forgets a removed disk.
func (c *Admin) ForgetDisk(ctx context.Context, id hemera.DiskID) error {
	return c.state.update(ctx, func(ch *change) error {
		d := c.state.disks[id]
		if d == nil || !d.Removed {
			return nil
		}
		ch.delete(d.diskRecord)
		// Survey and disk go together: a record without its disk would stay for ever.
		ch.delete(surveyRecord{Disk: id})
		return nil
	}, nil)
}

// SetNode sets one property of a node; see [Settings].
func (c *Admin) SetNode(ctx context.Context, id hemera.NodeID, key, value string) error {
	return c.state.update(ctx, func(ch *change) error {
		n := c.state.nodes[id]
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
	}, nil)
}

// SpaceUnused is an error when the space cannot be removed: NotFound, Invalid for the default, NotEmpty
// while a disk belongs to it, also one that was removed and may come back, or one that a node is to take.
func (c *Admin) SpaceUnused(name string) error {
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	return c.spaceUnused(name)
}

// spaceUnused is called with mu held.
func (c *Admin) spaceUnused(name string) error {
	const op = "cluster.Remove"
	if _, ok := c.state.spaces[name]; !ok {
		return noSuchSpace(op, name)
	}
	if name == hemera.DefaultSpace {
		return errs.New(errs.Invalid, op, name, "the default space always exists")
	}
	for _, d := range c.state.disks {
		switch {
		// Another space's disk.
		case d.Space != name:
		case d.Removed:
			return errs.New(errs.NotEmpty, op, name, "disk "+d.ID.String()+", which was removed, belonged to it and files still name it").
				WithRemedy("hemera status names those files; remove them, or bring the disk back with hemera fs add")
		default:
			return errs.New(errs.NotEmpty, op, name, "it has disk "+d.ID.String()).
				WithRemedy("give the disk another space: hemera fs set " + d.ID.String() + " space=OTHER")
		}
	}
	for _, a := range c.state.attaches {
		if a.Space == name {
			return errs.New(errs.NotEmpty, op, name, "a node is to take "+a.Path+" as a disk of it").
				WithRemedy("wait until the node is online, or remove the node")
		}
	}
	return nil
}

// RemoveSpace forgets a space; see [Cluster.SpaceUnused]. Whether files refer to it is the caller's to see.
func (c *Admin) RemoveSpace(ctx context.Context, name string) error {
	return c.state.update(ctx, func(ch *change) error {
		if err := c.spaceUnused(name); err != nil {
			return err
		}
		ch.delete(c.state.spaces[name])
		return nil
	}, nil)
}

// SetSpace sets one property of a space, or makes it with the key define; see [Settings].
func (c *Admin) SetSpace(ctx context.Context, name, key, value string) error {
	return c.state.update(ctx, func(ch *change) error {
		key = strings.TrimPrefix(key, "space.")
		rec, ok := c.state.spaces[name]
		switch {
		case key == "define" && !validName(name):
			return errs.New(errs.Invalid, "cluster.SetSpace", name, "a space's name is 1 to 64 letters, digits, '.', '-' and '_'")
		case key == "define" && ok:
			return errs.New(errs.Exists, "cluster.SetSpace", name, "the space exists already")
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
	}, nil)
}

// set changes one property of the record. Invalid for keys and values that are not in [Settings].
func (s *spaceRecord) set(key, value string) (err error) {
	switch key {
	case "policy.layout":
		l, err := policy.Named(value, 0, s.Layout)
		if err != nil {
			return (&errs.Error{Kind: errs.Invalid, Op: "cluster.Set", Subject: key + "=" + value, Cause: err}).
				WithRemedy("set one such as policy.layout=rs:4+2, policy.layout=replica:2 or policy.layout=plain")
		}
		s.setLayout(l.WithBlockSize(s.BlockSize))
	case "policy.nstripes":
		n, err := number("space", key, value, hemera.CodedPiecesMax)
		if err != nil {
			return err
		}
		l, err := policy.Resized(s.Layout, n)
		if err != nil {
			return errs.New(errs.Invalid, "cluster.Set", key+"="+value, err.Error()).WithRemedy("set the whole layout: policy.layout=rs:4+2 or policy.layout=replica:2")
		}
		s.setLayout(l)
	case "policy.blocksize":
		s.BlockSize = 0
		if value != "auto" {
			if s.BlockSize, err = hemera.ParseBlockSize(value); err != nil {
				return errs.New(errs.Invalid, "cluster.Set", key+"="+value, err.Error())
			}
		}
		s.Layout = s.Layout.WithBlockSize(cmp.Or(s.BlockSize, hemera.BlockSizeDefault))
	case "policy.checksum":
		kind, err := hemera.ParseChecksumKind(value)
		if err != nil {
			return errs.As(err, errs.Invalid, "cluster.Set", key)
		}
		s.Checksum = kind.String()
	case "policy.minpieces":
		s.PiecesMin = 0
		if value != "auto" {
			n, err := number("space", key, value, hemera.CodedPiecesMax)
			if err != nil {
				return err
			}
			if least := s.Layout.Enough(); n < least {
				return errs.New(errs.Invalid, "cluster.Set", key+"="+value, fmt.Sprintf("a file of layout %s cannot be read from each choice of fewer than %d pieces", s.Layout, least)).
					WithRemedy(fmt.Sprintf("set auto, or at least %d: then one piece may be lost right after the close", least+1))
			}
			s.PiecesMin = uint8(n)
		}
	case "policy.sync":
		on, err := onOff("space", key, value)
		// The record has the opposite, so that a record without the field means on.
		s.NoSync = !on && err == nil
		return err
	case "policy.recycle":
		rule, err := recycle.Parse(value)
		if err != nil {
			return errs.As(err, errs.Invalid, "cluster.Set", key)
		}
		if s.Recycle = ""; rule.On() {
			s.Recycle = value // as it was written
		}
	case "headroom":
		s.Headroom, err = size(key, value)
		return err
	case "balancer", "balancer.threshold", "balancer.rate":
		return s.setBalancer(key, value)
	default:
		return unknownKey("space", key)
	}
	return nil
}

// setLayout changes the layout. The least number of pieces follows it: as many as before may be lost right after a close,
// and the number is the old one again when the layout is.
func (s *spaceRecord) setLayout(l hemera.Layout) {
	if s.PiecesMin != 0 {
		// A record of an earlier version may have fewer than its layout takes.
		spare := max(0, int(s.PiecesMin)-s.Layout.Enough())
		s.PiecesMin = uint8(l.Enough() + spare)
	}
	s.Layout = l
}

// knownDisk finds a disk that was not removed. NotFound. mu is held.
func (c *Admin) knownDisk(op string, id hemera.DiskID) (*disk, error) {
	d := c.state.disks[id]
	if d == nil || d.Removed {
		return nil, errs.New(errs.NotFound, op, "disk "+id.String(), "no such disk").WithRemedy("see `hemera fs ls`")
	}
	return d, nil
}
