package transfer

import (
	"context"
	"sync"
	"time"

	"hemera"
	"hemera/core/disk"
	"hemera/errs"
)

// diskPatience is how long a write waits for one call to a disk of its own node. Making things
// durable may take twice as long.
const diskPatience = 30 * time.Second

// staller is a disk that can be told that it hangs, and tells; it is failing until the call returns.
type staller interface {
	Stalled() (over func())
	Hangs() bool
}

func hangs(store disk.Store) bool {
	s, ok := store.(staller)
	return ok && s.Hangs()
}

// diskCall is one call to a disk, in a goroutine of its own, because a device may never answer.
type diskCall struct {
	store disk.Store
	disk  hemera.DiskID
	done  chan struct{}
	err   error // once done
}

func startCall(t hemera.Target, store disk.Store, call func() error) *diskCall {
	c := &diskCall{store: store, disk: t.Disk, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		growStack()
		c.err = call()
	}()
	return c
}

// growStack gives a new goroutine the stack that a call to a disk takes. While nothing is on it that is
// cheap; later every frame has to be moved, which took as long as a system call.
//
//go:noinline
func growStack() {
	var room [5 << 10]byte
	stackRoom(room[:0])
}

//go:noinline
func stackRoom([]byte) {}

// wait returns what the call returned, or after the patience that it hangs, and Timeout. Then it
// keeps its goroutine, and late runs behind it. Until then it may still read what it was given: late
// must remove what becomes of that.
func (c *diskCall) wait(patience time.Duration, late func()) (hung bool, err error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c.done:
		return false, c.err
	case <-timer.C:
	}
	over := func() {}
	if s, ok := c.store.(staller); ok {
		over = s.Stalled()
	}
	go func() {
		<-c.done
		late()
		over()
	}()
	return true, notAnswered(errs.Timeout, c.disk, patience)
}

func notAnswered(kind errs.Kind, d hemera.DiskID, patience time.Duration) error {
	return errs.New(kind, "transfer.Disk", d.String(), "the disk has not answered for "+patience.String()).
		WithRemedy("`hemera fs ls` shows which disks are ill; the kernel's log may say why")
}

// localPiece is a piece on a disk of this node as the head of a write sees it. A disk that hangs is
// given up as a silent peer is: later calls fail at once, and the piece is removed when the call that
// hangs returns.
type localPiece struct {
	*diskPiece
	host   *Host
	target hemera.Target

	mu   sync.Mutex
	hung error // of the first call that did not return in time
}

var _ PeerWriter = (*localPiece)(nil)

// createLocal begins a piece on a disk of this node.
func (h *Host) createLocal(c *hemera.Capability, t hemera.Target) (*piece, error) {
	store, err := h.store(t)
	if err != nil {
		return nil, err
	}
	made := &diskPiece{store: store, id: pieceID(c, t.Index)}
	o := createOptions(c)
	_, err = startCall(t, store, func() (err error) {
		made.Writer, err = store.Create(made.id, o)
		return err
	}).wait(diskPatience, func() {
		if made.Writer != nil {
			made.Abort()
		}
	})
	if err != nil {
		return nil, err
	}
	p := &localPiece{diskPiece: made, host: h, target: t}
	return &piece{target: t, local: p, out: p}, nil
}

// failed is why the piece takes no calls any more.
func (p *localPiece) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hung
}

// start begins a call to the piece's disk, to be waited for with finish.
func (p *localPiece) start(call func() error) *diskCall { return startCall(p.target, p.store, call) }

func (p *localPiece) finish(c *diskCall, patience time.Duration) error {
	hung, err := c.wait(patience, p.diskPiece.Abort)
	if hung {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.hung == nil {
			p.hung = err
		}
	}
	return err
}

func (p *localPiece) within(patience time.Duration, call func() error) error {
	if err := p.failed(); err != nil {
		return err
	}
	return p.finish(p.start(call), patience)
}

// WritePages implements PeerWriter.
func (p *localPiece) WritePages(b []byte, sums []uint32, off int64) error {
	return p.within(diskPatience, func() error { return p.diskPiece.WritePages(b, sums, off) })
}

// ReadPages reads back what was written.
func (p *localPiece) ReadPages(b []byte, sums []uint32, off int64) (int, error) {
	var n int
	err := p.within(diskPatience, func() (err error) {
		n, err = p.diskPiece.ReadPages(b, sums, off)
		return err
	})
	if p.failed() != nil { // n is not ours to look at
		return 0, err
	}
	return n, err
}

// Truncate implements PeerWriter.
func (p *localPiece) Truncate(size int64) error {
	return p.within(diskPatience, func() error { return p.diskPiece.Truncate(size) })
}

// Sync implements PeerWriter.
func (p *localPiece) Sync(ctx context.Context) error {
	return p.within(2*diskPatience, func() error { return p.diskPiece.Sync(ctx) })
}

// Seal implements PeerWriter.
func (p *localPiece) Seal(ctx context.Context, s hemera.SealInfo) error {
	return p.within(2*diskPatience, func() error { return p.diskPiece.Seal(ctx, s) })
}

// Abort implements PeerWriter.
func (p *localPiece) Abort() {
	_ = p.within(diskPatience, func() error {
		p.diskPiece.Abort()
		return nil
	})
}
