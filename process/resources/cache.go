package resources

const (
	// recordsMax bounds the cache of decoded records, about two million of them. The garbage collector marks all of their
	// objects in each cycle, which takes 0.2 s for each million on four busy cores. Blocks have no pointers, so they get
	// the memory above this.
	recordsMax = 1 << 30
	// tableMin and tableMax bound a memory table of the store. After a crash up to four of them are rebuilt from the log
	// before the manager answers.
	tableMin, tableMax = 1 << 20, 32 << 20
	// baseline is the memory that a manager needs besides its caches: connections, requests, the store's own.
	baseline = 1 << 30
)

// CacheSplit is the division of the memory for the namespace, in bytes.
type CacheSplit struct {
	Records int64 // decoded entries, in the namespace's cache
	Blocks  int64 // blocks of tables, in the store's cache
	Table   int64 // one of the two memory tables of the store
}

// SplitCache divides a manager's cache (cache.namespace).
func SplitCache(total int64) CacheSplit {
	table := min(max(total/32, tableMin), tableMax)
	rest := max(0, total-2*table)
	records := min(rest/2, recordsMax)
	return CacheSplit{Records: records, Blocks: rest - records, Table: table}
}

// MemoryLimit returns the soft memory limit of the Go runtime in a manager with a cache of that size. Near the limit the
// collector runs more often; without a limit, garbage would double the process.
func MemoryLimit(cache int64) int64 { return cache + cache/8 + baseline }
