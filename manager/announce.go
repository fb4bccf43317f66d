package manager

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"

	"hemera/namespace"
	"hemera/namespace/accounts"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// The table of pending writes dies with its process. The heads of the writes know them, so they announce them to a manager when they
// register, and the table has again what their opens took: locks, claims and counts. What a head says counts as far as the
// capability goes that it shows: its file, its generation, its user, until it expires.

// errAnnounced is the outcome of an announcement of a write that the table has, or that ended in this life of the manager.
var errAnnounced = errors.New("the manager knows the write")

// Announce implements hemera.OpenWrites.
func (ctl *control) Announce(ctx context.Context, a hemera.Announcement) (err error) {
	const op = "manager.Announce"
	defer ctl.ops.begin("Announce").end(&err)
	caller, remote := hemera.Caller(ctx)
	switch {
	case remote && caller != a.Node:
		return errs.New(errs.Denied, op, "node "+a.Node.String(), "the certificate is node "+caller.String()+"'s")
	case len(a.Writes) > hemera.AnnouncedMax:
		return errs.New(errs.TooLarge, op, "node "+a.Node.String(), fmt.Sprintf("%d writes are announced at once, %d at most", len(a.Writes), hemera.AnnouncedMax))
	}
	if err := ctl.cluster.Leases.Check(a.Node, a.Epoch); err != nil {
		return err
	}
	resumed, refused, why := 0, 0, error(nil)
	for i := range a.Writes {
		switch err := ctl.resume(ctx, a.Node, &a.Writes[i]); {
		case err == nil:
			resumed++
		case errors.Is(err, errAnnounced):
		case ctx.Err() != nil, errs.Undecided(err):
			// Nothing was decided of this write. The head announces all of the page again.
			return errs.Wrap(err, op, "")
		default:
			refused, why = refused+1, err
		}
	}
	if !a.More {
		ctl.heads.announced(a.Node)
	}
	if resumed > 0 { // one line: a node can have thousands
		ctl.log.Info("writes under way hold their names again, as their head says", "writes", resumed, "node", a.Node)
	}
	if refused > 0 {
		ctl.log.Warn("writes that a node announced hold no names", "writes", refused, "node", a.Node, "one", why)
	}
	return nil
}

// resume gives a write that its head announces what its open took. errAnnounced if there is nothing to do. Denied for a permit
// that is not the node's as head; Conflict where the commit would be refused as things are, where the time of the lock is over, and at a bound; Locked
// when another writer has the name by now.
func (ctl *control) resume(ctx context.Context, node hemera.NodeID, a *hemera.OpenWrite) error {
	const op = "manager.Announce"
	permit, err := a.Permit.Verify(func(token string) (hemera.Capability, error) {
		// As for a commit: the expiry is looked at below, with the time for which the lock outlives it.
		return ctl.cluster.Keys.Ring().Verify(token, time.Time{})
	})
	if err != nil {
		return errs.Wrap(err, op, "")
	}
	c, now := &permit.Capability, ctl.now()
	until := ctl.heads.lockUntil(c)
	if err := announces(c, node, now, until); err != nil {
		return err
	}
	w := resumedWrite(permit, a, now, until)
	// What this life granted is in the table, or it is over.
	if known, _ := ctl.pending.settled.has(w.nonce); known || !ctl.heads.earlier(c, node) {
		return errAnnounced
	}
	// What ends meanwhile is not seen by the look at the namespace.
	for range claimTries {
		since := ctl.pending.ends.Load()
		prep, err := ctl.tree.Resume(ctx, c.Who, namespace.Commit{
			ID: c.File, Gen: c.Gen, BaseGen: c.BaseGen, Replaces: c.Replaces, Force: c.Force, Parent: c.Parent, Name: c.Name,
		}, c.Access == hemera.AccessUpdate)
		if err != nil {
			return errs.Wrap(err, op, c.Path)
		}
		if c.BaseGen == 0 {
			w.path = path.Join(path.Dir(c.Path), prep.Entry.Name) // its process may have renamed it
		}
		t := &taker{write: w, since: since, claim: claimFor(&prep, hemera.QuotaAmount{}, hemera.OpenRequest{Size: announcedSize(c)}, c)}
		err = ctl.pending.resume(name{c.Parent, c.Name}, name{prep.Entry.Parent, prep.Entry.Name}, t, now)
		if busy, ok := errors.AsType[converting](err); ok {
			err = busy.await(ctx)
		}
		if !errors.Is(err, errOutdated) {
			return errs.Wrap(err, op, c.Path)
		}
	}
	return errs.New(errs.Locked, op, c.Path, "its name changes faster than it can be looked up")
}

