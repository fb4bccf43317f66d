package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/platform/kv"
)

// Prefix begins every key of this package; nobody else may write below it.
const Prefix = "!cluster/"

type nodeRecord struct {
	ID       hemera.NodeID
	Addr     string
	Zone     string // as the node says
	ZoneSet  string // as an admin says; wins
	Disabled bool
	Waiting  bool // for an admin to admit it
	Epoch    uint64
	Version  string
}

type diskRecord struct {
	ID      hemera.DiskID
	UUID    string
	Node    hemera.NodeID
	Path    string
	Space   string
	Group   string
	ZoneSet string
	Config  hemera.DiskConfig
	// Removed: an admin took it out. It is in no view; the record goes when the namespace lists no
	// piece on it any more.
	Removed bool
	// RemovedAt is when, in seconds since 1970, and RemovedAddr where its node was: the node may be removed too.
	RemovedAt   int64  `json:",omitempty"`
	RemovedAddr string `json:",omitempty"`
}

type spaceRecord struct {
	Name      string
	Layout    hemera.Layout
	Checksum  string
	PiecesMin uint8
	NoSync    bool
	Headroom  int64
	GroupSize int
}

type attachRecord struct {
	Node   hemera.NodeID
	Path   string
	Space  string
	Folder bool `json:",omitempty"`
}

type keyRecord struct {
	hemera.Key
	Made time.Time
	// Version is 2 for keys that nodes have only their own parts of; older ones all nodes had.
	Version int
	// Ends is when the key stops to verify, if an admin said so.
	Ends time.Time
}

// removedRecord is of a node that was removed a short time ago.
type removedRecord struct {
	ID hemera.NodeID
	At time.Time
}

// authorityRecord is the SHA-256 of the authority's certificate.
type authorityRecord struct{ Fingerprint []byte }

type nextRecord struct {
	Node hemera.NodeID
	Disk hemera.DiskID
}

func (n nodeRecord) key() string    { return fmt.Sprintf("node/%08x", uint32(n.ID)) }
func (r diskRecord) key() string    { return fmt.Sprintf("disk/%08x", uint32(r.ID)) }
func (s spaceRecord) key() string   { return "space/" + s.Name }
func (r attachRecord) key() string  { return fmt.Sprintf("attach/%08x/%s", uint32(r.Node), r.Path) }
func (r keyRecord) key() string     { return fmt.Sprintf("key/%08x", r.ID) }
func (r removedRecord) key() string { return fmt.Sprintf("removed/%08x", uint32(r.ID)) }
func (nextRecord) key() string      { return "next" }
func (authorityRecord) key() string { return "authority" }

type record interface{ key() string }

// change is a set of records to make durable together.
type change struct {
	puts    []record
	deletes []record
}

func (ch *change) put(r record)    { ch.puts = append(ch.puts, r) }
func (ch *change) delete(r record) { ch.deletes = append(ch.deletes, r) }

// step is one record of a change as the store takes it.
type step struct {
	op  kv.Op
	rec record
}

// steps are what a change does, in its order: what is put, then what is deleted.
func (ch *change) steps() ([]step, error) {
	list := make([]step, 0, len(ch.puts)+len(ch.deletes))
	for _, r := range ch.puts {
		text, err := json.Marshal(r)
		if err != nil {
			return nil, errs.Wrap(err, "cluster.Commit", r.key())
		}
		list = append(list, step{kv.Op{Key: []byte(Prefix + r.key()), Value: text}, r})
	}
	for _, r := range ch.deletes {
		list = append(list, step{kv.Op{Key: []byte(Prefix + r.key()), Delete: true}, r})
	}
	return list, nil
}

// fitting is how many of the steps one batch takes, at least one.
func fitting(steps []step) (n int) {
	bytes := 0
	for n < len(steps) && n < kv.BatchOps {
		bytes += len(steps[n].op.Key) + len(steps[n].op.Value)
		if n > 0 && bytes > kv.BatchBytes {
			break
		}
		n++
	}
	return n
}

// commit makes the change durable, then true in memory. One that is too big for a batch, a node with
// thousands of new disks, is made in several, in its order, so whoever makes such a one puts first what
// the rest needs. On error memory is what is known to be durable. c.mu is held.
func (c *Cluster) commit(ctx context.Context, ch *change) error {
	steps, err := ch.steps()
	if err != nil {
		return err
	}
	for len(steps) > 0 {
		n := fitting(steps)
		if err := c.commitOne(ctx, steps[:n]); err != nil {
			return err
		}
		steps = steps[n:]
	}
	return nil
}

func (c *Cluster) commitOne(ctx context.Context, steps []step) error {
	var b kv.Batch
	for _, s := range steps {
		b.Ops = append(b.Ops, s.op)
	}
	ticket, err := c.writer.Enqueue(&b)
	if err != nil {
		return errs.Wrap(err, "cluster.Commit", "")
	}
	// The batch is on its way whether the caller still waits or not, and memory must follow it.
	if err := ticket.Wait(context.WithoutCancel(ctx)); err != nil {
		return errs.Wrap(err, "cluster.Commit", "")
	}
	for _, s := range steps {
		if s.op.Delete {
			c.forget(s.rec)
		} else {
			c.apply(s.rec)
		}
	}
	return nil
}

// apply makes one record true in memory.
func (c *Cluster) apply(r record) {
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
	}
}

// forget takes one record out of memory.
func (c *Cluster) forget(r record) {
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
	}
}

// load reads every record.
func (c *Cluster) load(ctx context.Context, store kv.Reader) error {
	var failed error
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

func (c *Cluster) decode(name string, value []byte) error {
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
	}
	return nil // tokens stay in the store
}

func decodeInto[R record](c *Cluster, value []byte) error {
	var r R
	if err := json.Unmarshal(value, &r); err != nil {
		return err
	}
	c.apply(r)
	return nil
}
