package sim

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/kv/archive"
	"hemera/manager"
)

// keeper is whoever starts and stops managers: one at a time does.
type keeper struct {
	turn  chan struct{}
	older *image // of the device, some time ago
	stale atomic.Pointer[stale]
	were  int  // managers that were started over an older copy
	anew  bool // the store was made anew from a backup
	// moving counts renames of directories, which the oracle follows one by one: none is under way while
	// managers are exchanged.
	moving, still atomic.Int64
}

// stale is a life of the manager over an older copy of its store.
type stale struct {
	manager *manager.Manager
	since   uint64 // number of the last change in the copy
	mark    atomic.Pointer[[]byte]
	shown   atomic.Bool // some node showed that it has seen more
}

// keep does something that starts or stops the manager.
func (w *world) keep(do func()) {
	w.keeper.turn <- struct{}{}
	defer func() { <-w.keeper.turn }()
	do()
}

// markLife is how many bytes of a mark name the life of the manager that gave it; eight with the number of a
// change follow (see cluster/seen.go).
const markLife = 8

// registered sees how a node registered: one that has seen changes which the manager's store lacks must be refused.
func (w *world) registered(m *manager.Manager, hello *hemera.NodeHello, welcome *hemera.NodeWelcome, err error) {
	s := w.keeper.stale.Load()
	if s == nil || s.manager != m || err != nil && errs.KindOf(err) != errs.Corrupt {
		return
	}
	if err == nil && s.mark.Load() == nil && len(welcome.Seen) > markLife {
		life := bytes.Clone(welcome.Seen[:markLife])
		s.mark.Store(&life)
	}
	if len(hello.Seen) < markLife+8 {
		return
	}
	life := s.mark.Load()
	if life != nil && bytes.HasPrefix(hello.Seen, *life) || binary.BigEndian.Uint64(hello.Seen[markLife:]) <= s.since {
		return
	}
	s.shown.Store(true)
	if err == nil {
		w.fail("node %d showed a manager with an older store that it has seen more, and was welcome", hello.ID)
	}
}

// unmarked is the hello of a node that does not show how far it saw the manager.
func unmarked(hello hemera.NodeHello) hemera.NodeHello {
	hello.Seen = nil
	return hello
}

// goBack puts the manager's store back to an older copy, as if its volume had been restored, and the right one
// back when that was noticed, or some time later.
func (n *nemesis) goBack(ctx context.Context) {
	w := n.w
	if w.keeper.older == nil || n.rng.IntN(3) == 0 {
		older := w.device.copy()
		w.keeper.older = &older
		n.did("copies the manager's store at change %d", older.seq)
		return
	}
	w.keeper.still.Add(1)
	defer w.keeper.still.Add(-1)
	for w.keeper.moving.Load() > 0 {
		rest(ctx, 10*time.Millisecond)
	}
	w.keep(func() { n.exchange(ctx) })
}

func (n *nemesis) exchange(ctx context.Context) {
	w := n.w
	w.killManager()
	w.oracle.forked()
	right := w.device.copy()
	w.device.putBack(*w.keeper.older)
	n.did("puts the manager's store of change %d back to that of %d", right.seq, w.keeper.older.seq)
	n.reviveManager()
	w.keeper.were++
	h := w.head.Load()
	s := &stale{manager: h.Manager, since: w.keeper.older.seq}
	w.keeper.stale.Store(s)
	wait, cancel := context.WithTimeout(ctx, time.Duration(1+n.rng.IntN(20))*time.Second)
	select {
	case <-h.done:
	case <-wait.Done():
	}
	cancel()
	if s.shown.Load() {
		rest(context.WithoutCancel(ctx), time.Second)
		if errs.KindOf(h.refuses()) != errs.Corrupt {
			w.fail("a manager with an older store goes on, though a node has seen more: %v", h.refuses())
		}
	}
	w.killManager()
	w.keeper.stale.Store(nil)
	w.device.putBack(right)
	n.did("puts the right store back")
	w.oracle.joined()
	n.reviveManager()
}

// operate has an operator look after the manager. One that refuses the right store, because nodes have seen the
// other, is helped by the command that its error names.
func (w *world) operate(ctx context.Context) {
	for ctx.Err() == nil {
		rest(ctx, time.Second)
		w.keep(func() { w.help(ctx) })
	}
}

func (w *world) help(ctx context.Context) {
	h := w.head.Load()
	if h == nil || h.refuses() == nil {
		return
	}
	if errs.KindOf(h.refuses()) != errs.Corrupt {
		w.fail("the manager ends by itself: %v", h.refuses())
	}
	if w.keeper.were == 0 {
		w.fail("the manager refuses its own store: %v", h.refuses())
	}
	w.killManager()
	w.trace.add("operator", "backs the store up and restores it: %v", w.restore(ctx))
	w.keeper.anew, w.keeper.older = true, nil
	if err := w.startManager(rand.New(rand.NewPCG(w.plan.seed, 11))); err != nil {
		w.fail("a restored manager does not start: %v", err)
	}
}

// restore makes the store anew from a backup of what it holds.
func (w *world) restore(ctx context.Context) error {
	now := time.Now().Add(managerSkewMax) // later than any manager's, as the command asks for
	was := w.device.copy()
	var out bytes.Buffer
	if _, err := archive.Write(ctx, &out, was.pairs, archive.Header{Taken: now}); err != nil {
		return err
	}
	store, err := restored(ctx, &out, now, now.Add(time.Second))
	if err != nil {
		return err
	}
	pairs, err := store.Snapshot(ctx)
	if err != nil {
		return err
	}
	w.device.putBack(image{pairs: pairs, seq: 1, epoch: max(was.epoch, uint64(now.Unix()))})
	return nil
}
