package tier

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// A mount has a record from before its drive hears of it until the drive gets
// the next one. So there are as many as drives, and a manager that starts
// knows whose results it may take: those of a life of the store that was lost,
// of a drive that went on meanwhile, and of mounts that nobody gave are none.
//
// The record outlives the end of the mount, as the answer to the last report
// may be lost. It goes with the node of the drive. A tape that the mount may
// have written is unsure then: what is on it was perhaps never reported.

// issued are the records of mounts. None of them is written under the lock.
type issued struct {
	catalogue *catalogue.Catalogue

	mu  sync.Mutex                          // guards all
	all map[tapeapi.MountID]catalogue.Mount // what drives were given last, as it is stored
}

// readIssued reads the records.
func readIssued(ctx context.Context, c *catalogue.Catalogue) (*issued, error) {
	stored, err := c.Mounts(ctx)
	if err != nil {
		return nil, errs.Wrap(err, "tier.Open", "")
	}
	all := map[tapeapi.MountID]catalogue.Mount{}
	for _, m := range stored {
		all[m.ID] = m
	}
	return &issued{catalogue: c, all: all}, nil
}

// of returns the record of a mount.
func (t *issued) of(id tapeapi.MountID) (m catalogue.Mount, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, known = t.all[id]
	return m, known
}

// where lists the records that fit, by their numbers.
func (t *issued) where(fits func(catalogue.Mount) bool) (out []catalogue.Mount) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.all {
		if fits(m) {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b catalogue.Mount) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// issue stores a mount in place of what its drive had before.
func (t *issued) issue(ctx context.Context, m catalogue.Mount) error {
	var before []tapeapi.MountID
	for _, was := range t.where(func(of catalogue.Mount) bool { return of.Node == m.Node && of.Drive == m.Drive }) {
		before = append(before, was.ID)
	}
	if err := t.catalogue.PutMount(ctx, m, before...); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range before {
		delete(t.all, id)
	}
	t.all[m.ID] = m
	return nil
}

// ended notes that all that a mount did is recorded.
func (t *issued) ended(ctx context.Context, id tapeapi.MountID) error {
	t.mu.Lock()
	given, known := t.all[id]
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
	if _, still := t.all[id]; still {
		t.all[id] = given
	}
	return nil
}

// leave forgets the mount of a node that left the cluster.
func (t *issued) leave(ctx context.Context, m catalogue.Mount, why string) error {
	if err := t.catalogue.LeaveMount(ctx, m, why); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, m.ID)
	return nil
}
