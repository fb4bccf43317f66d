package namespace

import (
	"hash/maphash"
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
type cache struct {
	seed         maphash.Seed
	shards       [shardCount]shard
	hits, misses atomic.Int64
	floor        atomic.Uint64
	stripes      [stripeCount]atomic.Uint64
}

const (
	shardCount  = 64
	stripeCount = 4096
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
}

type item struct {
	key   string
	value any // a pointer to a decoded record, nil: the store has none
	seq   uint64
	cost  int64
	used  atomic.Bool
}

func newCache(bytes int64) *cache {
	c := &cache{seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].items = make(map[string]*item)
		c.shards[i].max = bytes / shardCount
	}
	return c
}

func (c *cache) shard(k []byte) *shard {
	return &c.shards[maphash.Bytes(c.seed, k)%shardCount]
}

// get returns the record and its sequence number, and whether the cache knows the key.
func (c *cache) get(k []byte) (value any, seq uint64, ok bool) {
	s := c.shard(k)
	s.mu.RLock()
	defer s.mu.RUnlock()
	it := s.items[string(k)]
	if it == nil {
		c.misses.Add(1)
		return nil, 0, false
	}
	if !it.used.Load() {
		it.used.Store(true)
	}
	c.hits.Add(1)
	return it.value, it.seq, true
}

// writes is how often the key's stripe was written; odd while it is being written.
func (c *cache) writes(k []byte) uint64 {
	return c.stripes[maphash.Bytes(c.seed, k)/shardCount%stripeCount].Load()
}

func (c *cache) wrote(k string) {
	c.stripes[maphash.String(c.seed, k)/shardCount%stripeCount].Add(1)
}

// put keeps the record; size is the bytes of its encoded form.
func (c *cache) put(k []byte, value any, size int, seq uint64) {
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.keep(s, k, value, size, seq)
}

// fill keeps a record read from the store unless the stripe was written since writes was count.
func (c *cache) fill(k []byte, value any, size int, seq, count uint64) bool {
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if count%2 != 0 || c.writes(k) != count {
		return false
	}
	c.keep(s, k, value, size, seq)
	return true
}

func (c *cache) keep(s *shard, k []byte, value any, size int, seq uint64) {
	cost := int64(itemCost + 2*len(k) + 2*size)
	it := s.items[string(k)]
	if it == nil {
		it = &item{key: string(k)}
		s.items[it.key] = it
		s.ring = append(s.ring, it)
	}
	s.bytes += cost - it.cost
	it.value, it.seq, it.cost = value, seq, cost
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
	last := len(s.ring) - 1
	s.ring[s.hand] = s.ring[last]
	s.ring[last] = nil
	s.ring = s.ring[:last]
	delete(s.items, it.key)
	s.bytes -= it.cost
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

func (c *cache) max() int64 { return c.shards[0].max * shardCount }
