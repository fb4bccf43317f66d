package maint

import (
	"slices"
	"sync"
	"time"

	"hemera/rules/place"
	"hemera/words/hemera"
)

const (
	// setbackFirst is the pause after the first try to make a piece that failed for want of good data. Each further
	// failure doubles that, up to setbackMost: less than brokenRest, so that no try puts off the hourly one.
	setbackFirst = 10 * time.Second
	setbackMost  = 50 * time.Minute
	// setbacksMax bounds the pieces that are remembered. A piece beyond the bound is tried in each pass.
	setbacksMax = 1 << 16
)

// setback describes the tries to make a piece that failed because too little of its file is good. Its methods are pure.
type setback struct {
	from  []hemera.Piece // that could be asked for their data then
	tries int            // that failed
	again time.Time      // when the same pieces may be tried once more
	err   error          // of the last try
}

// after returns the setback once another try failed.
func (s setback) after(from []hemera.Piece, err error, now time.Time) setback {
	rest := setbackMost
	if s.tries < 20 {
		rest = min(rest, setbackFirst<<s.tries)
	}
	return setback{from: from, tries: s.tries + 1, again: now.Add(rest), err: err}
}

// holds reports whether a try now would read the same pieces, or fewer, too soon after the last one.
func (s setback) holds(from []hemera.Piece, now time.Time) bool {
	if s.tries == 0 || !now.Before(s.again) {
		return false
	}
	return !slices.ContainsFunc(from, func(p hemera.Piece) bool { return !slices.Contains(s.from, p) })
}

// setbacks remember which pieces cannot be made for now. A file that has lost a page would otherwise be read as far as that
// page with each pass of a job, for as long as it is there. They are in memory only: a new manager tries once more.
type setbacks struct {
	mu sync.Mutex
	of map[content]map[uint8]setback // by the index of the piece that was to be made
}

// content names one content of a file.
type content struct {
	file hemera.FileID
	gen  hemera.Generation
}

// readable returns the pieces of a file on disks that can be asked.
func readable(v *hemera.View, e hemera.Entry) (from []hemera.Piece) {
	for _, t := range place.Order(v, e.Pieces, "", nil, 0) {
		from = append(from, hemera.Piece{Index: t.Index, Disk: t.Disk})
	}
	return from
}

// holds returns the setback of a piece that is not to be tried now; false if it may be tried.
func (s *setbacks) holds(id hemera.PieceID, from []hemera.Piece, now time.Time) (setback, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.of[content{id.File, id.Gen}][id.Index]
	return b, b.holds(from, now)
}

// add notes that a try failed for want of good data. from are the pieces that could be asked when it began.
func (s *setbacks) add(id hemera.PieceID, from []hemera.Piece, err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[content]map[uint8]setback{}
	}
	c := content{id.File, id.Gen}
	if s.of[c] == nil {
		if len(s.of) >= setbacksMax {
			s.trim(now)
		}
		if len(s.of) >= setbacksMax {
			return
		}
		s.of[c] = map[uint8]setback{}
	}
	s.of[c][id.Index] = s.of[c][id.Index].after(from, err, now)
}

// trim forgets contents that were due and were not tried again: their files are gone, or whole. mu is held.
func (s *setbacks) trim(now time.Time) {
	for c, pieces := range s.of {
		var last time.Time
		for _, b := range pieces {
			if b.again.After(last) {
				last = b.again
			}
		}
		if now.Sub(last) > setbackMost {
			delete(s.of, c)
		}
	}
}

// forget has all pieces of a content tried at once: one of them is good now.
func (s *setbacks) forget(id hemera.PieceID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, content{id.File, id.Gen})
}
