package namespace

import (
	"encoding/binary"
	"hash/maphash"
	"hemera/core/namespace/schema"
	"sync"
	"sync/atomic"
)

// cache keeps decoded records by store key, absence included, within a bound in bytes. Eviction is
// CLOCK: a hit marks its item, the hand passes over marked ones once (Corbató 1968).
//
// Every item carries the sequence number of the batch that wrote it. An evicted one leaves its
// number in floor: whoever reads the same key from the store afterwards has seen at most that much.
//
// Readers fill the cache from the store without a lock over both. So that none puts an old record
// over a new one, or one the disk does not have yet beside a number that says it does, the writer
// counts up a key's stripe before the store has its change and again when the cache has it; fill
// keeps nothing if the count was odd or moved on while the store was read.
//
// A key is hashed once for all that is done with it; its hash says shard and stripe.
//
// Of a directory that was made since the start the cache may know all names (see whole): then one that
// it does not have is not in the store either.
type cache struct {
	seed    maphash.Seed
	shards  [shardCount]shard
	floor   atomic.Uint64
	stripes [stripeCount]atomic.Uint64
	lost    [lostCount]atomic.Uint64 // how many names were evicted, by directory
}

const (
	shardCount = 64
	// stripeCount is many times the keys of a group: who reads a key of a stripe that is being written
	// waits for the group, though it is seldom his key.
	stripeCount = 1 << 16
	lostCount   = 1 << 14
	// itemCost is what an item takes besides its key and what put is told: the map's slot, the
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

// record is what the cache knows of a key.
type record struct {
	value any    // a pointer to a decoded record, nil: the store has none
	size  int    // bytes of its encoded form, at most
	seq   uint64 // the batch that wrote it, or a later one
}

type item struct {
	key string
	record
	used atomic.Bool
}

func (it *item) cost() int64 { return int64(itemCost + 2*len(it.key) + 2*it.size) }

func newCache(bytes int64) *cache {
	c := &cache{seed: maphash.MakeSeed()}
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
	value, seq, ok = c.again(hash, k)
	if s := c.shard(hash); ok {
		s.hits.Add(1)
	} else {
		s.misses.Add(1)
	}
	return value, seq, ok
}

// again is get that is not counted.
func (c *cache) again(hash uint64, k []byte) (value any, seq uint64, ok bool) {
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

// whole stands under wholeKey while the cache has all names of a directory: it is put when nothing can
// be in the directory yet, and is good while none of its names was evicted.
type whole struct{ lost uint64 }

// wholeKey is a key of no table.
func wholeKey(dir uint64) (k [10]byte) {
	k[0], k[1] = schema.Space, '*'
	binary.BigEndian.PutUint64(k[2:], dir)
	return k
}

func (c *cache) lostOf(hash uint64) *atomic.Uint64 { return &c.lost[hash%lostCount] }

// begun says that nothing is in the directory so far.
func (c *cache) begun(dir uint64) {
	k := wholeKey(dir)
	hash := c.hash(k[:])
	c.put(hash, k[:], record{value: &whole{c.lostOf(hash).Load()}})
}

// without reports whether the store surely has no record at the key, which the cache has not.
func (c *cache) without(k []byte) bool {
	if k[1] != schema.TableEntry {
		return false
	}
	of := wholeKey(schema.Uint64At(k, 2))
	hash := c.hash(of[:])
	value, _, _ := c.again(hash, of[:])
	w, ok := value.(*whole)
	return ok && w.lost == c.lostOf(hash).Load()
}

// writes is how often the key's stripe was written; odd while it is being written.
func (c *cache) writes(hash uint64) uint64 { return c.stripe(hash).Load() }

// begin tells readers that the changes are about to appear in the store; publish, that the cache
// has them.
func (c *cache) begin(all *changes) {
	for i := range all.list {
		if now := &all.list[i]; schema.Cached(now.key) {
			c.stripe(now.hash).Add(1)
		}
	}
}

func (c *cache) publish(all *changes, seq uint64) {
	for i := range all.list {
		if now := &all.list[i]; schema.Cached(now.key) {
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

// fill keeps a record read from the store unless the stripe was written since writes was count.
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

func (c *cache) evict(s *shard) {
	s.hand %= len(s.ring)
	it := s.ring[s.hand]
	if it.used.Swap(false) {
		s.hand++
		return
	}
	if it.key[1] == schema.TableEntry { // before it is gone
		of := wholeKey(schema.Uint64At([]byte(it.key[:10]), 2))
		c.lostOf(c.hash(of[:])).Add(1)
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

// looks is how often a record was found in the cache, and how often not.
func (c *cache) looks() (hits, misses int64) {
	for i := range c.shards {
		hits += c.shards[i].hits.Load()
		misses += c.shards[i].misses.Load()
	}
	return hits, misses
}

func (c *cache) max() int64 { return c.shards[0].max * shardCount }
