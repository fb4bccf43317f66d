// Package rowcache keeps what a reader of a coded file has read of rows that lack a data piece, so that no byte is read from
// a piece twice: once for itself, and once more for each lost piece that is computed with it.
//
// A [Cache] belongs to one reader and has strips: the same range of all pieces. A block is what one piece has in a strip. A
// strip goes when all that it was kept for was taken, or as the oldest when room is short. A caller that finds no room reads
// for itself, as without a cache. The package knows nothing of codes, and reads nothing itself.
//
// Locks are leaves and guard memory only. A caller waits for a block that another is reading.
package rowcache

import (
	"slices"
	"sync"
	"sync/atomic"

	"hemera/rules/erasure"
)

const (
	// roomBytes bounds what all caches of one [Room] keep, cacheBytes what one does: some rows of the widest layouts with the
	// default blocks, for each of the requests that a stock client has under way.
	roomBytes  = 256 << 20
	cacheBytes = 64 << 20
)

// Room is the memory that several caches share. The zero value is ready.
type Room struct{ used atomic.Int64 }

// Used returns the number of bytes that are kept now.
func (r *Room) Used() int64 { return r.used.Load() }

// Cache has strips of one file. Methods may be called concurrently.
type Cache struct {
	room *Room

	mu     sync.Mutex
	closed bool
	used   int64 // bytes that are counted in room, too
	strips map[int64]*strip
	order  []int64 // of the strips, the oldest first
}

// strip has blocks of one range of the pieces.
type strip struct {
	blocks map[int]*block
	taken  erasure.Set
	bytes  int64
}

// block has the bytes of a piece in a strip. data and err are set when ready is closed.
type block struct {
	ready chan struct{}
	data  []byte
	err   error
}

// New makes an empty cache. Close releases its room.
func New(room *Room) *Cache { return &Cache{room: room, strips: map[int64]*strip{}} }

// Block returns the n bytes that the piece has in the strip. The first caller for them has fetch fill them, others wait for
// that. A failure is the result for those that waited, and is forgotten. The bytes are not to be changed.
//
// fetch may ask for other blocks, not for one that waits for this one. After an error it may go on using its memory.
func (c *Cache) Block(at int64, piece, n int, fetch func(b []byte) error) ([]byte, error) {
	b, mine := c.reserve(at, piece, n)
	switch {
	case b == nil:
		own := make([]byte, n)
		return own, fetch(own)
	case !mine:
		<-b.ready
		return b.data, b.err
	}
	data := make([]byte, n)
	if b.err = fetch(data); b.err == nil {
		b.data = data
	} else {
		c.forget(at, piece, b, n)
	}
	close(b.ready)
	return b.data, b.err
}

// Take records that a piece's bytes of a strip were used by whom it was kept for. When all pieces of the set were, the
// strip goes.
func (c *Cache) Take(at int64, piece int, all erasure.Set) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.strips[at]
	if s == nil {
		return
	}
	if s.taken = s.taken.With(piece); all&^s.taken == 0 {
		c.drop(at)
	}
}

// Close forgets everything. Calls after it read for themselves.
func (c *Cache) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for len(c.order) > 0 {
		c.drop(c.order[0])
	}
}

// reserve finds a block, or makes room for it, which the caller has to fill then. It returns nil if there is no room.
func (c *Cache) reserve(at int64, piece, n int) (b *block, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, false
	}
	if s := c.strips[at]; s != nil {
		if b := s.blocks[piece]; b != nil {
			return b, false
		}
	}
	for c.used+int64(n) > cacheBytes || c.room.used.Load()+int64(n) > roomBytes {
		// Memory of other readers is theirs. Blocks of this strip are the last to go.
		oldest := slices.IndexFunc(c.order, func(o int64) bool { return o != at })
		if oldest < 0 {
			return nil, false
		}
		c.drop(c.order[oldest])
	}
	s := c.strips[at]
	if s == nil {
		s = &strip{blocks: map[int]*block{}}
		c.strips[at] = s
		c.order = append(c.order, at)
	}
	b = &block{ready: make(chan struct{})}
	s.blocks[piece] = b
	c.count(s, int64(n))
	return b, true
}

// forget takes out a block that could not be filled, if it is still here.
func (c *Cache) forget(at int64, piece int, b *block, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.strips[at]; s != nil && s.blocks[piece] == b {
		delete(s.blocks, piece)
		c.count(s, -int64(n))
	}
}

// drop takes out a strip. Callers that wait for its blocks get them all the same. mu is held.
func (c *Cache) drop(at int64) {
	c.count(c.strips[at], -c.strips[at].bytes)
	delete(c.strips, at)
	c.order = slices.Delete(c.order, slices.Index(c.order, at), slices.Index(c.order, at)+1)
}

// count adds to what is kept. mu is held.
func (c *Cache) count(s *strip, n int64) {
	s.bytes += n
	c.used += n
	c.room.used.Add(n)
}
