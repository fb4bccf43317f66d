package tier

import (
	"context"
	"slices"
	"time"

	"hemera/tape/catalogue"
	"hemera/words/errs"
)

// What no event announces is looked for here: servers that fell silent,
// and requests that nobody forgot. A mount of a silent server ends after
// half a minute; its tape is then in a drive that nobody talks to, and no
// other mount of it begins, because no other library has the cartridge.

const (
	// sweepEvery is how often what takes time by itself is looked at.
	sweepEvery = 10 * time.Second
	// forgetTime bounds a turn, as mounts of lost servers wait for it.
	forgetTime = 2 * time.Second
)

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
			err := t.Panics.Do("tier.Sweep", "", func() error { return d.do(ctx) })
			if err != nil && ctx.Err() == nil {
				t.Log.Warn(d.failed, "error", err)
			}
		}
	}
}

// duty is one thing that Run does at each turn, and what the log says when it fails.
type duty struct {
	failed string
	do     func(context.Context) error
}

// duties are what Run does, in their order.
func (t *sweeper) duties() []duty {
	return []duty{
		{"mounts of servers that are gone do not end", func(context.Context) error { t.EndLost(); return nil }},
		{"tapes that were in drives of nodes that are gone are not known as unsure yet", t.LeaveMounts},
		{"files whose storage class can be used now are not queued for tape yet", t.releaseHeld},
		{"disk copies of archived files stay for now", t.dropReturned},
		{"old requests to stage files are not forgotten", t.ForgetStages},
		{"repacks and verifications of tapes do not go on", tasker{&orderer{t.parts}}.turn},
		{"the ends of scans of tapes are not written down yet", scanner{t.parts}.keep},
		{"the names in mount rules are not looked up", policies{t.parts}.learn},
		{"no room is made on disks", func(ctx context.Context) error { t.gc.collect(ctx); return nil }},
	}
}

// EndLost ends the mounts of servers that do not report any more, and forgets
// the libraries of nodes that left the cluster. Run calls it, and who removes
// a node.
func (t *sweeper) EndLost() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.View != nil {
		view := t.View()
		for node := range t.libraries {
			// An admin has removed the node: it has no lease any more, so its
			// library does not come back.
			if _, ok := view.Node(node); !ok {
				delete(t.libraries, node)
			}
		}
	}
	// Mounts whose server registered again ended when its drive asked for
	// work.
	for _, m := range t.mounts {
		if l := t.libraries[m.node]; l == nil || !t.online(l) {
			t.endMount(m)
			t.awake()
		}
	}
}

// ForgetStages removes requests that are old, with what they keep on disk.
// Run calls it; it is exported for tests.
func (t *sweeper) ForgetStages(ctx context.Context) error {
	const most = 100 // so that a sweep ends soon; the rest goes with the next
	end := t.Now().Add(forgetTime)
	for _, id := range t.stages.due(t.Now(), most) {
		s, err := t.catalogue.Stage(ctx, id)
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
		if err := t.catalogue.RemoveStage(ctx, s); err != nil {
			return err
		}
		t.stages.remove(id)
	}
	return nil
}

// unpin takes a request from its files, until a time.
func (t *sweeper) unpin(ctx context.Context, s catalogue.Stage, end time.Time) (done bool, err error) {
	for _, f := range s.Files {
		if t.Now().After(end) {
			return false, nil
		}
		e, _, err := t.Tree.Resolve(ctx, f.File)
		if err != nil || !slices.ContainsFunc(catalogue.PinsOf(&e), func(p catalogue.Pin) bool { return p.Request == s.ID }) {
			continue // it is gone, or was released
		}
		if err := t.catalogue.Withdraw(ctx, f.File, s.ID); err != nil {
			return false, err
		}
	}
	return true, nil
}
