package node

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera/disk"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Times of the control loop.
const (
	// callTimeout bounds a call to the manager that is answered at once, exchangeTimeout one that waits for orders.
	callTimeout     = 10 * time.Second
	exchangeTimeout = time.Minute
	// joinPatience bounds the wait of an open for a node that has not joined yet.
	joinPatience = 10 * time.Second
	// stopTimeout bounds the calls of a stopping node to the manager and its peers.
	stopTimeout = 5 * time.Second
	// expireInterval is the interval of searches for abandoned pieces, retryInterval that of attempts to open missing
	// disks.
	expireInterval = 10 * time.Minute
	retryInterval  = 2 * time.Second
	// finishInterval is the interval at which a stopping node checks whether its writes have ended.
	finishInterval = 50 * time.Millisecond
)

// errRejoin ends a session because the node's disks changed. errUnshown ends it because a late answer of an earlier life
// of the manager had a mark that the manager has not seen.
var (
	errRejoin  = errors.New("the node's disks changed")
	errUnshown = errors.New("the manager has not been shown what an earlier one of it said")
)

// Run keeps the node in the cluster until ctx ends. Then it settles pending writes, closes the disks and returns nil. It
// is called once. A disk that does not answer delays the end by at most stopTimeout.
func (n *Node) Run(ctx context.Context) error {
	n.orders.ended = ctx
	// Marks are saved until the very end.
	saving, saved := context.WithCancel(context.WithoutCancel(ctx))
	var saver sync.WaitGroup
	saver.Go(func() { n.seen.run(saving) })
	defer saver.Wait()
	defer saved()
	notes := &diskNotes{n.seen, n.disks, map[disk.Store]string{}}
	n.panics.Go(&n.working, "node.Note", n.address(), func() { notes.run(ctx) })
	var group errgroup.Group
	group.Go(func() error { n.keep(ctx); return nil })
	group.Go(func() error { n.expire(ctx); return nil })
	group.Go(func() error { n.scrub(ctx); return nil })
	_ = group.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	// The rest waits for disks. Their calls return, but that may take longer than a stop should.
	release := context.AfterFunc(last, n.disks.cancel)
	defer release()
	n.pending.Settle(last)
	waitUntil(last, n.host.Wait)
	n.farewell(last)
	n.working.Wait()
	notes.give()
	n.disks.close()
	if last.Err() == nil {
		n.disks.stopped()
	}
	return nil
}

// farewell ends the lease, so that the manager redirects no clients here until the node is back. If it fails, the lease
// expires.
func (n *Node) farewell(ctx context.Context) {
	if n.ID() == 0 || n.born.Load() == 0 {
		return
	}
	_, err := n.o.Control.Heartbeat(ctx, n.ID(), hemera.Epoch(n.epoch.Load()), hemera.NodeReport{Clock: time.Now(), Stats: n.meter.read(n.started), Disks: n.disks.report(), Stopping: true, Ended: true})
	if err != nil {
		n.o.Log.Info("the manager does not know yet that the node has stopped", "error", err)
	}
}

