package piece

import (
	"context"
	"sync/atomic"

	"hemera/disk"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Local is a pending piece on a disk of this node in the shape of a peer's, so that the head of a write treats all alike.
//
// A disk.Writer must not be called again after a seal or an abort. As the abort of a lost piece runs in the background,
// ended says whether one of them was begun.
type Local struct {
	disk.Writer
	node   *Node
	cap    *hemera.Capability
	target hemera.Target
	store  disk.Store
	id     hemera.PieceID
	ended  atomic.Bool // sealed or aborted: the Writer must not be used again
	left   atomic.Bool
	found  bool   // an earlier process left it: what fails leaves it, too
	leave  func() // from the first call on clients may have the name, if no piece has it
}

// Sync makes the pending piece durable.
func (p *Local) Sync(context.Context) error { return p.Writer.Sync() }

// Seal seals the piece and compares what the disk kept with what the head counted.
func (p *Local) Seal(_ context.Context, s hemera.SealInfo) error {
	// A seal that fails has removed the piece as well.
	p.ended.Store(true)
	stat, err := p.Writer.Seal(s)
	if err != nil {
		return err
	}
	return CheckSealed(stat, s)
}

// Abort removes the piece, sealed or not.
func (p *Local) Abort() {
	if p.found {
		p.Leave()
		return
	}
	// A writer that has sealed or aborted must not be called again; the piece may be there under its name all the same.
	if !p.ended.Swap(true) {
		_ = p.Writer.Abort()
	}
	_ = p.store.Remove(p.id)
	p.Release()
}

// Release implements Writer.
func (p *Local) Release() {
	if !p.left.Swap(true) {
		p.leave()
	}
}

// Clone implements Writer.
func (p *Local) Clone(_ context.Context, size int64) error {
	return p.node.CloneBase(p.cap, p.target, p.Writer, size)
}

// Found reports whether an earlier process left the piece.
func (p *Local) Found() bool { return p.found }

// Disown has a piece that was found be removed like others, as its write is dropped.
func (p *Local) Disown() { p.found = false }

// Ended reports whether the piece is sealed or aborted.
func (p *Local) Ended() bool { return p.ended.Load() }

// Leave ends the use of a piece that was found, and leaves it on its disk.
func (p *Local) Leave() {
	if !p.ended.Swap(true) {
		disk.Leave(p.Writer)
	}
	p.Release()
}

// CheckSealed refuses a sealed piece that does not have all of its part of the file.
func CheckSealed(stat hemera.PieceStat, s hemera.SealInfo) error {
	if want := layout.PieceSize(stat.Layout, s.FileSize, stat.ID.Index); stat.Size != want {
		return SizeMismatch("transfer.Seal", stat.ID.String(), stat.Size, want)
	}
	return nil
}

// Create begins one piece where its target says. local is out for a piece on this node.
func (n *Node) Create(ctx context.Context, c *hemera.Capability, permit *hemera.Permit, t hemera.Target) (out Writer, local *Local, err error) {
	if n.Local(t) {
		local, err = n.createLocal(c, t)
		if err != nil {
			return nil, nil, err
		}
		return local, local, nil
	}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	p, token, err := n.Remote(permit, t)
	if err != nil {
		return nil, nil, err
	}
	out, err = n.Peers.Create(ctx, p, token)
	if err != nil {
		return nil, nil, errs.Wrap(err, "transfer.CreatePiece", t.Addr)
	}
	return out, nil, nil
}

// createLocal begins a piece on a disk of this node.
func (n *Node) createLocal(c *hemera.Capability, t hemera.Target) (*Local, error) {
	store, err := n.Store(t)
	if err != nil {
		return nil, err
	}
	id, leave := ID(c, t.Index), n.own(c, t)
	w, err := store.Create(id, CreateOptions(c, t.Index))
	if err != nil {
		leave()
		return nil, err
	}
	return &Local{Writer: w, node: n, cap: c, target: t, store: store, id: id, leave: leave}, nil
}

// FindLocal takes over what an earlier process left of the piece: sealed, with stat, or pending. NotFound if there is nothing.
// Abort leaves it on its disk until [Local.Disown].
func (n *Node) FindLocal(store disk.Store, c *hemera.Capability, t hemera.Target) (p *Local, stat *hemera.PieceStat, err error) {
	p = &Local{node: n, cap: c, target: t, store: store, id: ID(c, t.Index), found: true}
	if r, err := store.Open(p.id); err == nil {
		sealed := r.Stat()
		_ = r.Close()
		p.ended.Store(true)
		p.leave = n.own(c, t)
		return p, &sealed, nil
	} else if errs.KindOf(err) != errs.NotFound {
		return nil, nil, err
	}
	w, err := disk.Resume(store, p.id, CreateOptions(c, t.Index))
	if err != nil {
		return nil, nil, err
	}
	p.Writer, p.leave = w, n.own(c, t)
	return p, nil, nil
}

// PutLocal makes a piece from its whole content, and seals it, in one call that leaves nothing behind when it fails.
func (n *Node) PutLocal(c *hemera.Capability, t hemera.Target, content disk.Content, info hemera.SealInfo) (*Local, error) {
	store, err := n.Store(t)
	if err != nil {
		return nil, err
	}
	made := &Local{store: store, id: ID(c, t.Index), leave: n.own(c, t)}
	// Put removes what it began when it fails, so there is no writer to abort.
	made.ended.Store(true)
	stat, err := disk.Put(store, made.id, CreateOptions(c, t.Index), content, info)
	if err != nil {
		made.Release()
		return nil, err
	}
	if err := CheckSealed(stat, info); err != nil {
		made.Abort()
		return nil, err
	}
	return made, nil
}

// NewLocal returns a piece that a caller has begun on a disk, and keeps from no client.
func NewLocal(w disk.Writer, store disk.Store, id hemera.PieceID) *Local {
	return &Local{Writer: w, store: store, id: id, leave: func() {}}
}

// own keeps clients from a piece on a disk of this node, until the result is called.
func (n *Node) own(c *hemera.Capability, t hemera.Target) (leave func()) {
	if n.Own == nil { // no client has a way to it
		return func() {}
	}
	return n.Own(c, t)
}

// CreateOptions returns how a disk begins the piece with the index. The size hint lets it refuse at once what has no
// room, and reserve the space.
func CreateOptions(c *hemera.Capability, index uint8) disk.CreateOptions {
	// Nothing is reserved for an update of what may have holes.
	return disk.CreateOptions{Path: c.Path, Owner: c.Owner, Layout: c.Layout, SizeHint: layout.PieceSize(c.Layout, c.Size, index), Sparse: c.Base != nil}
}

// BaseOf returns the content that the capability's update begins from, and where the target's disk has its piece; false if
// it has none. Copies are alike, whatever their numbers.
func BaseOf(c *hemera.Capability, t hemera.Target) (base hemera.Capability, at hemera.Target, ok bool) {
	if c.Base == nil {
		return base, at, false
	}
	base = *c
	base.Gen, base.Size, base.Targets = c.Base.Gen, c.Base.Size, c.Base.Pieces
	for _, at := range c.Base.Pieces {
		if at.Disk == t.Disk && (at.Index == t.Index || !c.Layout.Coded()) {
			return base, at, true
		}
	}
	return base, at, false
}

// CloneBase has a pending piece at a target of this node begin as the first size bytes of the base's piece there.
func (n *Node) CloneBase(c *hemera.Capability, t hemera.Target, w disk.Writer, size int64) error {
	base, at, ok := BaseOf(c, t)
	if !ok {
		return errs.New(errs.NotFound, "transfer.ClonePiece", Subject(c), "the base has no such piece on this disk")
	}
	// As any reader would, it compares the footer with what was committed.
	r, err := n.OpenSealed(&base, at)
	if err != nil {
		n.Found(at, ID(&base, at.Index), err)
		return err
	}
	_ = r.Close()
	return disk.Clone(w, ID(&base, at.Index), size)
}
