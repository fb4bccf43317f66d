package sim

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"hemera/platform/kv/archive"
	"hemera/test/sim/simbackup"
	"hemera/test/sim/simkv"
	"hemera/test/sim/simnet"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// keeper holds what is needed to put the manager's store back. Only the nemesis's centre writes older, again and ruled.
type keeper struct {
	older *simkv.Image          // of the device, some time ago
	stale atomic.Pointer[stale] // nil while the right manager is at work
	again bool                  // the store was made again from a backup
	ruled bool                  // a manager over an older store was at work: it may have moved pieces that the right one does not know of
	// moving counts renames of directories, which the oracle follows one by one: none is under way while
	// managers are exchanged.
	moving, still atomic.Int64
}

// stale is a life of the manager over an older copy of its store.
type stale struct {
	since uint64                 // number of the last change in the copy
	mark  atomic.Pointer[[]byte] // what the marks of this life begin with
	shown atomic.Bool            // some node showed that it has seen more
}

// markLife is the number of bytes of a mark that name the life of the manager that gave it; eight with the number of a
// change follow (see cluster/seen.go).
const markLife = 8

// registered sees how a node registered: one that has seen changes which the manager's store lacks must be refused.
// Its result is a failure only if the node showed its mark: a node that has seen nothing newer may join.
func (w *world) registered(hello *hemera.NodeHello, welcome *hemera.NodeWelcome, err error) {
	s := w.keeper.stale.Load()
	if s == nil || err != nil && errs.KindOf(err) != errs.Corrupt {
		return
	}
	// The first answer tells what marks of this life look like. A node that shows such a mark has seen no other life.
	if err == nil && s.mark.Load() == nil && len(welcome.Seen) > markLife {
		life := bytes.Clone(welcome.Seen[:markLife])
		s.mark.Store(&life)
	}
	life, newer := s.mark.Load(), false
	for mark := range slices.Chunk(hello.Seen, hemera.SeenMarkBytes) {
		// A number up to that of the copy proves nothing newer.
		newer = newer || (life == nil || !bytes.HasPrefix(mark, *life)) && binary.BigEndian.Uint64(mark[markLife:]) > s.since
	}
	if !newer {
		return
	}
	s.shown.Store(true)
	if err == nil {
		w.fail("node %d showed a manager with an older store that it has seen more, and was welcome", hello.ID)
	}
}

// copyStore keeps a copy of the store as it is now.
// While the manager runs: the copy is of one instant, as a snapshot of a volume is.
func (w *world) copyStore() {
	older := w.device.Copy()
	w.keeper.older = &older
	w.trace.Add("nemesis", "copies the manager's store at change %d", older.Seq)
}

// goBack puts the manager's store back to an older copy, as if its volume had been restored, and the right one
// back when that was noticed, or some time later. Each node has seen more, and would say so after a start too: what
// one does for a manager that it cannot tell from the right one nobody can mend.
func (n *nemesis) goBack(ctx context.Context) {
	w := n.w
	if w.keeper.older == nil || n.rng.IntN(4) == 0 {
		w.copyStore()
	}
	for _, m := range w.machines {
		// A node that has seen too little would serve the older manager without a complaint.
		if m.seen() <= w.keeper.older.Seq {
			return
		}
	}
	w.keeper.still.Add(1)
	defer w.keeper.still.Add(-1)
	// A rename under way could happen at the older manager, and be unknown to the right one.
	for w.keeper.moving.Load() > 0 {
		if simnet.Rest(ctx, 10*time.Millisecond); ctx.Err() != nil {
			return
		}
	}
	n.exchange(ctx)
}

// exchange runs a manager over the older copy for a while.
// Clients work on. What they do meanwhile is marked as a fork.
func (n *nemesis) exchange(ctx context.Context) {
	w := n.w
	w.killManager()
	w.oracle.Forked()
	right := w.device.Copy() // with all that was acknowledged
	w.device.PutBack(*w.keeper.older)
	n.did("puts the manager's store of change %d back to that of %d", right.Seq, w.keeper.older.Seq)
	s := &stale{since: w.keeper.older.Seq}
	w.keeper.stale.Store(s)
	w.keeper.ruled = true
	n.reviveManager()
	h := w.head.Load()
	wait, cancel := context.WithTimeout(ctx, time.Duration(1+n.rng.IntN(20))*time.Second)
	select {
	// It ended by itself, as it must when a node has shown more.
	case <-h.done:
	case <-wait.Done():
	}
	cancel()
	if s.shown.Load() {
		// The refusal is asynchronous: a second is enough for it.
		simnet.Rest(context.WithoutCancel(ctx), time.Second)
		if errs.KindOf(h.refuses()) != errs.Corrupt {
			w.fail("a manager with an older store goes on, though a node has seen more: %v", h.refuses())
		}
	}
	w.killManager()
	told := w.told(s)
	w.keeper.stale.Store(nil)
	w.device.PutBack(right)
	n.did("puts the right store back")
	// A restore forgets what nodes have seen; they must then accept the store. There is no other way where a node was told of a change
	// by the older manager: the right store does not have it, and is refused.
	if n.rng.IntN(3) == 0 || told {
		n.did("backs it up and restores it")
		if err := w.restore(context.WithoutCancel(ctx)); err != nil {
			w.fail("the right store cannot be restored: %v", err)
		}
		w.keeper.again, w.keeper.older = true, nil
	}
	w.oracle.Joined()
	n.reviveManager()
}

// told reports whether a node has a mark of the life over the older store. None was to be welcome in it, but a registration that was
// sent long before may come twice, and the second time there.
func (w *world) told(s *stale) bool {
	life := s.mark.Load()
	if life == nil {
		return false
	}
	simnet.Rest(context.Background(), 10*time.Millisecond) // answers that arrived are in the files
	return slices.ContainsFunc(w.machines, func(m *machine) bool {
		return slices.ContainsFunc(m.marks(), func(mark []byte) bool { return bytes.HasPrefix(mark, *life) })
	})
}

// seen returns the number of the change that the node has made durable to have seen.
// It reads the node's own file, so that the number holds also while the node is off.
func (m *machine) seen() uint64 {
	newest := uint64(0)
	for _, mark := range m.marks() {
		newest = max(newest, binary.BigEndian.Uint64(mark[markLife:]))
	}
	return newest
}

// marks returns the marks in the node's own file, if any.
func (m *machine) marks() [][]byte {
	marks, err := os.ReadFile(filepath.Join(m.state, "manager.seen"))
	if err != nil {
		return nil
	}
	return slices.Collect(slices.Chunk(marks, hemera.SeenMarkBytes))
}

// restore makes the store again from a backup of what it holds.
// It does what the admin's command does, without the file.
func (w *world) restore(ctx context.Context) error {
	now := time.Now().Add(managerSkewMax) // later than any manager's, as the command asks for
	was := w.device.Copy()
	var out bytes.Buffer
	if _, err := archive.Write(ctx, &out, was.Pairs, archive.Header{Taken: now}); err != nil {
		return err
	}
	store, err := simbackup.Restored(ctx, &out, now, now.Add(time.Second))
	if err != nil {
		return err
	}
	pairs, err := store.Snapshot(ctx)
	if err != nil {
		return err
	}
	// The numbers go on, so that one tells which copy is the older; what nodes have seen of the store before proves nothing.
	w.device.PutBack(simkv.Image{Pairs: pairs, Seq: was.Seq + 1<<20, Epoch: max(was.Epoch, uint64(now.Unix()))})
	return nil
}
