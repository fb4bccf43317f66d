package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/kv"
)

// Prefix begins every key of this package; nobody else may write below it.
const Prefix = "!cluster/"

type nodeRecord struct {
	ID       hemera.NodeID
	Addr     string
	Zone     string // as the node says
	ZoneSet  string // as an admin says; wins
	Disabled bool
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
	Node  hemera.NodeID
	Path  string
	Space string
}

type keyRecord struct {
	hemera.Key
	Made time.Time
}

type nextRecord struct {
	Node hemera.NodeID
	Disk hemera.DiskID
}

func (n nodeRecord) key() string   { return fmt.Sprintf("node/%08x", uint32(n.ID)) }
func (r diskRecord) key() string   { return fmt.Sprintf("disk/%08x", uint32(r.ID)) }
func (s spaceRecord) key() string  { return "space/" + s.Name }
func (r attachRecord) key() string { return fmt.Sprintf("attach/%08x/%s", uint32(r.Node), r.Path) }
func (r keyRecord) key() string    { return fmt.Sprintf("key/%08x", r.ID) }
func (nextRecord) key() string     { return "next" }

type record interface{ key() string }

// change is a set of records to make durable together.
type change struct {
	puts    []record
	deletes []record
}

func (ch *change) put(r record)    { ch.puts = append(ch.puts, r) }
func (ch *change) delete(r record) { ch.deletes = append(ch.deletes, r) }

// commit makes the change durable, then true in memory. On error memory is as before. c.mu is held.
func (c *Cluster) commit(ctx context.Context, ch *change) error {
	var b kv.Batch
	for _, r := range ch.puts {
		text, err := json.Marshal(r)
		if err != nil {
			return errs.Wrap(err, "cluster.commit", r.key())
		}
		b.Put([]byte(Prefix+r.key()), text)
	}
	for _, r := range ch.deletes {
		b.Delete([]byte(Prefix + r.key()))
	}
	if len(b.Ops) == 0 {
		return nil
	}
	ticket, err := c.writer.Enqueue(&b)
	if err != nil {
		return errs.Wrap(err, "cluster.commit", "")
	}
	// The batch is on its way whether the caller still waits or not, and memory must follow it.
	if err := ticket.Wait(context.WithoutCancel(ctx)); err != nil {
		return errs.Wrap(err, "cluster.commit", "")
	}
	for _, r := range ch.deletes {
		c.forget(r)
	}
	for _, r := range ch.puts {
		c.apply(r)
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
	case nextRecord:
		c.next = r
	}
}

// forget takes one record out of memory.
func (c *Cluster) forget(r record) {
	switch r := r.(type) {
	case nodeRecord:
		delete(c.nodes, r.ID)
		delete(c.byNode, r.ID)
	case diskRecord:
		delete(c.disks, r.ID)
		delete(c.byUUID, r.UUID)
		delete(c.byNode[r.Node], r.ID)
	case attachRecord:
		delete(c.attaches, r.key())
	case keyRecord:
		delete(c.keys, r.ID)
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
	case "key":
		return decodeInto[keyRecord](c, value)
	case "next":
		return decodeInto[nextRecord](c, value)
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
