package manager

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"hemera/maint/orders"
	"hemera/rules/limits"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// attachTime bounds the time from the open of a write to its begin at its head. After that a lock goes when the head
	// says that it does not have the write, which it is asked every reportTime. Clients that follow a redirect are there
	// within a second; a minute covers one that looks for a node that answers.
	attachTime = time.Minute
	reportTime = 30 * time.Second
	// sweepTime is the interval at which locks are looked through.
	sweepTime = 10 * time.Second
	// abandonTime is the time for which no client must have had a write open for another exclusive create by its user,
	// from its host, to replace it; its session at the manager must be gone too. Clients that were cut off come back
	// sooner.
	abandonTime = 4 * time.Second
	// freshTime bounds the age of a head's report for that.
	freshTime = 10 * time.Second
	// asksMax bounds the writes that one heartbeat asks a node about. A heartbeat of that many questions has some tens of
	// kilobytes.
	asksMax = 1024
)

// holders bounds the writes under way: of all, of each user, and of each session. Admins are bounded by the first
// alone, so that they get in.
type holders struct {
	users    *limits.Budget[holder] // counts writes of each user
	sessions *limits.Budget[string] // counts writes of each session; admins and doors without sessions are not in it
}

// newHolders bounds the writes of one user and one session; 0 is the default.
func newHolders(ofUser, ofSession int) holders {
	return holders{
		users:    limits.NewBudget[holder]("writes", limits.Bounds{Total: pendingMax, Share: int64(cmp.Or(ofUser, PendingUser))}),
		sessions: limits.NewBudget[string]("writes connection", limits.Bounds{Total: pendingMax, Share: int64(cmp.Or(ofSession, PendingSession))}),
	}
}

// holder is a user. Those without a name are told apart by their hosts, and admins from others of their number.
type holder struct {
	uid        uint32
	name, host string
	admin      bool
}

// holderOf returns the user by whom a write is counted.
func holderOf(who hemera.Identity) holder {
	h := holder{uid: who.UID, name: who.Name, admin: who.Admin}
	if who.UID == hemera.NobodyID {
		h.host = who.Host
	}
	return h
}

// counted has the accounts that one write counts for.
type counted struct {
	user    *limits.Account[holder]
	session *limits.Account[string] // nil for none
}

// take counts a write. Overloaded when its user or session has too many, or all have.
func (h *holders) take(w *write) error {
	user := h.users.Open(holderOf(w.who))
	take := user.Take
	if w.who.Admin {
		// An admin has to get in to free the writes of others.
		take = user.TakeReserved
	}
	if v := take(1); v != limits.Fits {
		user.Close()
		return tooManyWrites(w.path, v, "user "+w.who.Name, h.users.Bounds().Share, "writes.per_user")
	}
	w.counted = counted{user: user}
	if w.session == "" || w.who.Admin {
		return nil
	}
	session := h.sessions.Open(w.session)
	if v := session.Take(1); v != limits.Fits {
		session.Close()
		// The user's count was taken already. counted has no session yet, so only that is given back.
		h.release(w)
		return tooManyWrites(w.path, v, "this connection", h.sessions.Bounds().Share, "writes.per_connection")
	}
	w.counted.session = session
	return nil
}

// tooManyWrites says whose limit refuses a write, and which setting it is.
func tooManyWrites(path string, v limits.Verdict, whose string, limit int64, setting string) error {
	if v == limits.TotalFull {
		return errs.New(errs.Overloaded, "manager.Open", path, "too many files are being written").
			WithRemedy("try again later; `hemera open ls` shows who writes them")
	}
	return errs.New(errs.Overloaded, "manager.Open", path, fmt.Sprintf("%s has %d files open for writing, which is the limit", whose, limit)).
		WithRemedy("close some, as those of a client that went away are after some minutes; the manager's setting " + setting + " is the limit")
}

// release counts a write out again.
func (h *holders) release(w *write) {
	w.counted.user.Give(1)
	w.counted.user.Close()
	if w.counted.session != nil {
		w.counted.session.Give(1)
		w.counted.session.Close()
	}
	// A claim that was given back must not be given back again.
	w.counted = counted{}
}

// writeAdmin implements adminapi.WriteAdmin, and asks heads about old writes.
type writeAdmin struct {
	pending *pending
	view    func() *hemera.View
	orders  *orders.Dispatcher
	nodes   *broadcast
	asks    asks
	ops     *operations
	now     func() time.Time
	log     *slog.Logger
}

