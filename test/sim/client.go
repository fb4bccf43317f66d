package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"hemera/manager"
	"hemera/test/sim/register"
	"hemera/test/sim/simnet"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// client works on the cluster: in directories of its own, and in one that all share.
// Only its own goroutine uses it. Others work in its directories never, in shared always.
type client struct {
	w        *world
	name     string          // in trace and messages
	host     simnet.Host     // its place on the network
	who      hemera.Identity // ordinary rights; the only writer below /name
	rng      *rand.Rand
	dirs     []string      // its own directories, under their present names
	made     int           // operations that need a fresh name or content so far
	patience time.Duration // for files that are on tape only
}

// shared is the directory in which all clients work at the same names.
const shared = "/shared"

// newClient makes client number i, with a random generator of its own: a client's choices do not depend on the others'
// speed.
func newClient(w *world, i int) *client {
	name := fmt.Sprintf("c%d", i)
	c := &client{w: w, name: name, host: simnet.Host(name), rng: w.plan.random(name)}
	c.who = hemera.Identity{Name: name, UID: uint32(1000 + i), GID: 1000, Protocol: "sim", Host: name}
	c.patience = 20 * time.Second
	c.dirs = []string{"/" + name + "/d0", "/" + name + "/d1"}
	return c
}

// saw adds a line to the trace.
func (c *client) saw(format string, args ...any) { c.w.trace.Add(c.name, format, args...) }

// bytes makes content that no other write makes, for a file with the layout.
func (c *client) bytes(l hemera.Layout) []byte {
	c.made++
	sizes := []int{0, 1, 100, 4096, 5000, 20_000, 70_000} // around pages, and around what a node keeps in memory
	if l.Coded() {
		sizes = codedSizes(l)
	}
	size := sizes[c.rng.IntN(len(sizes))]
	if size > 1 {
		size -= c.rng.IntN(size / 2)
	}
	p := make([]byte, size)
	fill := rand.New(rand.NewPCG(uint64(c.made), c.rng.Uint64()))
	for i := range p {
		p[i] = byte(fill.Uint32())
	}
	// Contents shorter than the prefix may repeat.
	copy(p, fmt.Sprintf("%s#%d ", c.name, c.made))
	return p
}

// open asks the manager for a place, and the node there to open. It asks again, for another place, if the node fails.
func (c *client) open(ctx context.Context, r hemera.OpenRequest) (*handle, error) {
	var tried []hemera.NodeID
	// Tried lets the manager choose another replica.
	for attempt := 0; ; attempt++ {
		r.Tried = tried
		g, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (hemera.Grant, error) {
			g, err := m.Files.Open(ctx, c.who, r)
			if err != nil {
				return g, err
			}
			c.w.announced.grant(m, &g.Permit.Capability)
			return sent(g)
		})
		if err != nil {
			return nil, err
		}
		// Before the open, so that the rogue may try it while the write goes on.
		c.w.overheard.add(g)
		h := &handle{client: c, grant: g}
		// Four attempts: more than a file has replicas. With an error the handle has the last grant.
		if err = h.open(ctx); err == nil || attempt == 3 {
			return h, err
		}
		tried = append(tried, g.Permit.Targets[0].Node)
		simnet.Rest(ctx, 100*time.Millisecond)
	}
}

// awaits opens as open does, and waits up to a time for a file that is on tape only.
// Real clients do so too: the manager tells them to try again.
func (c *client) awaits(ctx context.Context, r hemera.OpenRequest, limit time.Duration) (h *handle, err error) {
	const pause = 3 * time.Second
	for waited := time.Duration(0); ; waited += pause {
		if h, err = c.open(ctx, r); !c.w.plan.tape || !onTape(err) || waited >= limit {
			return h, err
		}
		simnet.Rest(ctx, pause)
	}
}

// read reads a whole file and holds it against the oracle.
// An error is no violation: the cluster may be unable to serve. The judge reads again when it must be able.
func (c *client) read(ctx context.Context, path string) {
	start := c.w.oracle.Tick()
	found, err := c.fetch(ctx, path)
	if err != nil {
		c.saw("read %s: %v", path, err)
		return
	}
	c.saw("read %s: %s", path, found)
	if wrong := c.w.oracle.Read(path, start, found); wrong != "" {
		c.w.fail("%s read: %s", c.name, wrong)
	}
}

// fetch returns the content of a path.
// A file that the manager does not have is absent. A NotFound of the node, which comes with a grant, is an error.
func (c *client) fetch(ctx context.Context, path string) (register.Content, error) {
	h, err := c.awaits(ctx, hemera.OpenRequest{Path: path, Access: hemera.AccessRead}, c.patience)
	if errs.KindOf(err) == errs.NotFound && (h == nil || tokenOf(&h.grant) == "") {
		return register.Absent, nil
	}
	if err != nil {
		return "", err
	}
	defer h.hangUp()
	p, err := h.readAll(ctx)
	if err != nil {
		return "", err
	}
	return register.ContentOf(p), nil
}

