package reconnect

import (
	"container/list"
	"sync"
	"time"

	"hemera/words/hemera"
)

const (
	// processesMax is how many client processes are remembered, readsMax how many files of all of them and
	// readsPerProcess of one. What was not used for longest goes first.
	processesMax    = 1 << 14
	readsMax        = 100_000
	readsPerProcess = 2048
	// processTime is how long a process is remembered after its last open.
	processTime = 24 * time.Hour
)

// UnchangedTime is for how long a file must have had its content to be given to a reader that comes back and of which
// nothing is known: the manager was restarted, or too much was to be remembered.
const UnchangedTime = 24 * time.Hour

// Process is one client process: the host as the door sees it and as it calls itself, the number and user that it logs in
// with, and the principal that it was authenticated as. Sessions do not identify it: clients drop idle connections to
// managers, and their next session names no earlier one.
//
// The principal is the only part that is not a claim. It keeps what one principal was granted from another that claims
// the rest, above all when the file is removed and has no mode any more.
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

// Read is the content of a path that a process was granted last.
type Read struct {
	Content *hemera.Content
	Several bool // it was granted others before, so that it is not known which one it goes on with
}

// processReads are one process's reads.
type processReads struct {
	of     Process
	last   time.Time // when it last opened a file
	paths  map[string]Read
	order  []string // of paths, oldest first
	forgot bool     // some were forgotten
}

// ReadHistory remembers which contents client processes were granted to read. The zero ReadHistory is one that nothing
// was granted before. It is safe for concurrent use.
type ReadHistory struct {
	mu     sync.Mutex
	known  map[Process]*list.Element // of *processReads
	recent list.List                 // the one used last first
	count  int                       // of paths
	// since is when the memory begins: what was granted before may not be known. Zero: nothing ever was.
	since time.Time
}

// Begin says that contents which are not remembered may have been granted before the time.
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

// expire forgets processes that are too old or too many, but for the newest. mu is held.
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

// Get returns what the process was granted of the path; false if that is not remembered.
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
// A child that was forked from a process with open files opens them again and reads on. To the door it is a process of
// another number, which names no session. It has the files of its parent, which is one of its siblings.
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