// limitUsages returns the bounds of writes under way, and what is used of them.
func (wa *writeAdmin) limitUsages() []limits.Usage {
	return []limits.Usage{wa.pending.holders.users.Usage(), wa.pending.holders.sessions.Usage()}
}

// headReport is the last report of a write's head.
type headReport struct {
	at       time.Time     // zero: it was never asked, or has not answered
	size     int64         // bytes of content that were written
	idle     time.Duration // as of at; it has grown since
	attached bool          // a client has it open there
}

// lives reports whether the head has the write, as far as it said when it was asked last. A head without it would have ended
// the lock.
func (r headReport) lives(now time.Time) bool { return !r.at.IsZero() && now.Sub(r.at) < 4*reportTime }

// fresh reports whether the head said it a short time ago.
func (r headReport) fresh(now time.Time) bool { return !r.at.IsZero() && now.Sub(r.at) < freshTime }

// lostWriter is the outcome of an exclusive create of a name whose writer seems to be gone, until its head has
// said so.
type lostWriter struct {
	head    hemera.NodeID
	ask     ask
	expires time.Time // when the lock goes in any case
}

func (lostWriter) Error() string { return "the writer seems to be gone" }

// lost has the head of the write asked in its next heartbeat. Unavailable, so that the client waits and asks
// again; Exists where the head cannot answer.
func (o *opener) lost(view *hemera.View, w lostWriter) error {
	// It is not known whether the writer is gone, and its write may still be committed when the node is back.
	if n, ok := view.Node(w.head); !ok || n.Status != hemera.NodeOnline {
		return errs.New(errs.Exists, "manager.Open", w.ask.name.name, "the file is being made by a writer whose node is not online").
			WithRemedy("try again after " + w.expires.UTC().Format(time.RFC3339) + ", or free the file with `hemera open rm`")
	}
	o.asks.add(w.head, w.ask)
	return errs.New(errs.Unavailable, "manager.Open", w.ask.name.name, "the file was being made by a writer who seems to be gone").
		WithRemedy("try again in some seconds")
}

// asks are the questions to nodes about writes: those to come, and those without an answer yet.
type asks struct {
	mu    sync.Mutex                          // guards nodes, all below it, and over
	nodes map[hemera.NodeID]*nodeAsks         // nodes without questions are not in it
	over  map[hemera.NodeID][]hemera.WriteRef // writes that are over, for nodes to be told
}

// nodeAsks are the questions to one node.
type nodeAsks struct {
	next []ask          // not asked yet
	out  map[uint64]ask // by nonce
}

// ask is a question to a head about one write.
type ask struct {
	name name
	ref  hemera.WriteRef
}

// sweep frees locks whose time is over, and has the heads of old ones asked.
func (wa *writeAdmin) sweep(ctx context.Context) error {
	// The table is walked without the lock of the questions, stripe by stripe, so opens are held up for moments only.
	return every(ctx, sweepTime, func() { wa.asks.set(wa.pending.look(wa.now())) })
}

// look frees the locks whose time is over and returns the writes whose heads are to be asked. A write that its head still has
// goes on to count: it may take longer than its capability, and what it was promised is not to be promised to others.
func (p *pending) look(now time.Time) map[hemera.NodeID][]ask {
	heads := map[hemera.NodeID][]ask{}
	p.claims.ExpireKept(now)
	p.settled.expire(now)
	p.each(func(s *stripe, n name, w *write) {
		if now.After(w.expires) && !w.report.lives(now) {
			p.drop(s, n, w)
			return
		}
		last := w.report.at
		if last.IsZero() {
			// The first question comes attachTime after the open.
			last = w.began.Add(attachTime - reportTime)
		}
		if now.Sub(last) < reportTime {
			return
		}
		// Unbounded here, as writes are bounded; take hands out asksMax at a time.
		heads[w.head] = append(heads[w.head], ask{n, hemera.WriteRef{File: w.file, Gen: w.gen, Nonce: w.nonce}})
	})
	return heads
}

// each calls visit for each write, with its stripe locked.
func (p *pending) each(visit func(*stripe, name, *write)) {
	for i := range p.stripes {
		s := &p.stripes[i]
		s.mu.Lock()
		for n, w := range s.writes {
			visit(s, n, w)
		}
		s.mu.Unlock()
	}
}

