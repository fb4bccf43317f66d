package prepare

import (
	"sync"

	"hemera/words/hemera"
)

// knownMax is how many prepare requests are remembered; the oldest is forgotten first.
const knownMax = 4096

// known remembers the ids of prepare requests where there is no tape. Every file is on disk, so a request is done when
// it is answered; the ids let clients ask and cancel as they are used to.
type known struct {
	mu    sync.Mutex // guards all
	ids   map[string]bool
	order []string // ring of the ids
	next  int
}

// add makes an id that nobody can guess, and forgets the oldest.
// The memory for all of them is allocated with the first, as most managers are never asked.
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
	p.next = (p.next + 1) % knownMax // the ring's oldest is next
	p.ids[id] = true
	return id
}

// has reports whether the id is remembered. One that was forgotten is not told from one that never was.
func (p *known) has(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids[id]
}

// remove forgets an id, and reports whether it was remembered.
func (p *known) remove(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	had := p.ids[id]
	delete(p.ids, id)
	return had
}
