package cluster

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hemera/platform/kv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// tables are the durable records in memory, with indexes. They have no lock: see [state].
type tables struct {
	nodes     map[hemera.NodeID]*node                   // waiting ones too
	disks     map[hemera.DiskID]*disk                   // removed ones too, until they are forgotten
	byUUID    map[string]*disk                          // as disks
	byNode    map[hemera.NodeID]map[hemera.DiskID]*disk // as disks, by the node that has each now
	spaces    map[string]spaceRecord
	attaches  map[string]attachRecord // by key
	keys      map[uint32]keyRecord
	removed   map[hemera.NodeID]removedRecord
	barred    []hemera.NodeID // of removed; not changed in place
	next      nextRecord
	surveys   map[hemera.DiskID]surveyRecord // of disks that were looked at, or are to be
	backup    backupRecord
	running   bool   // a manager runs, or did not end in good order
	authority []byte // fingerprint of the cluster's, nil while none is known
	history   []byte // secret of the marks that nodes are given
	lives     []life // of the store, oldest first; the last is this one

	// rebuilding is since when the namespace is being rebuilt, nil if it is not. It is read without mu.
	rebuilding *atomic.Pointer[time.Time]
	// members has the nodes: NodeID → true, or false for one that waits to be admitted. It is read at each call of a
	// node, without mu.
	members *sync.Map
}

// newTables is a cluster without anything.
func newTables() tables {
	return tables{
		nodes: map[hemera.NodeID]*node{}, disks: map[hemera.DiskID]*disk{},
		byUUID: map[string]*disk{}, byNode: map[hemera.NodeID]map[hemera.DiskID]*disk{},
		spaces: map[string]spaceRecord{}, attaches: map[string]attachRecord{}, keys: map[uint32]keyRecord{},
		removed: map[hemera.NodeID]removedRecord{}, surveys: map[hemera.DiskID]surveyRecord{},
		next: nextRecord{Node: 1, Disk: 1}, members: new(sync.Map), rebuilding: new(atomic.Pointer[time.Time]),
	}
}

// node is what is durable of a node, and what it reported since this process started.
type node struct {
	nodeRecord
	online bool
	last   time.Time     // of the last call under the lease
	skew   time.Duration // of its clock, ahead of ours
	stats  hemera.NodeStats

	stopping bool    // as it said last
	weight   float64 // of its network, by [Cluster.Weigh]; 0: not judged
}

// disk is what is durable of a disk, and its node's last report of it.
type disk struct {
	diskRecord
	report hemera.NodeDisk // Health gone unless its node reported it
}

// apply makes one record true in memory.
func (c *tables) apply(r record) {
	switch r := r.(type) {
	case nodeRecord:
		if c.nodes[r.ID] == nil {
			c.nodes[r.ID] = new(node)
		}
		c.nodes[r.ID].nodeRecord = r
		c.members.Store(r.ID, !r.Waiting)
	case diskRecord:
		d := c.disks[r.ID]
		if d == nil {
			d = new(disk)
			c.disks[r.ID] = d
		}
		// The disk may come from another node. A new one has node 0, where nothing is deleted.
		delete(c.byNode[d.Node], d.ID)
		d.diskRecord = r
		c.byUUID[d.UUID] = d
		if c.byNode[d.Node] == nil {
			c.byNode[d.Node] = map[hemera.DiskID]*disk{}
		}
		c.byNode[d.Node][d.ID] = d
	case spaceRecord:
		c.spaces[r.Name] = r
	case attachRecord:
		c.attaches[r.key()] = r
	case keyRecord:
		c.keys[r.ID] = r
	case removedRecord:
		c.removed[r.ID] = r
		c.rebar()
	case nextRecord:
		c.next = r
	case historyRecord:
		c.history, c.lives = r.Secret, r.Lives
	case authorityRecord:
		c.authority = r.Fingerprint
	case surveyRecord:
		c.surveys[r.Disk] = r
	case runningRecord:
		c.running = true
	case backupRecord:
		c.backup = r
	case rebuildRecord:
		c.rebuilding.Store(&r.Begun)
	}
}

// forget takes one record out of memory.
func (c *tables) forget(r record) {
	switch r := r.(type) {
	case nodeRecord:
		delete(c.nodes, r.ID)
		c.members.Delete(r.ID)
	case surveyRecord:
		delete(c.surveys, r.Disk)
	case runningRecord:
		c.running = false
	case diskRecord:
		delete(c.disks, r.ID)
		delete(c.byUUID, r.UUID)
		delete(c.byNode[r.Node], r.ID)
	case spaceRecord:
		delete(c.spaces, r.Name)
	case attachRecord:
		delete(c.attaches, r.key())
	case keyRecord:
		delete(c.keys, r.ID)
	case removedRecord:
		delete(c.removed, r.ID)
		c.rebar()
	case rebuildRecord:
		c.rebuilding.Store(nil)
	}
}

// load reads every record.
func (c *tables) load(ctx context.Context, store kv.Reader) error {
	var failed error
	// The first key behind all that begin with Prefix.
	end := Prefix[:len(Prefix)-1] + string(Prefix[len(Prefix)-1]+1)
	err := store.Scan(ctx, []byte(Prefix), []byte(end), func(key, value []byte) bool {
		name := strings.TrimPrefix(string(key), Prefix)
		failed = errs.Wrap(c.decode(name, value), "cluster.Open", name)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return errs.Wrap(err, "cluster.Open", "")
}

// decode applies the value of a key below [Prefix]. Kinds that it does not know are of a newer version, or are read
// elsewhere, and are skipped.
func (c *tables) decode(name string, value []byte) error {
	kind, _, _ := strings.Cut(name, "/")
	switch kind {
	case "node":
		return decodeInto[nodeRecord](c, value)
	case "disk":
		return decodeInto[diskRecord](c, value)
	case "space":
		return decodeInto[spaceRecord](c, value)
	case "attach":
		return decodeInto[attachRecord](c, value)
	case "removed":
		return decodeInto[removedRecord](c, value)
	case "key":
		return decodeInto[keyRecord](c, value)
	case "next":
		return decodeInto[nextRecord](c, value)
	case "history":
		return decodeInto[historyRecord](c, value)
	case "authority":
		return decodeInto[authorityRecord](c, value)
	case "survey":
		return decodeInto[surveyRecord](c, value)
	case "backup":
		return decodeInto[backupRecord](c, value)
	case "running":
		return decodeInto[runningRecord](c, value)
	case "rebuild":
		return decodeInto[rebuildRecord](c, value)
	}
	return nil // tokens stay in the store
}

// decodeInto applies one record from its JSON.
func decodeInto[R record](c *tables, value []byte) error {
	var r R
	if err := json.Unmarshal(value, &r); err != nil {
		return err
	}
	c.apply(r)
	return nil
}

// rebar makes the list of removed nodes that nodes are told. It is not changed in place.
func (c *tables) rebar() { c.barred = slices.Sorted(maps.Keys(c.removed)) }
