package reconnect

import (
	"maps"
	"sync"
	"time"

	"hemera/rules/wire"
	"hemera/words/hemera"
)

// sessionsMax bounds the sessions whose writes are remembered.
const sessionsMax = 1 << 14

// LostWrites records the writes that sessions had open when their connections were lost, for the life of their
// capabilities. W identifies a write; its zero value stands for a path with two writes. It is safe for concurrent use.
type LostWrites[W comparable] struct {
	mu       sync.Mutex
	sessions map[wire.SessionID]sessionWrites[W]
	order    []wire.SessionID // oldest first
}

type sessionWrites[W comparable] struct {
	who    hemera.Identity
	ended  time.Time
	writes map[string]W
}

// Merge adds a write to a set by path. A path with two writes gets the zero W.
func Merge[W comparable](writes map[string]W, path string, w W) {
	if known, two := writes[path]; two && known != w {
		var several W
		w = several
	}
	writes[path] = w
}

// Add records the writes of a session that ended at the time.
func (l *LostWrites[W]) Add(id wire.SessionID, who hemera.Identity, writes map[string]W, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sessions == nil {
		l.sessions = map[wire.SessionID]sessionWrites[W]{}
	}
	l.sessions[id] = sessionWrites[W]{who, now, maps.Clone(writes)}
	l.order = append(l.order, id)
	for len(l.order) > sessionsMax || now.Sub(l.sessions[l.order[0]].ended) > hemera.CapabilityLifetime {
		delete(l.sessions, l.order[0])
		l.order = l.order[1:]
	}
}

// Claim returns the writes of an ended session to the client that names it, once. It returns false if there are none, or
// if they belong to another principal.
func (l *LostWrites[W]) Claim(id wire.SessionID, who *hemera.Identity) (map[string]W, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old, ok := l.sessions[id]
	if !ok || !SamePrincipal(&old.who, who) {
		return nil, false
	}
	delete(l.sessions, id) // its place in the order stays until it is the oldest
	return old.writes, true
}

// SamePrincipal reports whether both are the same authenticated principal; nil stands for no principal.
func SamePrincipal(a, b *hemera.Identity) bool {
	return a != nil && b != nil && a.Name == b.Name && a.UID == b.UID && a.Protocol == b.Protocol
}
