package sim

import (
	"context"
	"slices"
	"syscall"
	"time"

	"hemera"
	"hemera/core/namespace"
	"hemera/platform/tape/emulated"
	"hemera/platform/vfs"
	"hemera/test/sim/simtape"
)

// strikeTapes is the life of a nemesis of the tape server, its library, and the disks that are its buffer.
func (n *nemesis) strikeTapes(ctx context.Context) {
	strikes := 9
	if n.w.plan.sabotage == ForgetFlushes {
		strikes = 2
	}
	switch n.rng.IntN(strikes) {
	case 0, 1:
		n.restartTapes(ctx, n.rng.IntN(2) == 0 || n.w.plan.sabotage == ForgetFlushes)
	case 2, 3:
		n.burnTapes(ctx)
	case 4, 5:
		p := simtape.Faults(n.rng)
		n.did("the library has faults: %+v", p.Faults)
		n.setFaults(p)
		n.pause(ctx, 20*time.Second)
		n.setFaults(emulated.Plan{})
		n.did("the library is well again")
	case 6:
		n.partition(ctx, n.w.tapes)
	case 7:
		n.fill(ctx)
	case 8:
		n.putDown(ctx)
	}
}

// restartTapes ends the tape server, with the power of its drives or without, and starts it again later.
func (n *nemesis) restartTapes(ctx context.Context, power bool) {
	n.did("kills the tape server (power cut: %t)", power)
	n.w.tapes.kill(power, n.rng)
	n.pause(ctx, 10*time.Second)
	n.reviveNode(n.w.tapes)
}

// burnTapes has the tape server die at one of its next calls to the manager: around a report or the commit that it is for.
func (n *nemesis) burnTapes(ctx context.Context) {
	calls := 1 + n.rng.Int64N(12)
	n.did("the tape server dies at its %d. call", calls)
	wait, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	select {
	case <-n.w.tapes.library.fuse.Light(calls):
	case <-wait.Done():
	}
	n.w.tapes.library.fuse.PutOut()
	n.restartTapes(ctx, n.rng.IntN(2) == 0)
}

// setFaults replaces what goes wrong in the library, in this life of the tape server and in later ones.
func (n *nemesis) setFaults(p emulated.Plan) {
	n.w.tapes.library.faults.Store(&p)
	if life := n.w.tapes.life.Load(); life != nil {
		if err := life.tape.SetFaults(p); err != nil {
			n.w.fail("a plan of faults is refused: %v", err)
		}
	}
}

// fill has no disk take anything for a while: the buffer of the recalls is full.
func (n *nemesis) fill(ctx context.Context) {
	n.did("all disks are full")
	n.w.eachDrive(func(d *drive) {
		d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpWrite}, Pattern: "*.*", Err: syscall.ENOSPC})
		d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpSpace}, Space: &vfs.Space{Total: 1 << 40}})
	})
	n.pause(ctx, 15*time.Second)
	n.w.eachDrive(func(d *drive) { d.faulty.Heal() })
	n.did("disks have room again")
}

// putDown has an admin take a drive or a tape out of use for a while.
func (n *nemesis) putDown(ctx context.Context) {
	down := hemera.TapeChange{Object: "drive", Verb: "set", Name: "all", Values: map[string]string{"desired": "down", "reason": "a look at it"}}
	up := hemera.TapeChange{Object: "drive", Verb: "set", Name: "all", Values: map[string]string{"desired": "up"}}
	if n.rng.IntN(2) == 0 {
		vid := simtape.VID(n.rng.IntN(4))
		down = hemera.TapeChange{Object: "tape", Verb: "set", Name: vid, Values: map[string]string{"state": "disabled", "stateReason": "a look at it"}}
		up = hemera.TapeChange{Object: "tape", Verb: "set", Name: vid, Values: map[string]string{"state": "active"}}
	}
	for _, c := range []hemera.TapeChange{down, up} {
		if h := n.w.head.Load(); h != nil {
			n.did("%s %s: %v, %v", c.Object, c.Name, c.Values, h.ChangeTape(ctx, "sim", c))
		}
		n.pause(ctx, 15*time.Second)
	}
}

// healTapes ends all faults of the tape server.
func (n *nemesis) healTapes() {
	if n.w.tapes == nil {
		return
	}
	n.w.tapes.library.fuse.PutOut()
	n.setFaults(emulated.Plan{})
}

// watchTapes looks at every file once: none may be on tape only that does not have all its copies there.
func (n *nemesis) watchTapes(ctx context.Context) {
	files, _, _ := n.w.tree(ctx)
	for path, e := range files {
		n.w.checkEvicted(path, &e)
	}
}

// checkEvicted holds that a file on tape only has as many copies there as its class asks for, each on a tape of its own.
func (w *world) checkEvicted(path string, e *hemera.Entry) {
	tapes := map[string]bool{}
	for _, c := range e.Tape {
		tapes[c.VID] = true
	}
	if gone := e.Size > 0 && len(e.Pieces) == 0; gone && len(tapes) != copiesOf(e.StorageClass()) {
		w.fail("%s, fxid %s gen %d, has no disk copy, and of its class %q only the copies %+v", path, e.ID.Hex(), e.Gen, e.StorageClass(), e.Tape)
	}
}

// careless is a namespace that evicts whatever has one copy on tape (EvictTooEarly).
type careless struct{ namespace.PieceIndex }

// Evict asks nobody.
func (c careless) Evict(ctx context.Context, id hemera.FileID, _ func(*hemera.Entry) error) (int64, error) {
	return c.PieceIndex.Evict(ctx, id, func(*hemera.Entry) error { return nil })
}

// missing lists the numbers of the copies that a file lacks on tape.
func missing(e *hemera.Entry) (numbers []uint8) {
	for n := range uint8(copiesOf(e.StorageClass())) {
		if !slices.ContainsFunc(e.Tape, func(c hemera.TapeCopy) bool { return c.Number == n+1 }) {
			numbers = append(numbers, n+1)
		}
	}
	return numbers
}

// eachDrive does something with all drives.
func (w *world) eachDrive(do func(d *drive)) {
	for _, m := range w.machines {
		for _, d := range m.drives {
			do(d)
		}
	}
}
