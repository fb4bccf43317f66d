package xrd

import (
	"context"
	"errors"
	"sync"
	"time"

	"hemera/doors/xrd/reconnect"
	"hemera/doors/xrd/translate"
	"hemera/rules/limits"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A manager that has just started cannot send clients to nodes that have not come back. A wait (kXR_wait) lasts whole seconds. So the door promises
// the answer (kXR_waitresp), and gives it (kXR_attn with kXR_asynresp) the moment that the manager grants the open, most often after some hundredths
// of a second. The connection serves other requests meanwhile. A held open ends:
//
//   - with the manager's grant or its refusal;
//   - after Limits.HoldTime, at the end of the client's patience, or when the server shuts down: the client opens again after a second;
//   - with its connection. The client's next session begins again.
//
// The door holds nothing for a client that does not understand promises, beyond heldTextMax of a request, or beyond asyncMax of a connection and
// Budgets.Held of a client and of all: these clients open again after a second, too. A held open costs its client's share and a goroutine, which asks
// the manager again only if an event may have brought what the open lacks.

// heldTextMax bounds the path with the opaque part of an open that is held, in bytes. They are in no budget while it is.
const heldTextMax = 8 << 10

// holds ends the held opens of a server that shuts down. Its methods are safe for concurrent use. The zero value is not useful.
type holds struct {
	ending context.Context
	end    context.CancelFunc
}

func newHolds() holds {
	ctx, end := context.WithCancel(context.Background())
	return holds{ctx, end}
}

// heldOpen is an open whose answer was promised. It belongs to the goroutine that answers it.
type heldOpen struct {
	opening
	request  *request           // detached
	reader   *reconnect.Process // of a client whose reads are remembered; nil for others
	patience time.Duration      // of its client, which waits that much longer
}

// holdOpen holds an open that the manager is likely to grant soon. It answers with an error a client that has waited for too long. Other refusals, and
// those that cannot be held, are left to the next step.
func (m *managerOpens) holdOpen(r *request, o *opening) (held bool, err error) {
	later, ok := errors.AsType[*hemera.NotYet](o.refuse)
	if !ok {
		return false, nil
	}
	history, now := r.session.opens.Of(o.path, true), time.Now()
	if !history.MayWait(now, openPatience) {
		return false, o.refuse
	}
	c := r.conn
	if r.session.login.Capabilities&wire.LoginAsync == 0 || len(r.payload) > heldTextMax || !c.async.acquire() {
		return false, nil
	}
	account := c.srv.o.Budgets.Held.Open(c.countedAs())
	if account.Take(1) != limits.Fits {
		account.Close()
		c.async.release()
		return false, nil
	}
	h := &heldOpen{opening: *o, request: r.detach(), patience: history.Left(now, openPatience)}
	if r.session.remembersReads() {
		p := r.session.process()
		h.reader = &p
	}
	promiseAnswer(c, r.Stream)
	c.async.start(c, func() {
		defer account.Close()
		defer account.Give(1)
		err := m.outcome(h, later)
		if c.ctx.Err() == nil && deliver(h.request, nil, err) != nil {
			_ = c.nc.Close() // the connection's goroutine sees the error too
		}
	})
	return true, nil
}

// outcome waits until the manager grants or refuses a held open, and returns the answer: a redirect, a wait or an error.
func (m *managerOpens) outcome(h *heldOpen, later *hemera.NotYet) error {
	r := h.request
	patience, cancel := context.WithTimeout(r.context(), min(r.conn.srv.o.Limits.HoldTime, h.patience))
	defer cancel()
	stop := context.AfterFunc(m.holds.ending, cancel)
	defer stop()
	for again := true; again; {
		if later.Await(patience) != nil {
			return &waitFor{Seconds: openWaitSeconds, Text: later.Error()}
		}
		h.grant, h.refuse = m.files.Open(r.context(), r.who(), h.want)
		later, again = errors.AsType[*hemera.NotYet](h.refuse)
	}
	if h.refuse != nil {
		return m.refusal(h)
	}
	permit := h.grant.Permit
	if h.reader != nil && permit.Access == hemera.AccessRead {
		m.reads.history.Add(*h.reader, h.path, permit.Content(), time.Now())
	}
	// Before the answer, so that the client's next open finds it.
	r.session.held.add(heldGrant{h.path, h.opaque.Has(translate.TriedKey), h.grant})
	// Also to a node of this process: the client's handles belong to the connection's goroutine.
	return redirectToHead(&h.grant, translate.RetryHint(&h.grant, h.want.Access))
}

// refusal returns the answer to a held open that the manager refused.
func (m *managerOpens) refusal(h *heldOpen) error {
	if _, err := m.awaitRecall(h.request, &h.opening); err != nil {
		return err
	}
	switch k := errs.KindOf(h.refuse); {
	// The steps of another open decide, which use what the session remembers.
	case k == errs.Unavailable, k == errs.Overloaded, len(h.want.Tried) > 0 && (k == errs.NoReplicas || k == errs.NoSpace):
		return &waitFor{Seconds: openWaitSeconds, Text: h.refuse.Error()}
	}
	return h.refuse
}

// heldGrant is a grant that a held open was answered with.
type heldGrant struct {
	path   string
	failed bool // at another node before
	grant  hemera.Grant
}

// heldGrants has the grants of held opens of a session until its connection's goroutine has recorded them: there are at most asyncMax. It is safe for
// concurrent use.
type heldGrants struct {
	mu     sync.Mutex
	grants []heldGrant
}

// add adds a grant.
func (g *heldGrants) add(grant heldGrant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.grants = append(g.grants, grant)
}

// record moves the grants into the history of the session, to which it belongs.
func (g *heldGrants) record(to *reconnect.OpenHistory) {
	g.mu.Lock()
	grants := g.grants
	g.grants = nil
	g.mu.Unlock()
	for _, one := range grants {
		history := to.Of(one.path, one.failed)
		history.Served()
		history.Sent(headOf(&one.grant), one.grant.Addr, one.grant.Permit.Targets)
	}
}
