package record

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// cache keeps decoded records by store key, absence included, within a bound in bytes. Eviction is
// CLOCK: a hit marks its item, the hand passes over marked ones once (Corbató 1968).
//
// Every item carries the sequence number of the batch that wrote it. An evicted item leaves its
// number in floor: a reader of the same key from the engine afterwards has seen at most that much.
//
// Readers fill the cache from the engine without a lock over both. So that none puts an old record
// over a new one, or one the disk does not have yet beside a number that says it does, the writer
// increments the counter of a key's stripe before the engine has its change and again when the cache has it;
// fill keeps nothing if the counter was odd, or moved on while the engine was read.
//
// A key is hashed once for everything that is done with it; its hash decides shard and stripe.
//
// The cache may know all keys of a set that was empty at some time in this life (see completeSet): a key of the
// set that the cache does not have is not in the engine either.
type cache struct {
	seed      maphash.Seed
	setTable  byte // second byte of keys that form sets, by their first setPrefix bytes
	setPrefix int
	shards    [shardCount]shard
	floor     atomic.Uint64
	stripes   [stripeCount]atomic.Uint64
	evictions [evictionCount]atomic.Uint64 // of keys of sets, by the hash of the set
}

const (
	shardCount = 64
	// stripeCount is many times the keys of a group: a reader of any key of a stripe that is being written
	// waits for the group, though the key that is written is seldom the same.
	stripeCount   = 1 << 16
	evictionCount = 1 << 14
	// itemCost is the number of bytes that an item takes besides its key and its record: the map's slot, the
	// item, the ring's slot and a typical record's fixed part.
	itemCost = 320
)

type shard struct {
	mu    sync.RWMutex
	items map[string]*item
	ring  []*item
	hand  int
	bytes int64
	max   int64

	hits, misses atomic.Int64
}

// record is the cache's record of a key.
type record struct {
	value any    // a pointer to a decoded record, nil: the engine has none
	size  int    // bytes of its encoded form, at most
	seq   uint64 // the batch that wrote it, or a later one
}

type item struct {
	key string
	record
	used atomic.Bool // since the hand passed
}

// cost returns the part of the bound that the item takes. The key and the decoded record are counted twice, for what they
// take in Go's memory is more than their bytes.
func (it *item) cost() int64 { return int64(itemCost + 2*len(it.key) + 2*it.size) }

func newCache(bytes int64, setTable byte, setPrefix int) *cache {
	c := &cache{seed: maphash.MakeSeed(), setTable: setTable, setPrefix: setPrefix}
	for i := range c.shards {
		c.shards[i].items = make(map[string]*item)
		c.shards[i].max = bytes / shardCount
	}
	return c
}

func (c *cache) hash(k []byte) uint64 { return maphash.Bytes(c.seed, k) }

func (c *cache) shard(hash uint64) *shard { return &c.shards[hash%shardCount] }

// get returns the record and its sequence number, and whether the cache knows the key.
func (c *cache) get(hash uint64, k []byte) (value any, seq uint64, ok bool) {
	value, seq, ok = c.peek(hash, k)
	if s := c.shard(hash); ok {
		s.hits.Add(1)
	} else {
		s.misses.Add(1)
	}
	return value, seq, ok
}

// peek does what get does, without counting a hit or a miss.
func (c *cache) peek(hash uint64, k []byte) (value any, seq uint64, ok bool) {
	s := c.shard(hash)
	s.mu.RLock()
	defer s.mu.RUnlock()
	it := s.items[string(k)]
	if it == nil {
		return nil, 0, false
	}
	if !it.used.Load() {
		it.used.Store(true)
	}
	return it.value, it.seq, true
}

func (c *cache) stripe(hash uint64) *atomic.Uint64 { return &c.stripes[hash/shardCount%stripeCount] }

// completeSet stands under completeKey while the cache has all keys of a set. It is put when nothing can be in the
// set yet, and is valid while no key of the set was evicted: while the evictions are as they were.
type completeSet struct{ evictions uint64 }

// setKeyMax bounds the prefix of a set.
const setKeyMax = 16

// completeKey returns a key of no table for the set with the prefix.
func completeKey(prefix []byte) (k [setKeyMax]byte) {
	copy(k[:], prefix)
	k[1] = '*'
	return k
}

