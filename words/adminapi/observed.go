package adminapi

import (
	"time"

	"hemera/words/hemera"
)

// SessionInfo is one client connection (EOS: who).
type SessionInfo struct {
	Who   hemera.Identity
	Since time.Time
	Idle  time.Duration
	Open  int // handles
	TLS   bool
	Addr  string
}

// NamespaceStats is the head of `ns stat`.
type NamespaceStats struct {
	Totals     hemera.TreeTotals
	Recycled   hemera.TreeTotals // in recycle bins, whose own directories count too; not part of Totals
	NextID     hemera.FileID
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
	WentBack        hemera.WentBack
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
	// LastBackup is the time of the last backup that the manager sent as a whole; zero: none. BackupsSince is the time
	// since which it remembers that.
	LastBackup, BackupsSince time.Time
}
