package mounting

import (
	"hemera/words/hemera"
	"hemera/words/tapeapi"
	"slices"
)

// tape is a tape and the drive that it is in.
type tape struct {
	Tape
	drive *Drive // nil: in none
}

// stock is the tapes that can be mounted, and which of them can be written.
type stock struct {
	pools     map[tapeapi.PoolName]Pool
	tapes     map[hemera.VID]*tape
	shelves   map[tapeapi.PoolName][]*tape // tapes that can be written, by pool
	writes    map[string]map[string]bool   // media types that some drive that is up writes, by library
	writesAll map[string]bool              // libraries with such a drive that takes all media
}

// newStock indexes tapes. No drive holds one yet.
func newStock(pools map[tapeapi.PoolName]Pool, tapes []Tape) stock {
	s := stock{pools, make(map[hemera.VID]*tape, len(tapes)), map[tapeapi.PoolName][]*tape{}, map[string]map[string]bool{}, map[string]bool{}}
	s.add(tapes)
	return s
}

// add indexes tapes. A tape that cannot be written is on no shelf.
func (s *stock) add(tapes []Tape) {
	// One piece of memory: there may be 100,000.
	list := make([]tape, len(tapes))
	for i := range tapes {
		t := &list[i]
		t.Tape = tapes[i]
		s.tapes[t.VID] = t
		if t.writable() {
			s.shelves[t.Pool] = append(s.shelves[t.Pool], t)
		}
	}
}

// addWriter notes which media a drive writes, if it is up. Tapes of other media do not count as partly full: nothing will be written to them.
func (s *stock) addWriter(d *Drive) {
	if !d.Up {
		return
	}
	if len(d.Writes)+len(d.Reads) == 0 {
		s.writesAll[d.Library] = true
	}
	for _, media := range d.Writes {
		if s.writes[d.Library] == nil {
			s.writes[d.Library] = map[string]bool{}
		}
		s.writes[d.Library][media] = true
	}
}

// toRead checks the tape that a queue reads.
func toRead(e *entry, d *Drive) (*tape, Rule) {
	t := e.tape
	switch {
	case t == nil:
		return nil, TapeUnknown
	case !t.Read:
		return nil, TapeState
	case t.Lock.closed():
		return nil, KeyMissing
	case t.Library != d.Library:
		return nil, OtherLibrary
	case !takes(d, t.Media, false):
		return nil, Media
	case t.drive != nil && t.drive != d:
		return nil, TapeInUse
	}
	return t, NoRule
}

// toWrite chooses a tape of a pool for a drive: the mounted one; else the fullest that is partly full; else an empty one, of the pool and then of its supplies.
func (s *stock) toWrite(name tapeapi.PoolName, d *Drive) (chosen *tape, from tapeapi.PoolName, kept Rule) {
	var mounted, partial, empty *tape
	var open int64 // tapes that are partly full, or will be
	for _, t := range s.shelves[name] {
		elsewhere := t.drive != nil && t.drive != d
		if t.Library != d.Library || !s.written(t) {
			continue
		}
		if t.Used > 0 || elsewhere {
			open++
		}
		switch {
		case elsewhere || !takes(d, t.Media, true):
		case t.drive == d:
			mounted = t
		case t.Used > 0:
			if partial == nil || t.Used > partial.Used || t.Used == partial.Used && t.VID < partial.VID {
				partial = t
			}
		case empty == nil || t.VID < empty.VID:
			empty = t
		}
	}
	// A pool that nobody described may have one.
	pool := s.pools[name]
	another := open < max(1, pool.Partial)
	switch {
	case mounted != nil && (mounted.Used > 0 || another && !pool.Lock.closed()):
		return mounted, "", NoRule
	case partial != nil:
		return partial, "", NoRule
	case !another:
		return nil, "", PartialTapes
	// What is begun now would be in clear, or unreadable.
	case pool.Lock.closed():
		return nil, "", KeyMissing
	case empty != nil:
		return empty, "", NoRule
	}
	// Only when the pool itself has none left.
	for _, from := range pool.Supplies {
		if t := s.emptyOf(from, d); t != nil {
			return t, from, NoRule
		}
	}
	return nil, "", NoTape
}

// emptyOf returns the first empty tape of a supply pool that the drive can write.
func (s *stock) emptyOf(pool tapeapi.PoolName, d *Drive) (first *tape) {
	for _, t := range s.shelves[pool] {
		if t.Used == 0 && t.drive == nil && t.Library == d.Library && takes(d, t.Media, true) && (first == nil || t.VID < first.VID) {
			first = t
		}
	}
	return first
}

// written reports whether a drive that is up, in the library of the tape, writes its media type.
func (s *stock) written(t *tape) bool {
	return s.writesAll[t.Library] || s.writes[t.Library][t.Media]
}

// move puts a tape on the shelf of another pool.
func (s *stock) move(t *tape, pool tapeapi.PoolName) {
	from := s.shelves[t.Pool]
	if i := slices.Index(from, t); i >= 0 {
		s.shelves[t.Pool] = slices.Delete(from, i, i+1)
	}
	t.Pool = pool
	s.shelves[pool] = append(s.shelves[pool], t)
}

// takes reports whether a drive reads a media type, or writes it.
func takes(d *Drive, media string, write bool) bool {
	if len(d.Writes)+len(d.Reads) == 0 || slices.Contains(d.Writes, media) {
		return true
	}
	return !write && slices.Contains(d.Reads, media)
}
