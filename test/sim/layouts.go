package sim

import (
	"context"
	"slices"
	"time"

	"hemera/manager"
	"hemera/words/hemera"
)

// layouts is the part of a plan that is about coded files.
type layouts struct {
	// coded are layouts that directories have and clients wish for; empty: all files are copies.
	coded []hemera.Layout
	// ruin: at the very end more drives are lost than files have redundancy.
	ruin bool
	// rot: before that, bits of files are flipped, also at one page of more pieces than a file survives.
	rot bool
}

// drawLayouts draws the coded layouts of the plan, and gives it the disks that they need. Half of the plans have none.
func (p *plan) drawLayouts() {
	r := p.random("layouts")
	p.ruin = p.sabotage == Nothing && p.random("ruin").IntN(3) == 0
	p.rot = p.ruin && p.random("rot").IntN(2) == 0
	if !p.codes() && (p.sabotage != Nothing || r.IntN(2) == 0) {
		return
	}
	// Those of one plan have about as many pieces, so that one number of disks fits all.
	sets := [][]string{{"rs:2+1"}, {"rs:2+1", "lrc:2+1+1"}, {"rs:3+2"}, {"rs:2+2", "lrc:2+1+1"}, {"lrc:4+2+1", "rs:2+1"}, {"rs:3+2", "lrc:4+2+2"}}
	names := sets[r.IntN(len(sets))]
	if p.codes() {
		names = []string{"rs:2+1"}
	} else if !p.cruel && r.IntN(4) == 0 {
		names = append(names, "stripe:2") // has nothing to lose
	}
	for _, name := range names {
		l, err := hemera.ParseLayout(name, 0)
		if err != nil {
			panic(err) // the names above are constants
		}
		p.coded = append(p.coded, l)
	}
	p.drawVictims(r.IntN(2) == 0, r.IntN)
	if p.sabotage == RebuildOld { // where pieces move often, and older ones stay
		p.strain, p.hold, p.cruel, p.plants, p.stale, p.stalls = 2*time.Second, 10*time.Minute, false, false, false, false
	}
	// Some clusters are too small for all pieces of a file. What they lack, they lack for good.
	if short := r.IntN(6) == 0; short && !p.cruel && !p.codes() {
		p.machines, p.drives = max(3, p.mostPieces()-1), 1
		return
	}
	// Drives first: a machine costs more time than a drive.
	for p.machines*p.drives < p.mostPieces()+len(p.victims) {
		if p.drives < 2 {
			p.drives++
		} else {
			p.machines++
		}
	}
}

// codes reports whether the sabotage is one of coded files.
func (p *plan) codes() bool { return p.sabotage == KeepParity || p.sabotage == RebuildOld }

// drawVictims lets two drives lose data where every layout of the plan survives that.
func (p *plan) drawVictims(two bool, draw func(int) int) {
	if !p.cruel || !two || slices.ContainsFunc(p.coded, func(l hemera.Layout) bool { return l.Losses() < 2 }) {
		return
	}
	p.replicas, p.minPieces = 3, "3"
	first := p.victims[0]
	second := [2]int{(first[0] + 1 + draw(p.machines-1)) % p.machines, draw(p.drives)}
	p.victims = append(p.victims, second)
}

// mostPieces returns the largest number of pieces of a file.
func (p *plan) mostPieces() int {
	most := p.replicas
	for _, l := range p.coded {
		most = max(most, int(l.Pieces))
	}
	return most
}

// setLayouts gives the client's directories the plan's layouts: the first one by force, the second one as a default, which
// a wish is stronger than. What is in other directories goes by wishes alone.
func (c *client) setLayouts(ctx context.Context) error {
	if len(c.w.plan.coded) == 0 {
		return nil
	}
	for i, name := range []string{"sys.forced.layout", "user.forced.layout"} {
		l := c.w.plan.coded[c.rng.IntN(len(c.w.plan.coded))]
		_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
			return struct{}{}, m.Attributes.SetXattr(ctx, hemera.SystemIdentity(), c.dirs[i], name, []byte(l.String()), false)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// wish asks for one of the plan's layouts, or leaves it to the directory.
func (c *client) wish() hemera.Wish {
	if len(c.w.plan.coded) == 0 || c.rng.IntN(3) == 0 {
		return hemera.Wish{}
	}
	return hemera.Wish{Layout: c.w.plan.coded[c.rng.IntN(len(c.w.plan.coded))].String()}
}

// codedSizes returns sizes of files of a coded layout: less than a block, which heads keep in memory, about a block, and
// rows with a last one that is not full.
func codedSizes(l hemera.Layout) []int {
	block := int(l.BlockSize)
	row := block * int(l.Data)
	return []int{0, 100, 5000, block, block + 100, row, row + 10_000, row + block + 5000, 2*row + 70_000, 3*row + 1}
}

// codedMax bounds the contents of coded files, in bytes.
const codedMax = 800_000

// edit changes a write under way as clients may that do not write in order: over what was written, behind a gap, back and
// forth by truncations. Of what it reads back each byte must be what was accepted. It returns the content.
func (c *client) edit(ctx context.Context, h *handle, p []byte) ([]byte, error) {
	p = slices.Clone(p)
	for range c.rng.IntN(4) {
		var err error
		switch c.rng.IntN(6) {
		case 0, 1, 2:
			off := c.rng.IntN(len(p) + 1)
			err = c.overwrite(ctx, h, &p, off)
		case 3:
			err = c.overwrite(ctx, h, &p, min(len(p)+c.rng.IntN(150_000), codedMax)) // a gap
		case 4:
			size := min(c.rng.IntN(len(p)+len(p)/8+1), codedMax)
			p = resized(p, size)
			h.left.becomes(h, func() []byte { return p })
			err = h.again(ctx, func(_ context.Context, f hemera.File) error { return f.Truncate(int64(size)) })
		case 5:
			err = c.readBack(ctx, h, p)
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// overwrite writes some new bytes at an offset.
func (c *client) overwrite(ctx context.Context, h *handle, p *[]byte, off int) error {
	b := make([]byte, 1+c.rng.IntN(100_000)>>c.rng.IntN(8))
	for i := range b {
		b[i] = byte(c.rng.Uint32())
	}
	if end := off + len(b); end > len(*p) {
		*p = resized(*p, end)
	}
	copy((*p)[off:], b)
	h.left.becomes(h, func() []byte { return *p })
	return h.again(ctx, func(_ context.Context, f hemera.File) error { return f.WritePages(b, nil, int64(off)) })
}

// resized returns p, cut or followed by zeros.
func resized(p []byte, size int) []byte {
	if size <= len(p) {
		return p[:size]
	}
	return append(p[:len(p):len(p)], make([]byte, size-len(p))...)
}

// readBack reads a part of the content that is being written.
func (c *client) readBack(ctx context.Context, h *handle, p []byte) error {
	off := c.rng.IntN(len(p) + 1)
	want := p[off:min(len(p), off+1+c.rng.IntN(100_000))]
	if len(want) == 0 {
		return nil
	}
	got, n := make([]byte, len(want)), 0
	err := h.again(ctx, func(_ context.Context, f hemera.File) (err error) {
		n, err = f.ReadPages(got, nil, int64(off))
		return err
	})
	if err == nil && (n != len(want) || !slices.Equal(got, want)) {
		c.w.fail("%s reads another content than it writes to %s, fxid %s gen %d: %d bytes at %d", c.name, h.grant.Permit.Path, h.grant.Permit.File.Hex(), h.grant.Permit.Gen, n, off)
	}
	return err
}
