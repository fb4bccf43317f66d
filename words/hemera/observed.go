package hemera

import "time"

// OpenFile is one file that is open at a node: by a client, or by Hemera itself.
type OpenFile struct {
	Who   Identity // as the manager knew it at the open
	Node  NodeID
	Path  string // as of the open
	File  FileID
	Write bool
	// Disks are the one that is read now, or those that are written; all that may be read while none is.
	Disks []DiskID
	Since time.Time // the node's clock
	Bytes int64     // read or written
	Rate  float64   // bytes per second since nodes were asked before, or since the open
}

// EventKind says what an event records. The numbers are stored.
type EventKind uint8

// The kinds of events.
const (
	EventMkdir EventKind = 1 + iota
	EventCommit
	EventRename
	EventRemove
	EventAttributes
	EventPieces
)

// Event is one committed change, in the order of commits.
type Event struct {
	Seq   uint64
	Kind  EventKind
	Time  time.Time
	File  FileID
	Path  string // as of the change
	To    string // renames: the new path
	Who   string
	Bytes int64
}
