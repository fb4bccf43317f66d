package cluster

import (
	"encoding/json"
	"fmt"
	"time"

	"hemera/platform/kv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Prefix begins every key of this package; nobody else may write below it.
const Prefix = "!cluster/"

// nodeRecord is what is durable of a node. What it reports is not: see node.
type nodeRecord struct {
	ID       hemera.NodeID
	Addr     string // host:port of its xrd door, as it registered last; "" before
	Zone     string // as the node says
	ZoneSet  string // as an admin says; wins
	Disabled bool   // an admin switched it off
	Waiting  bool   // for an admin to admit it
	Epoch    uint64 // of its newest lease; it only grows
	Version  string // of its program, as it says
}

// diskRecord is what is durable of a disk: its identity, and what an admin decided.
type diskRecord struct {
	ID      hemera.DiskID     // in the records of pieces; never given out twice
	UUID    string            // on the disk itself, by which it is known again at another path or node
	Node    hemera.NodeID     // that has it now
	Path    string            // there
	Space   string            // whose policy new files on it have
	ZoneSet string            // as an admin says; wins over the node's
	Config  hemera.DiskConfig // what an admin wants of it
	// Removed: an admin took it out. It is in no view; the record goes when the namespace lists no
	// piece on it any more.
	Removed bool
	// RemovedAt is when, in seconds since 1970, and RemovedAddr where its node was: the node may be removed too.
	RemovedAt   int64  `json:",omitempty"`
	RemovedAddr string `json:",omitempty"`
	// Cleared are errors that an admin has seen: they count no more.
	Cleared clearedErrors `json:",omitzero"`
}

// clearedErrors are the counts of a disk's errors when an admin cleared them.
type clearedErrors struct {
	Started      int64 // when the node's process started that counted them, in nanoseconds since 1970; another one counts from 0
	Checksum, IO int64
}

// spaceRecord is a space and its policy for new files.
type spaceRecord struct {
	Name      string
	Layout    hemera.Layout // of new files
	BlockSize uint32        `json:",omitempty"` // of coded files whose directory or client names none; 0: [hemera.BlockSizeDefault]
	Checksum  string        // by its name: numbers are the program's
	PiecesMin uint8         // 0: found out at each open
	NoSync    bool          // pieces count as sealed before they are on the device
	Headroom  int64         // bytes kept free on each disk; 0: see [Headroom]
	Recycle   string        `json:",omitempty"` // what is kept of removed files, as of the attribute sys.recycle; "": nothing
	// Balancer has its defaults as zeros, and is left out if nothing was set.
	Balancer hemera.Balancer `json:",omitzero"`
}

// attachRecord is the wish of an admin that a node takes a path as a disk. It goes when the node has taken it,
// or has said that it cannot.
type attachRecord struct {
	Node   hemera.NodeID // that is to take it
	Path   string        // absolute and clean
	Space  string        // of the new disk
	Folder bool          `json:",omitempty"` // a directory that is no filesystem of its own will do
}

// keyRecord is one secret of capabilities.
type keyRecord struct {
	hemera.Key
	Made time.Time // by the manager's clock, which may have been wrong
	// Version is 2 for keys that nodes have only their own parts of.
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

// nextRecord has the ids that the next node and disk get. Ids are never given out twice, so it is stored before
// anything has them.
type nextRecord struct {
	Node hemera.NodeID // above all that were ever given out
	Disk hemera.DiskID
}

// The keys of the records, below [Prefix]. The document docs/formats/cluster.md has them all.
func (n nodeRecord) key() string    { return fmt.Sprintf("node/%08x", uint32(n.ID)) }
func (r diskRecord) key() string    { return fmt.Sprintf("disk/%08x", uint32(r.ID)) }
func (s spaceRecord) key() string   { return "space/" + s.Name }
func (r attachRecord) key() string  { return fmt.Sprintf("attach/%08x/%s", uint32(r.Node), r.Path) }
func (r keyRecord) key() string     { return fmt.Sprintf("key/%08x", r.ID) }
func (r removedRecord) key() string { return fmt.Sprintf("removed/%08x", uint32(r.ID)) }
func (nextRecord) key() string      { return "next" }
func (authorityRecord) key() string { return "authority" }

// record is one value of the store. Its key is below [Prefix].
type record interface{ key() string }

// change is a set of records to make durable together.
type change struct {
	puts    []record // stored first, in their order: ids go before what has them
	deletes []record // then removed
}

// empty reports whether there is nothing to store.
func (ch *change) empty() bool { return len(ch.puts)+len(ch.deletes) == 0 }

func (ch *change) put(r record)    { ch.puts = append(ch.puts, r) }
func (ch *change) delete(r record) { ch.deletes = append(ch.deletes, r) }

// step is one record of a change as the store takes it.
type step struct {
	op  kv.Op  // for the store
	rec record // for memory, once the batch is durable
}

// steps are what a change does, in its order: what is put, then what is deleted.
func (ch *change) steps() ([]step, error) {
	list := make([]step, 0, len(ch.puts)+len(ch.deletes))
	for _, r := range ch.puts {
		// JSON, as records are few and are read by people when something is wrong; fields are added without a new format.
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
		// A record that is too large by itself goes alone, and the store says what is wrong with it.
		if n > 0 && bytes > kv.BatchBytes {
			break
		}
		n++
	}
	return n
}
