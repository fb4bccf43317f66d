package tier

import (
	"context"
	"time"

	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Each drive asks for work when it has none, and is answered when there
// is some.
//
// A new tape is labelled by the mount that would have written to it
// first. The drive then asks again and gets the work. The server looks at
// the tape before it labels: one with something on it is refused, and put
// aside for a person.

const (
	// mountPoll bounds the wait of a drive for an answer, and mountLook is the time after which a waiting one is decided
	// on again: ages and lingering end without an event.
	mountPoll = 20 * time.Second
	mountLook = 2 * time.Second
)

// dispatcher answers drives that ask for work.
type dispatcher struct {
	env       *env
	inventory *inventory
	libraries *libraries
	mounts    *mounts
	scans     *scans
	issued    *issued
}

// NextMount says what an idle drive is to do, and waits until there is
// something. The caller has checked the lease.
func (t *dispatcher) NextMount(ctx context.Context, node hemera.NodeID, name string) (tapeapi.Mount, error) {
	deadline := time.NewTimer(mountPoll)
	defer deadline.Stop()
	if _, _, known := t.libraries.now().drive(node, name); known {
		t.scans.lose(t.mounts.endOf(node, name))
	}
	for {
		// Before the decision, so that nothing that happens after it is missed.
		wake := t.env.wake.next()
		m, again, err := t.next(ctx, node, name)
		if err != nil || m.Kind != tapeapi.MountNothing {
			return m, err
		}
		look := time.NewTimer(again)
		select {
		case <-ctx.Done():
			look.Stop()
			return m, errs.Wrap(ctx.Err(), "tier.NextMount", name)
		case <-deadline.C:
			look.Stop()
			return m, nil
		case <-wake:
		case <-look.C:
		}
		look.Stop()
	}
}

// next decides once. It also says after what time another decision may
// come.
func (t *dispatcher) next(ctx context.Context, node hemera.NodeID, name string) (none tapeapi.Mount, again time.Duration, err error) {
	f, err := t.inventory.facts(ctx)
	if err != nil {
		return none, mountLook, err
	}
	paused := t.env.Paused != nil && t.env.Paused()
	d := t.mounts.decide(f, question{node, name, paused, t.scans.waiting()})
	m := d.mount
	t.scans.explain(d.locked)
	if d.scan != "" && !t.beginScan(d.scan, m.ID, name) {
		return none, mountLook, nil // it was cancelled, or the drive asks again
	}
	if m.ID != 0 {
		if err := t.issued.issue(ctx, catalogue.Mount{ID: m.ID, Node: node, Drive: name, VID: m.VID, Kind: m.Kind, Job: m.Job, Begun: t.env.now()}); err != nil {
			t.abandon(m.ID)
			return none, mountLook, err
		}
	}
	if d.from != "" {
		// Before the mount begins: the next decision must see the tape in its
		// new pool.
		if err := t.supply(ctx, m.VID, d.from, m.Pool); err != nil {
			t.abandon(m.ID)
			return none, mountLook, err
		}
	}
	return m, mountLook, nil
}

// beginScan has a scan begin with its mount, and reports whether both are there.
func (t *dispatcher) beginScan(vid hemera.VID, mount tapeapi.MountID, drive string) bool {
	if !t.scans.begin(vid, mount, drive, t.env.now()) {
		t.abandon(mount)
		return false
	}
	// A mount that ended before the scan had its number has lost nothing then.
	if !t.mounts.has(mount) {
		t.scans.lose([]endedMount{{mount, vid}})
		return false
	}
	return true
}

// abandon forgets a mount that did not begin.
func (t *dispatcher) abandon(id tapeapi.MountID) { t.scans.lose(t.mounts.end(id)) }

// supply moves an empty tape to the pool that takes it.
func (t *dispatcher) supply(ctx context.Context, vid hemera.VID, from, to tapeapi.PoolName) error {
	return t.env.catalogue.ChangeTape(ctx, vid, func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
		if old == nil || old.Pool != from || old.LastFSeq > 0 {
			return nil, errs.New(errs.Conflict, "tier.Supply", string(vid), "the tape is not an empty one of pool "+string(from)+" any more")
		}
		tape := *old
		tape.Pool, tape.Changed, tape.ChangedBy = to, t.env.now(), hemera.SystemIdentity().Name
		return &tape, nil
	})
}
