package reconnect

import (
	"container/list"
	"sync"
	"time"

	"hemera/words/hemera"
)

const (
	// processesMax bounds the remembered client processes, readsMax their files in total, and readsPerProcess those of
	// one process. The least recently used are forgotten first.
	processesMax    = 1 << 14
	readsMax        = 100_000
	readsPerProcess = 2048
	// processTime is the time for which a process is remembered after its last open.
	processTime = 24 * time.Hour
)

// UnchangedTime is the time for which a file must have had its content, so that a reader gets it that reconnects and is
// not remembered: because the manager was restarted, or there was too much to remember.
const UnchangedTime = 24 * time.Hour

// Process identifies a client process: the host as the door sees it and as the client names it, the process number and
// user of its login, and the authenticated principal. A session does not identify a process: clients close idle
// connections to managers, and their next session does not name an earlier one.
//
// Only the principal is not a mere claim. It prevents that another principal gets what this one was granted, above all
// when the file is removed and has no mode any more.
type Process struct {
	Host, Name, User string
	PID              uint32

	Principal, Protocol string
	UID                 uint32
}

// IsSibling reports whether the processes differ at most by their number.
func (p Process) IsSibling(of Process) bool {
	p.PID = of.PID
	return p == of
}

// Read is the last content of a path that a process was granted.
type Read struct {
	Content *hemera.Content
	Several bool // it was granted others before, so it is unknown with which it continues
}

// processReads has the reads of one process.
type processReads struct {
	of     Process
	last   time.Time // time of its last open
	paths  map[string]Read
	order  []string // of paths, oldest first
	forgot bool     // some were forgotten
}

// ReadHistory records which contents client processes were granted to read. The zero ReadHistory has no grants. It is
// safe for concurrent use.
type ReadHistory struct {
	mu     sync.Mutex
	known  map[Process]*list.Element // of *processReads
	recent list.List                 // most recently used first
	count  int                       // of paths
	// since is the time before which grants may be missing; zero if none are.
	since time.Time
}

// Begin states that grants before the time may be missing.
func (h *ReadHistory) Begin(since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since = since
}

// Add remembers that the process was granted the content of the path.
func (h *ReadHistory) Add(of Process, path string, c *hemera.Content, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil {
		h.known = map[Process]*list.Element{}
	}
	at := h.known[of]
	if at == nil {
		at = h.recent.PushFront(&processReads{of: of, paths: map[string]Read{}})
		h.known[of] = at
	}
	h.recent.MoveToFront(at)
	r := at.Value.(*processReads)
	r.last = now
	old, known := r.paths[path]
	if !known {
		if len(r.order) >= readsPerProcess {
			delete(r.paths, r.order[0])
			r.forgot = true
			r.order = r.order[1:]
			h.count--
		}
		r.order = append(r.order, path)
		h.count++
	}
	other := known && (old.Content.File != c.File || old.Content.Gen != c.Gen)
	r.paths[path] = Read{c, old.Several || other}
	h.expire(at, now)
}

// expire forgets processes that are too old or too many, except the newest. mu is held.
func (h *ReadHistory) expire(newest *list.Element, now time.Time) {
	for {
		last := h.recent.Back()
		oldest := last.Value.(*processReads)
		old := now.Sub(oldest.last) >= processTime
		if last == newest || h.recent.Len() <= processesMax && h.count <= readsMax && !old {
			return
		}
		if !old {
			h.since = now
		}
		h.recent.Remove(last)
		delete(h.known, oldest.of)
		h.count -= len(oldest.paths)
	}
}

// Get returns the last content of the path that the process was granted. It returns false if there is no record.
func (h *ReadHistory) Get(of Process, path string) (Read, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.known[of]
	if at == nil {
		return Read{}, false
	}
	r, ok := at.Value.(*processReads).paths[path]
	return r, ok
}

// OfSiblings returns the contents of the path that siblings of the process were granted. complete is false if they may
// have been granted others in the last UnchangedTime.
//
// A child that was forked from a process with open files opens them again and continues to read. To the door it is a
// process with another number, which names no session. It has the files of its parent, which is one of its siblings.
func (h *ReadHistory) OfSiblings(of Process, path string, now time.Time) (list []*hemera.Content, complete bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.since.IsZero() && now.Sub(h.since) < UnchangedTime {
		return nil, false
	}
	for p, at := range h.known {
		if !p.IsSibling(of) {
			continue
		}
		r := at.Value.(*processReads)
		read, ok := r.paths[path]
		if read.Several || !ok && r.forgot {
			return nil, false
		}
		if ok {
			list = append(list, read.Content)
		}
	}
	return list, true
}
