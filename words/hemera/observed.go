package hemera

import "time"

// SessionInfo is one client connection (EOS: who).
type SessionInfo struct {
	Who   Identity
	Since time.Time
	Idle  time.Duration
	Open  int // handles
	TLS   bool
	Addr  string
}

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

// NamespaceStats is the head of `ns stat`.
type NamespaceStats struct {
	Totals     TreeTotals
	Recycled   TreeTotals // in recycle bins, whose own directories count too; not part of Totals
	NextID     FileID
	CacheBytes int64
	CacheMax   int64
	// StoreCacheBytes is memory of the store below, and StoreCacheMax its bound: with CacheMax it is
	// the setting cache.namespace.
	StoreCacheBytes int64
	StoreCacheMax   int64
	CacheHits       int64
	CacheMisses     int64
	StoreBytes      int64
	Sequence        uint64
	Epoch           uint64
	WentBack        WentBack
	Booted          time.Time
	BootDuration    time.Duration
	Pending         int64 // writes begun, not committed
	Unlinked        int64 // pieces that disks are to remove, held ones included
	Held            int64 // pieces of replaced and removed content that stay for readers under way
	HeldBytes       int64 // of them
	RSS             int64
	Goroutines      int
	// Memory of the manager's process beside RSS, in bytes: Growth since it began to serve.
	VSize, Shared, Growth int64
	Threads               int
	Descriptors           int // open now
	// LastBackup is when the last backup was taken that the manager sent as a whole; zero: none.
	// BackupsSince is since when it remembers that.
	LastBackup, BackupsSince time.Time
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