// announces refuses a capability by which the node cannot have a write under way that holds a lock until a time. A conversion holds none.
func announces(c *hemera.Capability, node hemera.NodeID, now, until time.Time) error {
	const op = "manager.Announce"
	switch {
	case c.Access != hemera.AccessCreate && c.Access != hemera.AccessUpdate || c.Convert:
		return errs.New(errs.Denied, op, c.Path, "the capability is not one of a client to write")
	case node == 0 || node != c.HeadNode():
		return errs.New(errs.Denied, op, c.Path, "node "+c.HeadNode().String()+" is the head of this write, not node "+node.String())
	case now.After(until):
		return errs.New(errs.Conflict, op, c.Path, "the time of its lock is over")
	}
	return nil
}

// lockUntil returns the time at which the lock of a write is free at the latest.
func lockUntil(c *hemera.Capability) time.Time { return c.Expires.Add(hemera.PendingHold) }

// announcedSize returns the size that the client announced. The capability of an update has that of its base where that is larger.
func announcedSize(c *hemera.Capability) int64 {
	if c.Base != nil && c.Size <= c.Base.Size {
		return 0
	}
	return c.Size
}

// resumedWrite returns the record of an announced write. Sessions and processes of the earlier life are not known, and mean nothing to this one.
func resumedWrite(permit *hemera.Permit, a *hemera.OpenWrite, now, until time.Time) *write {
	c := &permit.Capability
	age := min(max(a.Age, 0), hemera.CapabilityLifetime+hemera.PendingHold)
	return &write{
		nonce: c.Nonce, file: c.File, gen: c.Gen, path: c.Path, who: c.Who, head: c.HeadNode(), size: c.Size, began: now.Add(-age), expires: until,
		permit: permit, mode: c.Mode, disks: disks(c.Targets), resumed: true,
		report: headReport{at: now, size: a.Size, idle: max(a.Idle, 0), attached: a.Attached},
	}
}

// displaced reports whether an announced write had taken the name from another announced one: it was opened later. Ids and generations come from one
// durable counter, so the order holds for all lives of the manager.
func (w *write) displaced(old *write) bool {
	return old.resumed && w.resumed && max(uint64(old.file), uint64(old.gen)) < max(uint64(w.file), uint64(w.gen))
}

// resume gives an announced write the lock of the name that its commit will make or replace; first is the name in its capability. What
// the open was promised is held, whether it fits by now or not. Of two announced writes the one that was opened later has the name, as it had taken it
// from the other. errAnnounced if the write has the lock, or ended; Locked when another has the name: then it goes on without, and the first commit
// decides.
func (p *pending) resume(first, n name, t *taker, now time.Time) error {
	// An end of the write looks for it at its first name.
	f, s := p.lockBoth(first, n)
	defer unlockBoth(f, s)
	if known, _ := p.settled.has(t.nonce); known {
		return errAnnounced
	}
	if s.ended > t.since {
		return errOutdated
	}
	if err := s.outdatedBy(n, t); err != nil {
		return err
	}
	old := s.writes[n]
	if old != nil && now.Before(old.expires) && !t.displaced(old) {
		if old.displaced(t.write) {
			p.settled.add(t.nonce, true) // its claim went with the name, in the earlier life
		}
		return errs.New(errs.Locked, "manager.Announce", n.name, "another writer ("+old.who.Name+") holds the file by now")
	}
	if err := p.holders.take(t.write); err != nil {
		// Not as Overloaded, which the head would try again: there is no room but by the end of other writes.
		return errs.As(err, errs.Conflict, "manager.Announce", n.name)
	}
	if old != nil {
		p.drop(s, n, old)
	}
	if t.limited = t.claim != nil; t.limited {
		p.claims.Hold(accounts.ClaimID(t.nonce), t.claim)
	}
	if n != first {
		t.write.renamed = true
		p.renamed.Store(t.nonce, n)
	}
	p.put(s, n, t.write)
	p.settled.add(t.nonce, true)
	return nil
}

