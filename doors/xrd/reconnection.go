package xrd

import (
	"slices"
	"sync"
	"time"

	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// namedMax bounds the earlier sessions that one session remembers. A client names one for each lost connection.
	namedMax = 8
	// failedClosesMax bounds the remembered writes of one session whose close failed.
	failedClosesMax = 64
)

// reconnection is the state that a session takes from the client's earlier sessions and leaves to its next. It belongs to
// the goroutine of the session's connection, except for the fields that mu guards.
type reconnection struct {
	replaces bool                    // the client has named an earlier session
	named    []string                // the names of those sessions; secrets of the client
	earlier  time.Time               // begin of the last of them that has no record; zero if all have one
	lost     map[string]hemera.Grant // the client's writes in those sessions, by path

	mu     sync.Mutex
	failed map[string]hemera.Grant // writes of this session whose close failed, by path
}

// replace records an earlier session that the client has named. Only that client knows its id.
func (c *reconnection) replace(id wire.SessionID) {
	c.replaces = true
	name := sessionName(id)
	if slices.Contains(c.named, name) {
		return
	}
	c.named = append(c.named, name)
	if len(c.named) > namedMax {
		c.named = c.named[1:]
	}
}

// lostWrite returns the write that an open continues: one of this session's client on the connection that it lost. It
// fails with Conflict if the write was forgotten.
//
// Stock clients open again without the options that create or truncate a file, and without those that they always set the
// first time; Hemera's client requests a stat. Stock clients open again once for each request that was cut off, and use
// one of the handles: until its close the write is found.
func (c *reconnection) lostWrite(path string, o wire.Open) (hemera.Grant, bool, error) {
	const first = wire.OpenNew | wire.OpenDelete | wire.OpenAsync
	const changes = wire.OpenUpdate | wire.OpenWriteTo | wire.OpenAppend
	reads := o.Options&wire.OpenRead != 0 && o.Options&changes == 0
	if !c.replaces || reads || o.Options&first != 0 { // a first open, or nothing was lost
		return hemera.Grant{}, false, nil
	}
	g, known := c.lost[path]
	forgotten := !known && o.Options&(wire.OpenRead|wire.OpenRetStat) == 0
	if forgotten || known && g == (hemera.Grant{}) {
		delete(c.lost, path)
		return g, false, errs.New(errs.Conflict, "xrd.Open", path, "the write was aborted when its connection was lost, its content is lost").
			WithRemedy("write the file again from its beginning")
	}
	return g, known, nil
}

// closeFailed records a write whose close failed, for a client that loses the answer and asks again: it must not take
// another client's file at the name for its own. It is safe for concurrent use.
func (c *reconnection) closeFailed(path string, g hemera.Grant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil || len(c.failed) >= failedClosesMax {
		c.failed = map[string]hemera.Grant{}
	}
	c.failed[path] = g
}

// failedCloses calls visit for each write whose close failed, with mu held.
func (c *reconnection) failedCloses(visit func(path string, g hemera.Grant)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for path, g := range c.failed {
		visit(path, g)
	}
}

// forgetWrite forgets a write whose client has requested its close.
func (ss *session) forgetWrite(path string, g *hemera.Grant) {
	delete(ss.reconnect.lost, path)
	for _, h := range ss.handles.files {
		if f, ok := h.(*fileHandle); ok && f.write != nil && f.write.Permit == g.Permit {
			f.write = nil
		}
	}
}
