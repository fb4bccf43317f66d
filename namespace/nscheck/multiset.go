package nscheck

import (
	"encoding/binary"
	"math/bits"

	"github.com/zeebo/xxh3"

	"hemera/words/hemera"
)

// What an index repeats of the entries is compared without looking anything up: both sides are added
// up as multisets, a 128-bit hash of each record, modulo 2^128, so that the order does not matter
// (Clarke et al., "Incremental multiset hash functions", 2003; here against accidents only). Sums are
// kept apart by buckets of file ids, so that a second pass has to remember little to name records.

// indexKind is an index that repeats what entries say.
type indexKind uint8

const (
	indexLocation   indexKind = iota // id → parent, name
	indexPiece                       // disk, file, index
	indexIncomplete                  // incomplete files
	indexKinds
)

// bucketCount is the number of groups of files that have sums of their own.
const bucketCount = 4096

// bucketOf returns the bucket of a file: ids are spread, so that damage to neighbours does not fill one bucket.
func bucketOf(id hemera.FileID) int { return int(mix(uint64(id)) % bucketCount) }

// fact is the subject of one record of an index.
type fact struct {
	kind  indexKind
	index uint8         // of a piece, else 0
	disk  hemera.DiskID // of a piece, else 0
	file  hemera.FileID
}

// side says where an item was seen.
type side uint8

const (
	inEntry side = 1 << iota
	inIndex
)

// sum is a number modulo 2^128.
type sum struct{ hi, lo uint64 }

// plus returns the sum modulo 2^128.
func (s sum) plus(o sum) sum {
	lo, carry := bits.Add64(s.lo, o.lo, 0)
	hi, _ := bits.Add64(s.hi, o.hi, carry)
	return sum{hi, lo}
}

// minus returns the difference modulo 2^128.
func (s sum) minus(o sum) sum {
	lo, borrow := bits.Sub64(s.lo, o.lo, 0)
	hi, _ := bits.Sub64(s.hi, o.hi, borrow)
	return sum{hi, lo}
}

// hash returns the hash of a fact and of what its record says of it. buffer is memory that is used again.
func (i fact) hash(buffer []byte, content ...[]byte) (sum, []byte) {
	b := append(buffer[:0], byte(i.kind), i.index)
	b = binary.BigEndian.AppendUint32(b, uint32(i.disk))
	b = binary.BigEndian.AppendUint64(b, uint64(i.file))
	for _, c := range content {
		b = append(b, c...)
	}
	h := xxh3.Hash128(b)
	return sum{h.Hi, h.Lo}, b
}

// sums is the difference of both sides for each index and bucket; zero where they agree.
type sums [indexKinds][bucketCount]sum

// add adds what an entry implies, or subtracts what an index has.
func (s *sums) add(i fact, from side, h sum) {
	at := &s[i.kind][bucketOf(i.file)]
	if from == inEntry {
		*at = at.plus(h)
	} else {
		*at = at.minus(h)
	}
}

// merge adds the sums of another goroutine.
func (s *sums) merge(o *sums) {
	for kind := range o {
		for b, v := range o[kind] {
			s[kind][b] = s[kind][b].plus(v)
		}
	}
}

// differing returns the buckets in which an index does not agree, at most most of each, and the number of other
// ones.
func (s *sums) differing(most int) (named map[indexKind]map[int]bool, more int) {
	named = make(map[indexKind]map[int]bool)
	for kind := range s {
		for b, v := range s[kind] {
			switch {
			case v == sum{}:
			case len(named[indexKind(kind)]) == most:
				more++
			default:
				if named[indexKind(kind)] == nil {
					named[indexKind(kind)] = make(map[int]bool)
				}
				named[indexKind(kind)][b] = true
			}
		}
	}
	return named, more
}

// collector remembers the facts of a few buckets, until both sides were seen.
type collector struct {
	buckets map[indexKind]map[int]bool
	seen    map[fact]sighting
}

// sighting is the place at which a fact was seen, and the difference between both sides.
type sighting struct {
	sides side   // where the fact was seen
	diff  sum    // of both sides' records; zero if they say the same
	at    string // parent and name, of a location
}

// add notes a fact if its bucket is one of those that differ. A fact that both sides agree about is forgotten, so
// memory holds only what was seen on one side so far.
func (c *collector) add(i fact, from side, h sum, at []byte) {
	if !c.buckets[i.kind][bucketOf(i.file)] {
		return
	}
	was := c.seen[i]
	if from == inEntry {
		was.diff = was.diff.plus(h)
	} else {
		was.diff = was.diff.minus(h)
	}
	was.sides |= from
	if was.at == "" || from == inEntry {
		was.at = string(at)
	}
	// Both sides have it, and say the same: it is not what differs in this bucket.
	if was.sides == inEntry|inIndex && was.diff == (sum{}) {
		delete(c.seen, i)
		return
	}
	c.seen[i] = was
}

// mix returns the finalizer of SplitMix64 (Steele, Lea, Flood 2014): neighbours become unlike.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