// settled has writes of earlier lives of the manager that are not to get a lock any more: those that ended in this life, and those that were
// announced, as whatever freed their lock had a reason. It has no more than was granted in the time for which a capability is good, and
// soon after the start nothing is added. It forgets a write that was announced when its commit would come too late: the commit asks whether the write
// had a claim. It forgets others when their announcement would.
type settled struct {
	gave   func(nonce uint64) bool // reports whether this life granted a write; nil: it granted none
	mu     sync.Mutex              // a leaf
	writes map[uint64]settledWrite
}

// settledWrite is one of them, by its nonce.
type settledWrite struct {
	until   time.Time // when it is forgotten; zero: the next sweep says so
	resumed bool      // it had its lock and its claim again
}

// over notes that a write is not to be announced any more, as it ended. What this life granted is not announced to it.
func (d *settled) over(nonce uint64) {
	if d.gave == nil || !d.gave(nonce) {
		d.add(nonce, false)
	}
}

// add notes that a write is not to be announced any more.
func (d *settled) add(nonce uint64, resumed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writes == nil {
		d.writes = map[uint64]settledWrite{}
	}
	d.writes[nonce] = settledWrite{resumed: resumed || d.writes[nonce].resumed}
}

// has reports whether a write is settled, and whether it had its claim again.
func (d *settled) has(nonce uint64) (known, resumed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w, known := d.writes[nonce]
	return known, w.resumed
}

// expire forgets writes that are not asked for any more.
func (d *settled) expire(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for nonce, w := range d.writes {
		switch {
		case w.until.IsZero():
			useful := hemera.CapabilityLifetime + hemera.PendingHold
			if w.resumed {
				useful = hemera.CapabilityLifetime + hemera.CommitLifetime
			}
			w.until = now.Add(useful)
			d.writes[nonce] = w
		case now.After(w.until):
			delete(d.writes, nonce)
		}
	}
}

// announceTime bounds the wait for the announcements of nodes after the manager's start. Nodes that live register within a second.
const announceTime = 3 * time.Second

// heads knows which nodes may have writes under way that they have not announced yet, and which writes an earlier life granted.
type heads struct {
	now     func() time.Time
	started time.Time
	nonces  *nonces // of this life

	mu      sync.Mutex // a leaf
	awaited map[hemera.NodeID]bool
	done    chan struct{}                  // closed when none is awaited
	telling map[hemera.NodeID]bool         // those of awaited that are back, and still announce
	told    chan struct{}                  // closed when telling gets empty; nil while it is
	epochs  map[hemera.NodeID]hemera.Epoch // the first one that each node got in this life
}

// newHeads awaits the nodes that had a lease of an earlier life of the manager.
func newHeads(view *hemera.View, nonces *nonces, started time.Time, now func() time.Time) *heads {
	h := &heads{now: now, started: started, nonces: nonces, awaited: map[hemera.NodeID]bool{}, telling: map[hemera.NodeID]bool{}, done: make(chan struct{}), epochs: map[hemera.NodeID]hemera.Epoch{}}
	for _, n := range view.Nodes {
		if n.Epoch != 0 {
			h.awaited[n.ID] = true
		}
	}
	if len(h.awaited) == 0 {
		close(h.done)
	}
	return h
}

