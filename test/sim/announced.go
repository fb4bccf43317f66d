package sim

import (
	"context"
	"path"
	"slices"
	"strconv"
	"sync"

	"hemera/manager"
	"hemera/namespace"
	"hemera/words/hemera"
)

// announced knows which life of the manager granted a write, and which writes may have ended. Its check is that a life has the name of every
// write again that an earlier one granted, as soon as the head has announced it.
type announced struct {
	mu      sync.Mutex
	granted map[uint64]*manager.Manager // by nonce
	ended   map[uint64]bool             // an end was sent, which may have arrived
	told    map[telling]bool
}

// telling is an announcement of a write to a life of the manager.
type telling struct {
	to    *manager.Manager
	nonce uint64
}

// grant notes the life that granted a write.
func (a *announced) grant(m *manager.Manager, c *hemera.Capability) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.granted == nil {
		a.granted, a.ended, a.told = map[uint64]*manager.Manager{}, map[uint64]bool{}, map[telling]bool{}
	}
	a.granted[c.Nonce] = m
}

// end notes that the head of a write is about to send its end.
func (a *announced) end(p *hemera.Permit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended != nil {
		a.ended[p.Nonce] = true
	}
}

// over reports whether an end of a write was sent.
func (a *announced) over(nonce uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended[nonce]
}

// first returns the writes that are announced to a life for the first time, and that another one granted.
func (a *announced) first(m *manager.Manager, writes []hemera.OpenWrite) (first []*hemera.Capability) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range writes {
		c := &w.Permit.Capability
		to := telling{m, c.Nonce}
		if by := a.granted[c.Nonce]; by != nil && by != m && !a.told[to] {
			first = append(first, c)
		}
		if a.told != nil {
			a.told[to] = true
		}
	}
	return first
}

// Announce implements hemera.OpenWrites.
func (c *control) Announce(ctx context.Context, a hemera.Announcement) error {
	_, err := askAs(ctx, c, true, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
		said := a
		said.Writes = slices.Clone(a.Writes)
		for i, w := range a.Writes {
			token, err := w.Permit.Token()
			if err != nil {
				return struct{}{}, err
			}
			said.Writes[i].Permit = shown(token)
		}
		// The node believes that it has announced them.
		if c.w.plan.sabotage == ForgetWrites {
			said.Writes = nil
		}
		first := c.w.announced.first(m, a.Writes)
		err := m.Control.Announce(ctx, said)
		if err == nil {
			c.w.resumed(ctx, m, first)
		}
		return struct{}{}, err
	})
	return err
}

// resumed fails the run if the manager does not have the name of a write that was just announced to it, that may be committed, and that has not
// ended since. A name that another writer has is that writer's.
func (w *world) resumed(ctx context.Context, m *manager.Manager, first []*hemera.Capability) {
	h := w.head.Load()
	if h == nil || h.Manager != m || len(first) == 0 {
		return
	}
	// Nodes are not asked: the table is what counts.
	unasked, cancel := context.WithCancel(ctx)
	cancel()
	list, err := m.Writes.Writes(unasked, hemera.SystemIdentity())
	if err != nil {
		return
	}
	now := w.clock(w.managerSkew)()
	for _, c := range first {
		id := strconv.FormatUint(c.Nonce, 36)
		prep, err := h.tree.Writes.Resume(ctx, c.Who, namespace.Commit{
			ID: c.File, Gen: c.Gen, BaseGen: c.BaseGen, Replaces: c.Replaces, Force: c.Force, Parent: c.Parent, Name: c.Name,
		}, c.Access == hemera.AccessUpdate)
		has := func(i hemera.WriteInfo) bool {
			return i.ID == id || path.Base(i.Path) == prep.Entry.Name || path.Base(i.Path) == c.Name
		}
		if err != nil || now.After(c.Expires.Add(hemera.PendingHold)) || slices.ContainsFunc(list, has) || w.announced.over(c.Nonce) || h.isDead() {
			continue
		}
		w.fail("the write of %s, fxid %s gen %d, was announced, and does not have its name", c.Path, c.File.Hex(), c.Gen)
	}
}
