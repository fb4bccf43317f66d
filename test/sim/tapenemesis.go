package sim

import (
	"context"
	"syscall"
	"time"

	"hemera/namespace"
	"hemera/platform/vfs"
	"hemera/tape/device/emulated"
	"hemera/test/sim/simtape"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// tapeNemesis is the part of the nemesis that harms the tape server, its library, and the disks that are its buffer.
// It tells nobody: what happens must look to the manager like any accident.
type tapeNemesis struct{ nemesis *nemesis }

// strike runs the life of a nemesis of the tape server, its library, and the disks that are its buffer.
func (tn tapeNemesis) strike(ctx context.Context) {
	// One in nine for each line, and two for what ends a process or a device.
	strikes := 9
	if tn.nemesis.w.plan.sabotage == ForgetFlushes {
		strikes = 2
	}
	switch tn.nemesis.rng.IntN(strikes) {
	case 0, 1:
		tn.restart(ctx, tn.nemesis.rng.IntN(2) == 0 || tn.nemesis.w.plan.sabotage == ForgetFlushes)
	case 2, 3:
		tn.burn(ctx)
	case 4, 5:
		p := simtape.Faults(tn.nemesis.rng)
		tn.nemesis.did("the library has faults: %+v", p.Faults)
		tn.setFaults(p)
		tn.nemesis.pause(ctx, 20*time.Second)
		tn.setFaults(emulated.Plan{})
		tn.nemesis.did("the library is well again")
	case 6:
		tn.nemesis.partition(ctx, tn.nemesis.w.tapes)
	case 7:
		tn.fill(ctx)
	case 8:
		tn.putDown(ctx)
	}
}

// restart ends the tape server, with the power of its drives or without, and starts it again later.
// Its clock goes on, and its library stays as the process left it.
func (tn tapeNemesis) restart(ctx context.Context, power bool) {
	tn.nemesis.did("kills the tape server (power cut: %t)", power)
	// Without power, drives write what they have: the tape then has files that nobody was told of.
	tn.nemesis.w.tapes.kill(power, tn.nemesis.rng)
	tn.nemesis.pause(ctx, 10*time.Second)
	tn.nemesis.reviveNode(tn.nemesis.w.tapes)
}

// burn has the tape server die at one of its next calls to the manager: around a report or the commit that it is for.
// A death at a random instant finds it waiting for work nearly always.
func (tn tapeNemesis) burn(ctx context.Context) {
	// A session of some files makes about as many: any of its reports may be the last.
	calls := 1 + tn.nemesis.rng.Int64N(12)
	tn.nemesis.did("the tape server dies at its %d. call", calls)
	wait, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	select {
	case <-tn.nemesis.w.tapes.library.fuse.Light(calls):
	case <-wait.Done():
	}
	tn.nemesis.w.tapes.library.fuse.PutOut()
	// The process is dead by now, or was idle for too long: either way it is buried, and starts again.
	tn.restart(ctx, tn.nemesis.rng.IntN(2) == 0)
}

// setFaults replaces what goes wrong in the library, in this life of the tape server and in later ones.
// An empty plan ends all of it. Operations that have begun end as they began.
func (tn tapeNemesis) setFaults(p emulated.Plan) {
	// For the lives to come as well: a device does not get well with the process.
	tn.nemesis.w.tapes.library.faults.Store(&p)
	if life := tn.nemesis.w.tapes.life.Load(); life != nil {
		if err := life.tape.SetFaults(p); err != nil {
			tn.nemesis.w.fail("a plan of faults is refused: %v", err)
		}
	}
}

// fill has no disk take anything for a while: the buffer of the recalls is full.
// Clients are refused too, as nobody can tell recalls from other writes.
func (tn tapeNemesis) fill(ctx context.Context) {
	// Writes fail and the space says so, as on a real disk: recalls have to wait, and must lose nothing.
	tn.nemesis.did("all disks are full")
	tn.nemesis.w.eachDrive(func(d *drive) {
		d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpWrite}, Pattern: "*.*", Err: syscall.ENOSPC})
		d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpSpace}, Space: &vfs.Space{Total: 1 << 40}})
	})
	tn.nemesis.pause(ctx, 15*time.Second)
	tn.nemesis.w.eachDrive(func(d *drive) { d.faulty.Heal() })
	tn.nemesis.did("disks have room again")
}

