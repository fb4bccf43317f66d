package daemon

const (
	// recordsMost bounds the cache of decoded records, about two million of them. The collector marks
	// all of their objects in each cycle, 0.2 s a million on four busy cores; blocks have no pointers, so
	// they get what is beyond.
	recordsMost = 1 << 30
	// tableLeast and tableMost bound a memory table of the store. After a crash up to four of them are
	// made again from the log before the manager answers.
	tableLeast, tableMost = 1 << 20, 32 << 20
	// besides is what a manager takes apart from its caches: connections, requests, the store's own.
	besides = 1 << 30
)

// shares is how the memory for the namespace is dealt.
type shares struct {
	records int64 // decoded, in the namespace's cache
	blocks  int64 // in the store's cache
	table   int64 // one of two memory tables of the store
}

// deal splits a manager's cache.
func deal(total int64) shares {
	table := min(max(total/32, tableLeast), tableMost)
	rest := max(0, total-2*table)
	records := min(rest/2, recordsMost)
	return shares{records: records, blocks: rest - records, table: table}
}

// MemoryLimit is the soft limit to give the Go runtime in a manager with so much cache: the collector works
// harder when more than the caches and what else is needed is in use, instead of letting garbage double it.
func MemoryLimit(cache int64) int64 { return cache + cache/8 + besides }
