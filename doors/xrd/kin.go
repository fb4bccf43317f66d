package xrd

import (
	"time"

	"hemera"
	"hemera/rules/wire"
)

// A child that was forked from a process with open files opens them again and reads on. To the door it is a
// process of another number that comes back, names no session, and of which nothing is known. It has the files
// of its parent, which is one of those that differ from it by their number alone.

// kin is the content of the path that such processes have been granted; false if that is none or several, or if
// the door may not know of all that were made in the last day.
func (s *Server) kin(of process, path string) (found *hemera.Content, ok bool) {
	if of.pid == 0 {
		return nil, false
	}
	var all []*hemera.Content
	// Sessions first: what a session has open is in the memory of readers before it ends.
	for _, ss := range s.sessionsOf(of) {
		all = append(all, ss.reads(path)...)
	}
	remembered, whole := s.readers.kin(of, path, time.Now())
	if !whole {
		return nil, false
	}
	for _, c := range append(all, remembered...) {
		if found != nil && (found.File != c.File || found.Gen != c.Gen) {
			return nil, false
		}
		found = c
	}
	return found, found != nil
}

// sessionsOf are those of processes that differ from this one by their number alone.
func (s *Server) sessionsOf(of process) (list []*session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ss := range s.sessions {
		if ss.process().isKin(of) {
			list = append(list, ss)
		}
	}
	return list
}

func (p process) isKin(of process) bool {
	p.pid = of.pid
	return p == of
}

// kin is what is remembered of such processes; whole if none of it was forgotten that may be a day old.
func (rs *readers) kin(of process, path string, now time.Time) (list []*hemera.Content, whole bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if !rs.since.IsZero() && now.Sub(rs.since) < unchangedTime {
		return nil, false
	}
	for p, at := range rs.known {
		if !p.isKin(of) {
			continue
		}
		r := at.Value.(*readings)
		g, ok := r.paths[path]
		if g.several || !ok && r.lost {
			return nil, false
		}
		if ok {
			list = append(list, g.content)
		}
	}
	return list, true
}

// opened and closed keep, for who asks from outside, what the door has open for reading itself.
func (ss *session) opened(id wire.Handle, h *handle) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.reading == nil {
		ss.reading = map[wire.Handle]*handle{}
	}
	ss.reading[id] = h
}

func (ss *session) closed(id wire.Handle) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.reading, id)
}

// reads are the contents of the path that the session's door has open for reading itself.
func (ss *session) reads(path string) (list []*hemera.Content) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, h := range ss.reading {
		if h.path == path {
			list = append(list, h.granted.Content())
		}
	}
	return list
}