// set replaces what is to be asked. A question that a node did not answer is asked again.
func (a *asks) set(heads map[hemera.NodeID][]ask) {
	nodes := make(map[hemera.NodeID]*nodeAsks, len(heads))
	for id, next := range heads {
		nodes[id] = &nodeAsks{next: next, out: map[uint64]ask{}}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nodes = nodes
}

// add queues a question to a node about one more write, unless many wait already.
func (a *asks) add(id hemera.NodeID, q ask) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.nodes == nil {
		a.nodes = map[hemera.NodeID]*nodeAsks{}
	}
	n := a.nodes[id]
	if n == nil {
		n = &nodeAsks{out: map[uint64]ask{}}
		a.nodes[id] = n
	}
	// A client that asks again every few seconds adds no second question.
	if len(n.next) < asksMax && !slices.ContainsFunc(n.next, func(o ask) bool { return o.ref.Nonce == q.ref.Nonce }) {
		n.next = append(n.next, q)
	}
}

// tell has the nodes of a write's pieces remove what clients made there, as the write is over. Where many wait already, pieces
// end with their capability.
func (a *asks) tell(c *hemera.Capability) {
	if !c.ClientWrites() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over == nil {
		a.over = map[hemera.NodeID][]hemera.WriteRef{}
	}
	ref := hemera.WriteRef{File: c.File, Gen: c.Gen, Nonce: c.Nonce, Over: true}
	for _, t := range c.Targets {
		if refs := a.over[t.Node]; len(refs) < asksMax && !slices.Contains(refs, ref) {
			a.over[t.Node] = append(refs, ref)
		}
	}
}

// take returns what a node is to be asked now, and told.
func (a *asks) take(id hemera.NodeID) []hemera.WriteRef {
	a.mu.Lock()
	defer a.mu.Unlock()
	refs := a.over[id]
	delete(a.over, id)
	n := a.nodes[id]
	if n == nil || len(n.next) == 0 {
		return refs
	}
	part := n.next[:min(len(n.next), asksMax)]
	n.next = n.next[len(part):]
	for _, q := range part {
		refs = append(refs, q.ref)
		n.out[q.ref.Nonce] = q
	}
	return refs
}

// answered returns the write that a node answers about, if it was asked.
func (a *asks) answered(id hemera.NodeID, nonce uint64) (ask, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.nodes[id]
	if n == nil {
		return ask{}, false
	}
	// Only answers to questions count: a node cannot free the lock of a write by a report that was not asked for.
	q, ok := n.out[nonce]
	delete(n.out, nonce)
	return q, ok
}

// reported takes what a head says of its writes. A lock goes when its head does not have the write.
func (wa *writeAdmin) reported(id hemera.NodeID, states []hemera.WriteState) {
	var freed int
	var example string
	for _, state := range states {
		q, ok := wa.asks.answered(id, state.Nonce)
		if !ok {
			continue
		}
		if w := wa.pending.hear(q.name, state, wa.now()); w != nil {
			wa.asks.tell(&w.permit.Capability)
			freed++
			example = q.name.name
		}
	}
	if freed > 0 { // one line: a user can have thousands
		wa.log.Info("locks are free again, as their writes are not under way at their head", "locks", freed, "one", example, "node", id)
	}
}

// hear takes what the head says of a write. It returns the write if that is not there any more: then its lock is free.
func (p *pending) hear(n name, state hemera.WriteState, now time.Time) (freed *write) {
	s, n, w := p.find(n, state.Nonce)
	defer s.mu.Unlock()
	if w == nil {
		return nil
	}
	// The head does not have the write: it was never begun there, or it was aborted, or the head was restarted.
	if !state.Pending {
		p.drop(s, n, w)
		return w
	}
	w.report = headReport{now, state.Size, state.Idle, state.Attached}
	return nil
}

// writesListMax bounds one list of writes under way.
const writesListMax = 100_000