// registers notes that a node is about to register, and says how many writes it will announce. It comes before the registration: an open that finds
// the node in a view finds this, too. It reports whether that is news, which refused undoes.
func (h *heads) registers(id hemera.NodeID, writes int) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tells(id, writes)
}

// tells notes that a node is back, and announces its writes. It reports whether that is news. mu is held.
func (h *heads) tells(id hemera.NodeID, writes int) (news bool) {
	if writes <= 0 || !h.awaited[id] || h.telling[id] {
		return false
	}
	if h.told == nil {
		h.told = make(chan struct{})
	}
	h.telling[id] = true
	return true
}

// isTold notes that nothing is waited for of a node that is back. mu is held.
func (h *heads) isTold(id hemera.NodeID) {
	if delete(h.telling, id); len(h.telling) == 0 && h.told != nil {
		close(h.told)
		h.told = nil
	}
}

// refused notes that the registration of a node has failed that was news.
func (h *heads) refused(id hemera.NodeID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.isTold(id)
}

// quiet fails with a [hemera.NotYet] while a node that is back announces its writes, for announceTime after the manager's start at most: an open
// for writing might take the name of one of them. It does not block.
func (h *heads) quiet() error {
	left := announceTime - h.now().Sub(h.started)
	if left <= 0 {
		return nil // without the lock: each open for writing comes here
	}
	h.mu.Lock()
	told := h.told
	h.mu.Unlock()
	if told == nil {
		return nil
	}
	return &hemera.NotYet{
		Err: errs.New(errs.Unavailable, "manager.Open", "", "the manager has just started, and nodes tell what is being written"),
		Await: func(ctx context.Context) error {
			late := time.NewTimer(left)
			defer late.Stop()
			select {
			case <-told:
			case <-late.C:
			case <-ctx.Done():
				return errs.Wrap(ctx.Err(), "manager.Open", "")
			}
			return nil
		},
	}
}

// registered notes that a node has a lease, and will announce so many writes.
func (h *heads) registered(id hemera.NodeID, epoch hemera.Epoch, writes int) {
	h.mu.Lock()
	// Of two registrations of a node the later may be noted first.
	if first := h.epochs[id]; first == 0 || epoch < first {
		h.epochs[id] = epoch
	}
	h.tells(id, writes) // another registration of it may have been refused meanwhile
	h.mu.Unlock()
	if writes <= 0 {
		h.announced(id)
	}
}

// earlier reports whether an earlier life of the manager granted a write at the head. Nonces begin with the clock, which may have been set back
// since; leases are durable.
func (h *heads) earlier(c *hemera.Capability, head hemera.NodeID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.nonces.gave(c.Nonce) || c.Epoch < h.epochs[head]
}

// lockUntil returns the time at which the lock of a write of an earlier life is free at the latest. A capability may say a later one: it was signed
// again since, or by a clock that was ahead.
func (h *heads) lockUntil(c *hemera.Capability) time.Time {
	until, last := lockUntil(c), h.started.Add(hemera.CapabilityLifetime+hemera.PendingHold)
	if until.After(last) {
		return last
	}
	return until
}

// announced notes that a node has said everything that was under way there when it registered.
func (h *heads) announced(id hemera.NodeID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.isTold(id)
	if !h.awaited[id] {
		return
	}
	delete(h.awaited, id)
	if len(h.awaited) == 0 {
		close(h.done)
	}
}

// await returns when every node that was there before the manager's start has announced its writes, or announceTime after the start.
// From then on a name that is free in the table is free. It fails like ctx.
func (h *heads) await(ctx context.Context) error {
	left := announceTime - h.now().Sub(h.started)
	if left <= 0 {
		return nil
	}
	late := time.NewTimer(left)
	defer late.Stop()
	select {
	case <-h.done:
		return nil
	case <-late.C:
		return nil
	case <-ctx.Done():
		return errs.Wrap(ctx.Err(), "manager.Announce", "")
	}
}