// putDown has an admin take a drive or a tape out of use for a while.
// Whatever waits for it must wait, and go on later.
func (tn tapeNemesis) putDown(ctx context.Context) {
	// Drives go down with the manager's life, tapes for as long as the record says so.
	down := adminapi.TapeChange{Object: "drive", Verb: "set", Name: "all", Values: map[string]string{"desired": "down", "reason": "a look at it"}}
	up := adminapi.TapeChange{Object: "drive", Verb: "set", Name: "all", Values: map[string]string{"desired": "up"}}
	if tn.nemesis.rng.IntN(2) == 0 {
		vid := simtape.VID(tn.nemesis.rng.IntN(4))
		down = adminapi.TapeChange{Object: "tape", Verb: "set", Name: vid, Values: map[string]string{"state": "disabled", "stateReason": "a look at it"}}
		up = adminapi.TapeChange{Object: "tape", Verb: "set", Name: vid, Values: map[string]string{"state": "active"}}
	}
	// It is up again at the end, or the judge does it: an admin may be late.
	for _, c := range []adminapi.TapeChange{down, up} {
		if h := tn.nemesis.w.head.Load(); h != nil {
			tn.nemesis.did("%s %s: %v, %v", c.Object, c.Name, c.Values, h.Tape.ChangeTape(ctx, "sim", c))
		}
		tn.nemesis.pause(ctx, 15*time.Second)
	}
}

// healAll ends all faults of the tape server.
func (tn tapeNemesis) healAll() {
	if tn.nemesis.w.tapes == nil {
		return
	}
	// A fuse that is left would end the tape server before the judge.
	tn.nemesis.w.tapes.library.fuse.PutOut()
	tn.setFaults(emulated.Plan{})
}

// watch looks at every file once: none may be on tape only that does not have all its copies there.
// The picture is not of one moment, but what it says of a file is.
func (tn tapeNemesis) watch(ctx context.Context) {
	// Past the network, so that it sees what there is, and not what got through.
	files, _, _ := tn.nemesis.w.tree(ctx)
	checkReadBack(ctx, tn.nemesis.w, files)
	for path, e := range files {
		checkEvicted(tn.nemesis.w, path, &e)
	}
}

// checkReadBack holds that files on tape only were read back. The tapes are listed after the files: what was read back once stays so, unless
// the store goes back.
func checkReadBack(ctx context.Context, w *world, files map[string]hemera.Entry) {
	h := w.head.Load()
	if h == nil || w.plan.back || w.plan.reads == "never" {
		return
	}
	all, err := h.Tape.Tapes(ctx)
	if err != nil {
		return // of a manager that ends; the judge looks once more
	}
	first := map[hemera.VID]uint64{}
	for _, t := range all {
		first[t.VID] = t.UnreadFSeq
	}
	for path, e := range files {
		for _, c := range e.Tape {
			if since := first[c.VID]; e.Evicted() && since > 0 && c.FSeq >= since {
				w.fail("%s, fxid %s gen %d, has no disk copy, and file %d of tape %s was not read back", path, e.ID.Hex(), e.Gen, c.FSeq, c.VID)
			}
		}
	}
}

// checkEvicted holds that a file on tape only has as many copies there as its class asks for, each on a tape of its own.
func checkEvicted(w *world, path string, e *hemera.Entry) {
	if simtape.Bare(e) {
		w.fail("%s, fxid %s gen %d, has no disk copy, and of its class %q only the copies %+v", path, e.ID.Hex(), e.Gen, e.StorageClass(), e.Tape)
	}
}

// careless is a namespace that evicts whatever has one copy on tape (EvictTooEarly).
type careless struct{ namespace.PieceIndex }

// Evict asks nobody.
// What the namespace itself refuses stays refused: a file without any copy.
func (c careless) Evict(ctx context.Context, id hemera.FileID, _ func(*hemera.Entry) error) (int64, error) {
	return c.PieceIndex.Evict(ctx, id, func(*hemera.Entry) error { return nil })
}
