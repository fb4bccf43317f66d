package tier

import (
	"cmp"
	"context"
	"slices"

	"hemera/tape/catalogue"
	"hemera/words/hemera"
)

// A mount has a record from before its drive hears of it until the drive gets
// the next one. So there are as many as drives, and a manager that starts
// knows whose results it may take: those of a life of the store that was lost,
// of a drive that went on meanwhile, and of mounts that nobody gave are none.
//
// The record outlives the end of the mount, as the answer to the last report
// may be lost. It goes with the node of the drive. A tape that the mount may
// have written is unsure then: what is on it was perhaps never reported.

// issuer keeps the records of mounts.
type issuer struct{ *parts }

// issue stores a mount in place of what its drive had before.
func (t issuer) issue(ctx context.Context, node hemera.NodeID, drive string, m hemera.TapeMount) error {
	var before []uint64
	t.mu.Lock()
	for id, of := range t.issued {
		if of.Node == node && of.Drive == drive {
			before = append(before, id)
		}
	}
	t.mu.Unlock()
	slices.Sort(before)
	given := catalogue.Mount{ID: m.ID, Node: node, Drive: drive, VID: m.VID, Kind: m.Kind, Job: m.Job, Begun: t.now()}
	if err := t.catalogue.PutMount(ctx, given, before...); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range before {
		delete(t.issued, id)
	}
	t.issued[m.ID] = given
	return nil
}

// ended notes that all that a mount did is recorded.
func (t issuer) ended(ctx context.Context, id uint64) error {
	t.mu.Lock()
	given, known := t.issued[id]
	t.mu.Unlock()
	if !known || given.Ended {
		return nil
	}
	given.Ended = true
	if err := t.catalogue.PutMount(ctx, given); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// The drive may have the next one by now.
	if _, still := t.issued[id]; still {
		t.issued[id] = given
	}
	return nil
}

// LeaveMounts forgets the mounts of nodes that left the cluster. Tapes that they may have written are scanned before they are written again.
func (t *sweeper) LeaveMounts(ctx context.Context) error {
	if t.View == nil {
		return nil
	}
	view := t.View()
	var left []catalogue.Mount
	t.mu.Lock()
	for _, m := range t.issued {
		if _, member := view.Node(m.Node); !member {
			left = append(left, m)
		}
	}
	t.mu.Unlock()
	slices.SortFunc(left, func(a, b catalogue.Mount) int { return cmp.Compare(a.ID, b.ID) })
	for _, m := range left {
		why := "node " + m.Node.String() + " was removed while the tape was written in its drive " + m.Drive
		if err := t.catalogue.LeaveMount(ctx, m, why); err != nil {
			return err
		}
		t.mu.Lock()
		delete(t.issued, m.ID)
		t.mu.Unlock()
		if !m.Writes() {
			continue
		}
		t.Log.Warn("a tape is scanned before it is written again", "vid", m.VID, "why", why)
		if err := (scanner{t.parts}).tail(ctx, m.VID); err != nil {
			return err
		}
	}
	return nil
}
