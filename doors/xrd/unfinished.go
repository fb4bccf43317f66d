package xrd

import (
	"maps"
	"sync"
	"time"

	"hemera"
	"hemera/rules/wire"
)

const (
	// unfinishedMax is how many sessions' unfinished writes are remembered.
	unfinishedMax = 1 << 14
	// refusedMax is how many writes whose close failed one session remembers.
	refusedMax = 64
)

// unfinished remembers the writes that a manager's door had opened itself when their connections were
// lost, for as long as their capabilities hold. A client that was redirected comes back to its node with
// the capability; one that was not has its old session to name, in kXR_endsess, and the path.
type unfinished struct {
	mu       sync.Mutex
	sessions map[wire.SessionID]lostWrites
	order    []wire.SessionID // oldest first
}

// lostWrites are one session's, by path. Without ticket, the path had two.
type lostWrites struct {
	who    hemera.Identity
	since  time.Time
	writes map[string]ticket
}

// keep remembers what a session that ends had under way, or had not got back of an earlier one's, and
// what may not have been told to be refused at its close.
func (u *unfinished) keep(ss *session) {
	who := ss.identity()
	writes := ss.lost
	add := func(path string, t ticket) {
		if writes == nil {
			writes = map[string]ticket{}
		}
		if known, two := writes[path]; two && known.permit != t.permit {
			t = ticket{}
		}
		writes[path] = t
	}
	for path, t := range ss.refused {
		add(path, t)
	}
	for _, h := range ss.handles {
		if h.ticket != nil {
			add(h.path, *h.ticket)
		}
	}
	if who == nil || len(writes) == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sessions == nil {
		u.sessions = map[wire.SessionID]lostWrites{}
	}
	now := time.Now()
	u.sessions[ss.id] = lostWrites{*who, now, writes}
	u.order = append(u.order, ss.id)
	for len(u.order) > unfinishedMax || now.Sub(u.sessions[u.order[0]].since) > hemera.CapabilityLifetime {
		delete(u.sessions, u.order[0])
		u.order = u.order[1:]
	}
}

// refuse remembers a write that failed at its close, for a client that loses the answer and asks again:
// it must not take what someone else may have put at the name for its own.
func (ss *session) refuse(path string, t ticket) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.refused == nil || len(ss.refused) >= refusedMax {
		ss.refused = map[string]ticket{}
	}
	ss.refused[path] = t
}

// take hands the writes of an earlier session of the same client to the one that names it.
func (u *unfinished) take(id wire.SessionID, ss *session) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	old, ok := u.sessions[id]
	if !ok || !samePrincipal(&old.who, ss.identity()) {
		return false
	}
	delete(u.sessions, id) // its place in the order stays until it is the oldest
	if ss.lost == nil {
		ss.lost = map[string]ticket{}
	}
	maps.Copy(ss.lost, old.writes)
	return true
}