// waitUntil returns when wait does, or when ctx ends: the remaining work calls peers, which may not answer.
func waitUntil(ctx context.Context, wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// keep registers the node, again whenever the lease is lost.
func (n *Node) keep(ctx context.Context) {
	again := newRejoin(n.address())
	for ctx.Err() == nil {
		var leased time.Time // begin of the lease; zero if there was none
		err := n.panics.Do("node.Register", n.address(), func() error { return n.session(ctx, &leased) })
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errRejoin), errors.Is(err, errUnshown):
			n.o.Log.Info("registering again", "why", err)
			continue
		case n.removedMeanwhile(err):
			n.o.Log.Warn("the cluster does not have this node any more: it joins as a new one", "was", n.ID())
			n.id.Store(0)
			continue
		}
		var lasted time.Duration
		if !leased.IsZero() {
			lasted = time.Since(leased)
		}
		pause := again.after(lasted)
		n.refusal.Store(&err)
		about := []any{"again", pause, "error", err}
		if remedy := errs.RemedyOf(err); remedy != "" {
			about = append(about, "remedy", remedy)
		}
		n.o.Log.Warn("no lease from the manager", about...)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// removedMeanwhile reports whether an error means that the node was removed before this process started. Only a node in
// the manager's own process joins again by itself, because its admin has just started it. A node that was removed while
// it ran stays removed until a restart, and one with a certificate needs a token.
func (n *Node) removedMeanwhile(err error) bool {
	return errors.Is(err, errs.NotFound) && n.o.ID == 0 && n.ID() != 0 && n.born.Load() == 0
}

// session runs one lease: it registers, and then reports and works until something fails, which is at once when the connection to the manager breaks.
// It sets leased when the lease begins.
func (n *Node) session(ctx context.Context, leased *time.Time) error {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	n.readdress()
	n.disks.newcomers() // the hello has them, so they are not new any more
	seen := n.seen.shown()
	writes := 0
	if n.o.Writes != nil {
		writes = n.pending.UnderWay()
	}
	welcome, err := n.o.Control.Register(call, hemera.NodeHello{
		ID: n.ID(), Addr: n.address(), Zone: n.o.Zone, Version: n.o.Version, Disks: n.disks.report(), Writes: writes, Unclean: n.unclean, Seen: seen,
	})
	if err != nil {
		return errs.Wrap(err, "node.Register", n.address())
	}
	n.unclean = false
	n.seen.welcome(seen, welcome.Seen)
	if err := n.welcomed(welcome); err != nil {
		return err
	}
	*leased = time.Now()
	// The first of both that fails ends the lease for the other.
	group, working := errgroup.WithContext(ctx)
	group.Go(n.panics.Func("node.Announce", n.address(), func() error { return n.announce(working, welcome.Epoch, writes) }))
	group.Go(n.panics.Func("node.Heartbeat", n.address(), func() error { return n.heartbeats(working, welcome.Epoch) }))
	group.Go(n.panics.Func("node.Work", n.address(), func() error { return n.work(working, welcome.Epoch) }))
	group.Go(n.panics.Func("node.TellKept", n.address(), func() error {
		n.pending.TellKept(working)
		return nil
	}))
	return group.Wait()
}

// readdress updates the node's address if the machine has got another one: a node whose address is gone loses its lease.
func (n *Node) readdress() {
	if n.o.Address == nil {
		return
	}
	if is, was := n.o.Address(), n.address(); is != "" && is != was {
		n.addr.Store(&is)
		n.o.Log.Warn("the node has another address", "was", was, "addr", is)
	}
}

// welcomed applies the manager's answer at the begin of a lease: ids, keys, and headroom.
func (n *Node) welcomed(w hemera.NodeWelcome) error {
	n.trust(w.Keys, w.Barred)
	if err := n.disks.named(w.ID, w.DiskIDs); err != nil {
		return err
	}
	n.disks.headroom(w.Headroom)
	n.id.Store(uint32(w.ID))
	n.manager.Store(&w.ManagerAddr)
	n.born.CompareAndSwap(0, uint64(w.Epoch))
	n.epoch.Store(uint64(w.Epoch))
	n.refusal.Store(nil)
	n.joinedOnce.Do(func() { close(n.joined) })
	n.o.Log.Info("joined", "node", w.ID, "epoch", w.Epoch, "manager", w.ManagerAddr)
	return nil
}

// trust sets the keys and the removed nodes by which capabilities are verified.
func (n *Node) trust(keys []hemera.Key, barred []hemera.NodeID) {
	if len(keys) > 0 {
		n.o.SetKeys(keys)
	}
	if n.o.Bar != nil {
		n.o.Bar(barred)
	}
}

// Saw keeps the mark of an answer of the manager to another part of the process, such as a tape server. It does not
// block.
func (n *Node) Saw(mark []byte) { n.seen.saw(mark) }

// heartbeats sends a report every interval, applies the answers, and tries missing disks again.
func (n *Node) heartbeats(ctx context.Context, epoch hemera.Epoch) error {
	tick := time.NewTicker(hemera.HeartbeatInterval)
	defer tick.Stop()
	lastRetry := time.Now()
	var asked []hemera.WriteRef // writes whose state the manager requests in the next report
	stopping := n.stopping
	for {
		report := hemera.NodeReport{
			Clock: time.Now(), Stats: n.meter.read(n.started), Disks: n.disks.report(), Writes: n.pending.States(asked), Bad: n.bad.take(), Copies: n.orders.copied(),
			Stopping: n.stops(), Network: n.network.next(time.Now()),
		}
		report.Stats.Unusable, report.Stats.Kept = n.disks.unusable(), n.pending.Kept()
		if n.o.Limits != nil {
			report.Stats.Limits = n.o.Limits()
		}
		// Waiting longer is useless: by then the manager regards the node as offline.
		call, cancel := context.WithTimeout(ctx, hemera.HeartbeatTimeout)
		reply, err := n.o.Control.Heartbeat(call, n.ID(), epoch, report)
		cancel()
		if err != nil { // the lease has ended: the manager may or may not have the report
			n.bad.lost(report.Bad)
			return errs.Wrap(err, "node.Heartbeat", n.address())
		}
		if report.Stopping {
			n.toldOnce.Do(func() { close(n.told) })
		}
		n.trust(reply.Keys, reply.Barred)
		n.disks.headroom(reply.Headroom)
		asked = n.dismiss(reply.Writes)
		n.seen.saw(reply.Seen)
		// Between reports, so that a node never does both at once.
		if time.Since(lastRetry) >= retryInterval {
			lastRetry = time.Now()
			n.disks.retry(retryWait)
		}
		changed, err := n.disks.attach(reply.Attach, reply.Detach)
		if err != nil {
			n.o.Log.Error("the list of disks is not saved", "error", err)
		}
		if changed {
			return errRejoin
		}
		if n.seen.unshown() {
			return errUnshown
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-stopping:
			stopping = nil // the stop is reported at once only the first time
		case <-tick.C:
		}
	}
}

// dismiss removes the pieces of ended writes in the background, and returns the writes whose state the manager requests.
func (n *Node) dismiss(refs []hemera.WriteRef) (asked []hemera.WriteRef) {
	var over []hemera.WriteRef
	for _, r := range refs {
		if r.Over {
			over = append(over, r)
		} else {
			asked = append(asked, r)
		}
	}
	if len(over) > 0 {
		n.panics.Go(&n.working, "node.Dismiss", "", func() { n.pending.RemoveClientPieces(over) }) // it waits for disks
	}
	return asked
}

// Finish prepares a clean stop: the node gets no new pieces at once, no more readers of files that are also on other
// nodes, and takes no new writes. Writes of connected clients may end. It returns when the manager knows of the stop (or
// has not answered for a second) and the writes have ended; at the latest after patience, or when ctx ends. Run continues
// meanwhile. Pieces of writes with another head count too.
func (n *Node) Finish(ctx context.Context, patience time.Duration) {
	n.stopOnce.Do(func() { close(n.stopping) })
	n.pending.Conclude()
	n.awaitTold(ctx)
	if n.pending.Attached() == 0 {
		return
	}
	n.o.Log.Info("stopping when the writes under way have ended", "writes", n.pending.Attached(), "at the latest in", patience)
	end := time.NewTimer(patience)
	defer end.Stop()
	tick := time.NewTicker(finishInterval)
	defer tick.Stop()
	for n.pending.Attached() > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		case <-end.C:
			n.o.Log.Warn("writes are aborted, as they did not end in time", "writes", n.pending.Attached())
			return
		}
	}
}