// Writes implements adminapi.WriteAdmin.
func (wa *writeAdmin) Writes(ctx context.Context, who hemera.Identity) (list []hemera.WriteInfo, err error) {
	defer wa.ops.begin("Writes").end(&err)
	left, now, view := wa.left(ctx), wa.now(), wa.view()
	wa.pending.each(func(_ *stripe, _ name, w *write) {
		if !mayEnd(who, w.who) {
			return
		}
		i := w.info(now, view)
		// The head's answer now is newer than its last report.
		if l, ok := left[i.ID]; ok && l.Head == w.head {
			i.State, i.Written, i.Idle, i.Reported, i.Gone, i.Then, i.At = l.State, l.Written, l.Idle, now, l.Gone, l.Then, l.At
			i.Refused, i.Found, i.Differ = l.Refused, l.Found, l.Differ
			delete(left, i.ID)
		}
		list = append(list, i)
	})
	for _, l := range left { // they hold no lock
		if mayEnd(who, l.Who) {
			list = append(list, l)
		}
	}
	// Sorted before it is cut: a list that is too long has the oldest writes, which are the likely ones to be stuck.
	slices.SortFunc(list, func(a, b hemera.WriteInfo) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	return list[:min(len(list), writesListMax)], nil
}

// info returns the write as admins see it. The stripe is locked.
func (w *write) info(now time.Time, view *hemera.View) hemera.WriteInfo {
	i := hemera.WriteInfo{
		ID: strconv.FormatUint(w.nonce, 36), Path: w.path, File: w.file, Who: w.who, Since: w.began, Expires: w.expires, Head: w.head, Announced: w.size,
		State: hemera.WriteGranted,
	}
	if n, ok := view.Node(w.head); ok {
		i.HeadAddr = n.Addr
	}
	if r := w.report; !r.at.IsZero() {
		// Idle counts on since the report, as if nothing happened: it is at most reportTime wrong.
		i.Reported, i.Written, i.Idle, i.State = r.at, r.size, r.idle+now.Sub(r.at), hemera.WriteDetached
		if r.attached {
			i.State = hemera.WriteOpen
		}
	}
	return i
}

// FreeWrite implements adminapi.WriteAdmin.
func (wa *writeAdmin) FreeWrite(_ context.Context, id string) (info hemera.WriteInfo, err error) {
	defer wa.ops.begin("FreeWrite").end(&err)
	nonce, err := strconv.ParseUint(id, 36, 64)
	if err != nil {
		return info, errs.New(errs.Invalid, "manager.FreeWrite", id, "no write has such an id").WithRemedy("see `hemera open ls`")
	}
	now, view, found := wa.now(), wa.view(), false
	// The table has no index by nonce: an admin frees few writes, and opens are many.
	wa.pending.each(func(s *stripe, n name, w *write) {
		if w.nonce == nonce {
			info, found = w.info(now, view), true
			wa.pending.drop(s, n, w)
		}
	})
	if !found {
		return info, errs.New(errs.NotFound, "manager.FreeWrite", id, "it is not under way").WithRemedy("see `hemera open ls`")
	}
	return info, nil
}

// left returns the writes that no client has open, by their ids, as their heads say. Nodes that do not answer are left
// out.
func (wa *writeAdmin) left(ctx context.Context) map[string]hemera.WriteInfo {
	left := map[string]hemera.WriteInfo{}
	wa.nodes.ask(ctx, hemera.Order{Kind: hemera.OrderLeft, Limit: usesLimit}, func(n hemera.NodeInfo, r hemera.OrderResult) {
		for _, l := range r.Left[:min(len(r.Left), usesLimit)] {
			l.Head, l.HeadAddr = n.ID, n.Addr
			left[l.ID] = l
		}
	})
	return left
}

// mayEnd reports whether a user may see the write of another, and decide on its end once its client is gone.
func mayEnd(who, owner hemera.Identity) bool {
	user, host := (&write{who: who}).sameUser(&write{who: owner})
	return who.Admin || user && (host || who.UID != hemera.NobodyID)
}

// EndWrite implements adminapi.WriteAdmin.
func (wa *writeAdmin) EndWrite(ctx context.Context, who hemera.Identity, id string, commit bool) (info hemera.WriteInfo, err error) {
	defer wa.ops.begin("EndWrite").end(&err)
	const op = "manager.EndWrite"
	nonce, err := strconv.ParseUint(id, 36, 64)
	if err != nil {
		return info, errs.New(errs.Invalid, op, id, "no write has such an id").WithRemedy("see `hemera open ls`")
	}
	info, ok := wa.left(ctx)[id]
	switch {
	case !ok:
		return info, errs.New(errs.NotFound, op, id, "no node that answers has a write of this id whose client is gone").WithRemedy("see `hemera open ls`")
	case !mayEnd(who, info.Who):
		return hemera.WriteInfo{}, errs.New(errs.Denied, op, id, "the write is another user's")
	}
	res, err := wa.orders.Do(ctx, info.Head, hemera.Order{Kind: hemera.OrderEndLeft, Nonce: nonce, Commit: commit})
	if err == nil && len(res.Left) == 1 {
		info.Differ = res.Left[0].Differ // the commit has counted
	}
	return info, errs.Wrap(err, op, info.Path)
}