// write gives a path new content, from nothing or upon what is there.
//
// The oracle hears of it just before the close, from which on the content may show. Until then it must not.
func (c *client) write(ctx context.Context, path string, access hemera.Access) {
	start := c.w.oracle.Tick()
	h, err := c.open(ctx, hemera.OpenRequest{Path: path, Access: access, Mode: 0o666, Force: c.rng.IntN(4) == 0, Wish: c.wish()})
	if err != nil {
		c.saw("open %s for writing: %v", path, err)
		return
	}
	h.left.path = path
	defer func() {
		if h.left.end() {
			tapeUser{c}.mayReplace(h.grant.Permit.File)
		}
	}()
	p := c.bytes(h.grant.Permit.Layout)
	off, cut := 0, 0
	if access == hemera.AccessUpdate {
		if p, off, err = c.merge(ctx, h, path, start, p); err != nil {
			c.saw("update %s: reading what is there: %v", path, err)
			h.hangUp()
			return
		}
		if c.rng.IntN(4) == 0 {
			cut = c.rng.IntN(len(p) + 1)
		}
	}
	// A twelfth of all clients goes away in the middle; nothing of it may ever show but what was synced.
	if c.rng.IntN(12) == 0 { // somebody who goes away
		err = h.writeAll(ctx, p[:off+(len(p)-off)/2], off)
		c.saw("write %s cancelled: %v", path, err)
		h.giveUp(ctx)
		return
	}
	if access == hemera.AccessUpdate && off == len(p) && cut == 0 { // it changes nothing, and makes no generation
		_, err = h.close(ctx)
		c.saw("update %s without a change: %v", path, err)
		return
	}
	if l := h.grant.Permit.Layout; l.Coded() && h.grant.Permit.Access == hemera.AccessCreate && c.rng.IntN(3) == 0 {
		err = h.direct(ctx, p)
		c.saw("write %s directly: %v", path, err)
	} else {
		err = h.writeAll(ctx, p, off)
		if p = p[:len(p)-cut]; err == nil && cut > 0 {
			h.left.becomes(h, func() []byte { return p })
			err = h.again(ctx, func(_ context.Context, f hemera.File) error { return f.Truncate(int64(len(p))) })
		}
		if err == nil && l.Coded() {
			p, err = c.edit(ctx, h, p)
		}
	}
	// No close was sent, so the content must never show, unless it was synced, and the oracle need not know it.
	if err != nil {
		c.saw("write %s: %v", path, err)
		h.hangUp()
		return
	}
	what := register.ContentOf(p) // what the file holds if the close succeeds
	attempt := c.w.oracle.Begin(path, fmt.Sprintf("%s write #%d", c.name, c.made), what)
	c.w.oracle.Wrote(attempt, h.grant.Permit)
	tapeUser{c}.replaces(h.grant.Permit.File)
	doubt, err := h.close(ctx)
	tapeUser{c}.replaces(h.grant.Permit.File)
	c.saw("write %s: %s, fxid %s gen %d: %v (doubt %t)", path, what, h.grant.Permit.File.Hex(), h.grant.Permit.Gen, err, doubt)
	// With a refusal the content must not show to reads from now on. In doubt it may, at any time.
	c.w.oracle.End(attempt, err == nil, err != nil && !doubt)
	h.left.closed, h.left.unsure = err == nil, doubt
	if err == nil {
		c.w.acknowledged.Add(1)
	}
}

// merge returns the content after an update: what is there, changed from some offset on.
// It also holds what it read against the oracle: an update must begin from committed content.
func (c *client) merge(ctx context.Context, h *handle, path string, start register.Instant, p []byte) ([]byte, int, error) {
	// Through the handle that writes: it sees what the write began from.
	base, err := h.readAll(ctx)
	if err != nil {
		return nil, 0, err
	}
	// A granted access other than update means that there was nothing to begin from.
	if h.grant.Permit.Access == hemera.AccessUpdate {
		h.left.base = base
		if wrong := c.w.oracle.Read(path, start, register.ContentOf(base)); wrong != "" {
			c.w.fail("%s update begins from another content: %s", c.name, wrong)
		}
	}
	// Not beyond the end: gaps are tested elsewhere. The length of what is changed decides whether the end moves.
	off := c.rng.IntN(len(base) + 1)
	out := append(slices.Clone(base[:off]), p...)
	if len(out) < len(base) {
		out = append(out, base[len(out):]...)
	}
	return out, off, nil
}

// remove removes a file. NotFound counts as done: an earlier request, whose answer was lost, may have removed it.
func (c *client) remove(ctx context.Context, path string) {
	attempt := c.w.oracle.Begin(path, c.name+" remove", register.Absent)
	_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
		return struct{}{}, m.Names.Remove(ctx, c.who, path, hemera.KindFile)
	})
	c.saw("remove %s: %v", path, err)
	c.w.oracle.End(attempt, err == nil || errs.KindOf(err) == errs.NotFound, err != nil && !simnet.Lost(err))
}