func (c *cache) evictionsOf(hash uint64) *atomic.Uint64 { return &c.evictions[hash%evictionCount] }

// markComplete says that nothing is in the set so far.
func (c *cache) markComplete(prefix []byte) {
	k := completeKey(prefix)
	hash := c.hash(k[:])
	c.put(hash, k[:], record{value: &completeSet{c.evictionsOf(hash).Load()}})
}

// knownAbsent reports whether the engine surely has no record at the key, which the cache does not have.
func (c *cache) knownAbsent(k []byte) bool {
	if k[1] != c.setTable || len(k) < c.setPrefix {
		return false
	}
	of := completeKey(k[:c.setPrefix])
	hash := c.hash(of[:])
	value, _, _ := c.peek(hash, of[:])
	set, ok := value.(*completeSet)
	return ok && set.evictions == c.evictionsOf(hash).Load()
}

// writes counts the writes of the key's stripe; it is odd while one is under way.
func (c *cache) writes(hash uint64) uint64 { return c.stripe(hash).Load() }

// begin tells readers that the changes are about to appear in the engine.
func (c *cache) begin(all *changes, cached func(k []byte) bool) {
	for i := range all.list {
		now := &all.list[i]
		if cached(now.key) {
			c.stripe(now.hash).Add(1)
		}
	}
}

// publish puts the changes of a batch into the cache.
func (c *cache) publish(all *changes, seq uint64, cached func(k []byte) bool) {
	for i := range all.list {
		now := &all.list[i]
		if cached(now.key) {
			c.put(now.hash, now.key, record{now.value, now.size, seq})
			c.stripe(now.hash).Add(1)
		}
	}
}

func (c *cache) put(hash uint64, k []byte, r record) {
	s := c.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.keep(s, k, r)
}

// fill keeps a record read from the engine unless the stripe was written since writes was count.
func (c *cache) fill(hash uint64, k []byte, r record, count uint64) bool {
	s := c.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if count%2 != 0 || c.writes(hash) != count {
		return false
	}
	c.keep(s, k, r)
	return true
}

// keep stores the record in the shard, whose lock the caller holds, and evicts what is too much.
func (c *cache) keep(s *shard, k []byte, r record) {
	it := s.items[string(k)]
	if it == nil {
		it = &item{key: string(k)}
		s.items[it.key] = it
		s.ring = append(s.ring, it)
	} else {
		s.bytes -= it.cost()
	}
	it.record = r
	s.bytes += it.cost()
	for s.bytes > s.max && len(s.ring) > 0 {
		c.evict(s)
	}
}

// evict removes the item at the hand, unless it was used since the hand passed. The caller holds the shard's lock.
func (c *cache) evict(s *shard) {
	s.hand %= len(s.ring)
	it := s.ring[s.hand]
	if it.used.Swap(false) {
		s.hand++
		return
	}
	if it.key[1] == c.setTable && len(it.key) >= c.setPrefix { // before it is gone
		var prefix [setKeyMax]byte
		of := completeKey(prefix[:copy(prefix[:], it.key[:c.setPrefix])])
		c.evictionsOf(c.hash(of[:])).Add(1)
	}
	last := len(s.ring) - 1
	s.ring[s.hand] = s.ring[last]
	s.ring[last] = nil
	s.ring = s.ring[:last]
	delete(s.items, it.key)
	s.bytes -= it.cost()
	for {
		floor := c.floor.Load()
		if it.seq <= floor || c.floor.CompareAndSwap(floor, it.seq) {
			return
		}
	}
}

func (c *cache) bytes() int64 {
	var n int64
	for i := range c.shards {
		c.shards[i].mu.RLock()
		n += c.shards[i].bytes
		c.shards[i].mu.RUnlock()
	}
	return n
}

// lookups counts the look-ups that found a record in the cache, and those that did not.
func (c *cache) lookups() (hits, misses int64) {
	for i := range c.shards {
		hits += c.shards[i].hits.Load()
		misses += c.shards[i].misses.Load()
	}
	return hits, misses
}

func (c *cache) max() int64 { return c.shards[0].max * shardCount }