// toldTime bounds the wait of a stop for the manager's answer.
const toldTime = time.Second

// awaitTold returns when the manager has answered a report that the node stops, or after toldTime, or when ctx ends.
func (n *Node) awaitTold(ctx context.Context) {
	if n.born.Load() == 0 {
		return
	}
	late := time.NewTimer(toldTime)
	defer late.Stop()
	select {
	case <-n.told:
	case <-late.C:
	case <-ctx.Done():
	}
}

// stops reports whether the node has begun to stop.
func (n *Node) stops() bool {
	select {
	case <-n.stopping:
		return true
	default:
		return false
	}
}

// expire removes abandoned pieces at intervals.
func (n *Node) expire(ctx context.Context) {
	tick := time.NewTicker(expireInterval)
	defer tick.Stop()
	for {
		for _, s := range n.disks.stores() {
			if _, busy := n.expiring.LoadOrStore(s, true); !busy {
				n.panics.Go(&n.working, "node.Expire", "", func() { n.expireOn(s) })
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// expireOn removes abandoned pieces of one disk.
func (n *Node) expireOn(s disk.Store) {
	defer n.expiring.Delete(s)
	removed, err := s.Expire(hemera.UnsealedLifetime)
	if removed > 0 || err != nil {
		n.o.Log.Info("abandoned pieces removed", "disk", s.Status().Path, "removed", removed, "error", err)
	}
}
