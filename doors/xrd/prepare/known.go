package prepare

import (
	"sync"

	"hemera/words/hemera"
)

// knownMax bounds the number of remembered prepare requests; the oldest is forgotten first.
const knownMax = 4096

// known remembers the ids of prepare requests when there is no tape. Every file is on disk, so a request is done when it
// is answered; with the ids clients can ask and cancel as usual.
type known struct {
	mu    sync.Mutex // guards all
	ids   map[string]bool
	order []string // ring of the ids
	next  int
}

// add makes an id that cannot be guessed, and forgets the oldest. The memory is allocated with the first id, because most
// managers get no such requests.
func (p *known) add() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := "hemera." + hemera.NewTraceID()
	if p.ids == nil {
		p.ids = map[string]bool{}
		p.order = make([]string, knownMax)
	}
	delete(p.ids, p.order[p.next])
	p.order[p.next] = id
	p.next = (p.next + 1) % knownMax // the oldest in the ring is next
	p.ids[id] = true
	return id
}

// has reports whether the id is remembered.
func (p *known) has(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids[id]
}

// remove forgets an id and reports whether it was remembered.
func (p *known) remove(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	had := p.ids[id]
	delete(p.ids, id)
	return had
}
