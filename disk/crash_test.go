package disk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// crashRun is a disk in memory on which a fixed piece of work is done until the power is cut.
type crashRun struct {
	t      *testing.T
	memory *vfs.Memory
	faulty *vfs.Faulty
	disk   *Disk
	clock  time.Time

	acked   map[hemera.PieceID][]byte // sealed with sync, acknowledged, not to be removed
	tried   map[hemera.PieceID][]byte // sealed with sync, not acknowledged
	loose   map[hemera.PieceID]bool   // sealed without sync
	removed map[hemera.PieceID]bool
	kept    map[hemera.PieceID]bool // what the footers say, where that was acknowledged
}

func newCrashRun(t *testing.T) *crashRun {
	r := &crashRun{t: t, clock: time.Unix(1e9, 0), acked: map[hemera.PieceID][]byte{}, tried: map[hemera.PieceID][]byte{},
		loose: map[hemera.PieceID]bool{}, removed: map[hemera.PieceID]bool{},
		kept: map[hemera.PieceID]bool{}}
	r.memory = vfs.NewMemory(0, func() time.Time { return r.clock })
	r.faulty = vfs.NewFaulty(r.memory)
	if err := r.memory.Mkdir("/d"); err != nil {
		t.Fatal(err)
	}
	if _, err := Format(r.faulty, "/d"); err != nil {
		t.Fatal(err)
	}
	r.open()
	return r
}

