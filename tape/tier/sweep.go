package tier

import (
	"context"
	"slices"
	"time"

	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// What no event announces is looked for here: servers that fell silent,
// and requests that nobody forgot. A mount of a silent server ends after
// half a minute; its tape is then in a drive that nobody talks to, and no
// other mount of it begins, because no other library has the cartridge.

const (
	// sweepEvery is the interval of looks at changes that time alone brings.
	sweepEvery = 10 * time.Second
	// forgetTime bounds a turn, as mounts of lost servers wait for it.
	forgetTime = 2 * time.Second
)

// sweeper does what time does.
type sweeper struct {
	env       *env
	settings  *settings
	libraries *libraries
	mounts    *mounts
	issued    *issued
	stages    *stages
	scanner   *scanner
	disks     *diskCopies
	tasks     *tasker
	held      *releasing
	gc        *collector
}

// Run ends mounts of servers that are gone, queues files that pools take
// now, drops disk copies that a tape's return lets go, forgets old requests, looks after repacks, verifications and names in
// mount rules, and makes room on disks, until the context ends.
func (t *sweeper) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, d := range t.duties() {
			// Each for itself: one that fails, or panics, keeps none of the others.
			err := t.env.Panics.Do("tier.Sweep", "", func() error { return d.do(ctx) })
			if err != nil && ctx.Err() == nil {
				t.env.Log.Warn(d.failed, "error", err)
			}
		}
	}
}

// duty is one thing that Run does at each turn, and what the log says when it fails.
type duty struct {
	failed string
	do     func(context.Context) error
}

// duties returns the tasks of Run, in their order.
func (t *sweeper) duties() []duty {
	return []duty{
		{"mounts of servers that are gone do not end", func(context.Context) error { t.EndLost(); return nil }},
		{"tapes that were in drives of nodes that are gone are not known as unsure yet", t.LeaveMounts},
		{"files whose storage class can be used now are not queued for tape yet", t.held.release},
		{"disk copies of archived files stay for now", t.disks.dropReturned},
		{"old requests to stage files are not forgotten", t.ForgetStages},
		{"repacks and verifications of tapes do not go on", t.tasks.turn},
		{"the ends of scans of tapes are not written down yet", t.scanner.keep},
		{"the names in mount rules are not looked up", t.settings.learn},
		{"no room is made on disks", func(ctx context.Context) error { t.gc.collect(ctx); return nil }},
	}
}

// EndLost ends the mounts of servers that do not report any more, and forgets
// the libraries of nodes that left the cluster. Run calls it, and who removes
// a node.
func (t *sweeper) EndLost() {
	if t.env.View != nil {
		view := t.env.View()
		t.mounts.forget(t.libraries.forget(func(node hemera.NodeID) bool { _, member := view.Node(node); return member }))
	}
	if over := t.mounts.endSilent(); len(over) > 0 {
		t.scanner.scans.lose(over)
		t.env.wake.ring()
	}
}

// LeaveMounts forgets the mounts of nodes that left the cluster. Tapes that they may have written are scanned before they are written again.
func (t *sweeper) LeaveMounts(ctx context.Context) error {
	if t.env.View == nil {
		return nil
	}
	view := t.env.View()
	left := t.issued.where(func(m catalogue.Mount) bool { _, member := view.Node(m.Node); return !member })
	for _, m := range left {
		why := "node " + m.Node.String() + " was removed while the tape was written in its drive " + m.Drive
		if err := t.issued.leave(ctx, m, why); err != nil {
			return err
		}
		if !m.Writes() {
			continue
		}
		t.env.Log.Warn("a tape is scanned before it is written again", "vid", m.VID, "why", why)
		if err := t.scanner.tail(ctx, m.VID); err != nil {
			return err
		}
	}
	return nil
}

// ForgetStages removes requests that are old, with what they keep on disk.
// Run calls it; it is exported for tests.
func (t *sweeper) ForgetStages(ctx context.Context) error {
	const most = 100 // so that a sweep ends soon; the rest goes with the next
	end := t.env.Now().Add(forgetTime)
	for _, id := range t.stages.due(t.env.Now(), most) {
		s, err := t.env.catalogue.Stage(ctx, id)
		if errs.KindOf(err) == errs.NotFound {
			t.stages.remove(id)
			continue
		}
		if err != nil {
			return err
		}
		if done, err := t.unpin(ctx, s, end); err != nil || !done {
			return err // the next sweep goes on: what is unpinned costs it a look
		}
		if err := t.env.catalogue.RemoveStage(ctx, s); err != nil {
			return err
		}
		t.stages.remove(id)
	}
	return nil
}

// unpin takes a request from its files, until a time.
func (t *sweeper) unpin(ctx context.Context, s catalogue.Stage, end time.Time) (done bool, err error) {
	for _, f := range s.Files {
		if t.env.Now().After(end) {
			return false, nil
		}
		e, _, err := t.env.Tree.Resolve(ctx, f.File)
		if err != nil || !slices.ContainsFunc(catalogue.PinsOf(&e), func(p catalogue.Pin) bool { return p.Request == s.ID }) {
			continue // it is gone, or was released
		}
		if err := t.env.catalogue.Withdraw(ctx, f.File, s.ID); err != nil {
			return false, err
		}
	}
	return true, nil
}
