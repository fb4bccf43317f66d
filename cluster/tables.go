package cluster

import (
	"context"
	"encoding/json"
	"strings"

	"hemera/platform/kv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// tables are all durable records in memory. Each kind has an owner, and only a batch that is durable changes them. They have no lock: see
// [journal].
type tables struct {
	roster
	keys      keyTable
	surveys   surveyTable
	history   historyTable
	authority authorityTable
}

// newTables makes the tables of a cluster without anything.
func newTables() *tables {
	return &tables{
		roster: roster{
			nodes:  nodeTable{all: map[hemera.NodeID]*node{}},
			disks:  diskTable{map[hemera.DiskID]*disk{}, map[string]*disk{}, map[hemera.NodeID]map[hemera.DiskID]*disk{}},
			spaces: spaceTable{}, attaches: attachTable{}, removed: removedTable{all: map[hemera.NodeID]removedRecord{}}, next: nextRecord{Node: 1, Disk: 1},
		},
		keys: keyTable{}, surveys: surveyTable{disks: map[hemera.DiskID]surveyRecord{}},
	}
}

// apply makes one record true in memory.
func (c *tables) apply(r record) {
	switch r := r.(type) {
	case nodeRecord:
		c.nodes.put(r)
	case diskRecord:
		c.disks.put(r)
	case spaceRecord:
		c.spaces[r.Name] = r
	case attachRecord:
		c.attaches[r.key()] = r
	case keyRecord:
		c.keys[r.ID] = r
	case removedRecord:
		c.removed.put(r)
	case nextRecord:
		c.next = r
	case historyRecord:
		c.history = historyTable{r.Secret, r.Lives}
	case authorityRecord:
		c.authority.fingerprint = r.Fingerprint
	case surveyRecord:
		c.surveys.disks[r.Disk] = r
	case runningRecord:
		c.surveys.running = true
	case backupRecord:
		c.surveys.backup = r
	case rebuildRecord:
		c.rebuild.begun.Store(&r.Begun)
	}
}

// forget takes one record out of memory.
func (c *tables) forget(r record) {
	switch r := r.(type) {
	case nodeRecord:
		c.nodes.forget(r)
	case diskRecord:
		c.disks.forget(r)
	case spaceRecord:
		delete(c.spaces, r.Name)
	case attachRecord:
		delete(c.attaches, r.key())
	case keyRecord:
		delete(c.keys, r.ID)
	case removedRecord:
		c.removed.forget(r)
	case surveyRecord:
		delete(c.surveys.disks, r.Disk)
	case runningRecord:
		c.surveys.running = false
	case rebuildRecord:
		c.rebuild.begun.Store(nil)
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