func (r *crashRun) open() {
	d, err := Open(r.faulty, "/d", Options{Now: func() time.Time { return r.clock }, PendingBlocks: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	r.disk = d
}

// seal writes data in two overlapping, unaligned parts and seals it.
func (r *crashRun) seal(id hemera.PieceID, data []byte, sync bool) {
	w, err := r.disk.Create(id, CreateOptions{Path: "/x"})
	if err != nil {
		return
	}
	third := len(data) / 3
	err = errors.Join(
		w.WritePages(data[third:], nil, int64(third)),
		w.WritePages(data[:2*third], nil, 0),
	)
	if err != nil {
		_ = w.Abort()
		return
	}
	if sync {
		r.tried[id] = data
	} else {
		r.loose[id] = true
	}
	if _, err := w.Seal(hemera.SealInfo{FileSize: int64(len(data)), Sync: sync}); err == nil && sync {
		r.acked[id] = data
	}
}

// clone seals a piece that begins as a copy of one with the data, and changes a page of it.
func (r *crashRun) clone(id, base hemera.PieceID, data []byte) {
	w, err := r.disk.Create(id, CreateOptions{Path: "/x", Sparse: true})
	if err != nil {
		return
	}
	copy(data[5000:], "changed")
	err = Clone(w, base, int64(len(data)))
	if err == nil {
		err = w.WritePages(data[5000:5007], nil, 5000)
	}
	if err != nil {
		_ = w.Abort()
		return
	}
	r.tried[id] = data
	if _, err := w.Seal(hemera.SealInfo{FileSize: int64(len(data)), Sync: true}); err == nil {
		r.acked[id] = data
	}
}

// put seals data that is made a piece at once.
func (r *crashRun) put(id hemera.PieceID, data []byte, sync bool) {
	if sync {
		r.tried[id] = data
	} else {
		r.loose[id] = true
	}
	if _, err := putPiece(r.disk, id, data, sync); err == nil && sync {
		r.acked[id] = data
	}
}

// mark has a footer say whether its piece is kept.
func (r *crashRun) mark(id hemera.PieceID, kept bool) {
	delete(r.kept, id)
	if r.disk.Mark(id, kept) == nil {
		r.kept[id] = kept
	}
}

// work makes the changes that the crash interrupts. Errors end nothing: a server continues with the next client.
func (r *crashRun) work(large bool) {
	r.seal(pieceID(1), randomBytes(1, 9000), true)
	r.seal(pieceID(2), randomBytes(2, 5000), false)
	r.seal(pieceID(10_001), randomBytes(3, 30_000), true)
	w, err := r.disk.Create(pieceID(4), CreateOptions{})
	if err == nil {
		if large { // enough for a side file
			_ = w.WritePages(randomBytes(4, 7000), nil, 5<<20)
		}
		_ = w.WritePages(randomBytes(4, 7000), nil, 0)
		_ = w.Sync()
		_ = w.Truncate(100)
		_ = leave(w)
	}
	r.clone(pieceID(8), pieceID(10_001), randomBytes(3, 30_000))
	delete(r.acked, pieceID(1))
	r.removed[pieceID(1)] = true
	_ = r.disk.Remove(pieceID(1))
	r.seal(pieceID(5), randomBytes(5, 4096), true)
	r.mark(pieceID(10_001), true)
	r.mark(pieceID(5), true)
	r.mark(pieceID(5), false)
	r.put(pieceID(7), randomBytes(7, 9000), true)
	r.put(pieceID(20_001), randomBytes(8, 5000), false)
	r.put(pieceID(20_002), randomBytes(9, 4096), true)
	if w, err := r.disk.Create(pieceID(6), CreateOptions{}); err == nil {
		_ = w.WritePages(randomBytes(6, 10), nil, 0)
		_ = w.Abort()
	}
}

// check looks at what is left after the power came back.
func (r *crashRun) check(when string) {
	t := r.t
	for id, data := range r.acked {
		rd, err := r.disk.Open(id)
		if err != nil {
			t.Fatalf("%s: acknowledged piece %s: %v", when, id, err)
		}
		checkRead(t, rd, data, 0, len(data))
		if kept, known := r.kept[id]; known && rd.Stat().Kept != kept {
			t.Errorf("%s: piece %s says that it is kept: %v", when, id, !kept)
		}
		_ = rd.Close()
	}
	sealed, err := r.disk.Scan(hemera.PieceID{}, 1000)
	if err != nil {
		t.Fatalf("%s: scan: %v", when, err)
	}
	for _, s := range sealed {
		if r.loose[s.ID] {
			continue // may have lost pages; reading would tell
		}
		data, ok := r.tried[s.ID]
		if !ok {
			t.Fatalf("%s: piece %s was never sealed", when, s.ID)
		}
		rd, err := r.disk.Open(s.ID)
		if err != nil {
			t.Fatalf("%s: scanned piece %s: %v", when, s.ID, err)
		}
		checkRead(t, rd, data, 0, len(data))
		_ = rd.Close()
	}
	r.clock = r.clock.Add(2 * hemera.UnsealedLifetime)
	if _, err := r.disk.Expire(hemera.UnsealedLifetime); err != nil {
		t.Fatalf("%s: expire: %v", when, err)
	}
	if names, err := r.memory.ReadDir("/d/" + pendingName); err != nil || len(names) > 0 {
		t.Errorf("%s: left in pending: %v, %v", when, names, err)
	}
	for id := range r.tried { // whatever happened, the piece can be made again
		if _, acked := r.acked[id]; !acked {
			_ = r.disk.Remove(id)
			r.seal(id, randomBytes(9, 100), true)
			if _, ok := r.acked[id]; !ok {
				t.Errorf("%s: piece %s cannot be made again", when, id)
			}
		}
	}
}

// The power is cut before every change and every sync of the work, and what was not synced is lost
// or kept by a seed.
func TestPowerCutAtEveryStep(t *testing.T) {
	whole := newCrashRun(t)
	before := whole.faulty.Calls(vfs.Changes()...)
	whole.work(true)
	steps := whole.faulty.Calls(vfs.Changes()...) - before
	if len(whole.acked) != 5 || len(whole.kept) != 2 || steps < 30 {
		t.Fatalf("the work has %d steps and acknowledges %d pieces", steps, len(whole.acked))
	}
	recovered := 0
	for step := range steps + 1 {
		for seed := range uint64(6) {
			r := newCrashRun(t)
			r.faulty.Inject(vfs.Fault{Ops: vfs.Changes(), Skip: step, Err: syscall.EIO})
			r.work(seed == 0)
			rng := rand.New(rand.NewPCG(seed, uint64(step)))
			keep := func() bool { return rng.IntN(3) < int(seed%4) } // from nothing to everything
			_ = r.disk.Close()
			r.memory.Crash(keep)
			r.faulty.Heal()
			if names, _ := r.memory.ReadDir("/d/" + pendingName); len(names) > 0 {
				recovered++
			}
			r.open()
			r.check(fmt.Sprintf("cut before step %d, seed %d", step, seed))
			_ = r.disk.Close()
		}
	}
	if recovered == 0 {
		t.Error("no cut left anything to recover: the test tests nothing")
	}
}

// kill -9 loses nothing that was written: what was sealed is there, the rest is pending. What was
// there once is there for good, even if the power is cut next.
func TestKillAtEveryStep(t *testing.T) {
	for step := range 80 {
		r := newCrashRun(t)
		r.faulty.Inject(vfs.Fault{Ops: vfs.Changes(), Skip: step, Err: syscall.EIO})
		r.work(false)
		_ = r.disk.Close()
		r.faulty.Heal()
		r.open()
		for _, id := range []hemera.PieceID{pieceID(5), pieceID(7), pieceID(10_001), pieceID(20_002)} {
			if rd, err := r.disk.Open(id); err == nil {
				r.acked[id] = r.tried[id]
				_ = rd.Close()
			}
		}
		_ = r.disk.Close()
		r.memory.Crash(nil)
		r.open()
		r.check(fmt.Sprintf("killed before step %d", step))
		_ = r.disk.Close()
	}
}

// A device that lies about syncs may lose pieces, but never hands out wrong bytes.
func TestLyingDevice(t *testing.T) {
	lost := 0
	for seed := range uint64(40) {
		r := newCrashRun(t)
		r.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpSync, vfs.OpSyncDir}, Lie: true})
		if err := r.memory.SyncDir("/d"); err != nil {
			t.Fatal(err)
		}
		data := randomBytes(seed, 20_000)
		r.seal(pieceID(1), data, true)
		_ = r.disk.Close()
		rng := rand.New(rand.NewPCG(seed, 1))
		r.memory.Crash(func() bool { return rng.IntN(4) > 0 })
		r.faulty.Heal()
		r.open()
		rd, err := r.disk.Open(pieceID(1))
		if err != nil {
			lost++
			if !errors.Is(err, errs.NotFound) && !errors.Is(err, errs.Corrupt) {
				t.Errorf("seed %d: %v", seed, err)
			}
			continue
		}
		p := make([]byte, len(data))
		n, err := rd.ReadPages(p, nil, 0)
		if err != nil {
			lost++
			if _, ok := BadPage(err); !ok {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
		if string(p[:n]) != string(data[:n]) {
			t.Errorf("seed %d: wrong bytes were read as good", seed)
		}
	}
	if lost == 0 {
		t.Error("nothing was ever lost: the test tests nothing")
	}
}

// TestUnreadablePendingPiece: a bad sector in one piece of those sealed last does not keep the disk out.
func TestUnreadablePendingPiece(t *testing.T) {
	r := newCrashRun(t)
	r.seal(pieceID(1), randomBytes(1, 9000), true)
	r.seal(pieceID(2), randomBytes(2, 9000), true)
	r.memory.Crash(nil)
	r.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpRead}, Pattern: pieceID(2).String(), Err: syscall.EIO})
	r.open()
	if _, err := r.disk.Open(pieceID(2)); !errors.Is(err, errs.NotFound) {
		t.Errorf("the piece that cannot be read: %v", err)
	}
	p, err := r.disk.Open(pieceID(1))
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Close()
	if s := r.disk.Status(); s.Load.IOErrors == 0 {
		t.Error("the error does not count")
	}
	r.faulty.Heal() // a cable: the next start finds the piece
	r.open()
	if p, err = r.disk.Open(pieceID(2)); err != nil {
		t.Fatal(err)
	}
	_ = p.Close()
}
