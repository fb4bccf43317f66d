package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/test/sim/simnet"
	"hemera/words/hemera"
)

// olderJudge is the part of the judge that puts back older copies of disks.
// A copy is made while the machine is off, as an image is.
type olderJudge struct {
	w     *world
	judge judge // the checks of the whole cluster
}

// olderClient is the number of the client that works before and after the copy, olderFiles how many files it has.
const (
	olderClient = 93
	olderFiles  = 8
)

// checkOlder has a drive hold what it held a while ago. The cluster must say so, unless the label has the same number; clients
// read all that they wrote, what the drive lacks is made again, and what was removed since goes from it.
func (j olderJudge) checkOlder(ctx context.Context) {
	// Disks keep pieces that a restored namespace may have forgotten, and nothing could be counted.
	if !j.w.plan.older || j.w.keeper.again {
		return
	}
	binJudge(j).lift(ctx)
	c, rng := newClient(j.w, olderClient), j.w.plan.random("older disk order")
	at, ok := j.choose(rng)
	if !ok {
		return
	}
	m := j.w.machines[at[0]]
	d := m.drives[at[1]]
	if !j.work(ctx, c, rng) {
		return
	}
	m.kill(false, rng)
	then, err := d.copied(j.w.plan.capacity(at[0], at[1]))
	if err != nil {
		j.w.fail("%s %s cannot be copied: %v", m.host, d.path, err)
		return
	}
	j.startAgain(m)
	for range 1 + rng.IntN(3) {
		simnet.Rest(ctx, time.Duration(rng.Int64N(int64(15*time.Minute))))
		if !j.work(ctx, c, rng) {
			return
		}
	}
	simnet.Rest(ctx, 30*time.Second) // the manager hears of the last change
	last := d.store.Load()
	was := last.Disk.Status().Changes
	m.kill(false, rng)
	d.memory, d.faulty = then, vfs.NewFaulty(then)
	j.startAgain(m)
	if !j.named(ctx, d, last, was) {
		return
	}
	j.judge.checkReads(ctx)
	j.judge.mended(ctx)
	if !j.judge.comes(ctx, 3*time.Hour, func() bool { return len(j.olderDisks()) == 0 }) {
		j.w.fail("disks %v are older copies for hours, and lack nothing", j.olderDisks())
	}
	simnet.Rest(ctx, j.w.plan.hold+3*time.Minute)
	j.judge.mended(ctx) // what was too young to judge
	j.judge.checkReads(ctx)
	j.judge.checkPieces(ctx)
	j.judge.checkParity(ctx)
	binJudge(j).emptyBins(ctx)
	j.judge.checkDrives(ctx)
	j.judge.checkTree(ctx)
}

// choose returns a drive, by machine and number, that is not gone.
func (j olderJudge) choose(rng *rand.Rand) (at [2]int, ok bool) {
	var all [][2]int
	for i, m := range j.w.machines {
		for k, d := range m.drives {
			if !d.gone.Load() {
				all = append(all, [2]int{i, k})
			}
		}
	}
	if len(all) == 0 {
		return at, false
	}
	return all[rng.IntN(len(all))], true
}

// work writes, replaces and removes files. It reports whether that went well.
func (j olderJudge) work(ctx context.Context, c *client, rng *rand.Rand) bool {
	for range olderFiles {
		path := fmt.Sprintf("%s/older%d", shared, rng.IntN(olderFiles))
		if rng.IntN(4) == 0 {
			c.remove(ctx, path)
		} else if !cutJudge(j).put(ctx, c, path) {
			return false
		}
	}
	return true
}

// startAgain starts a machine that is off.
func (j olderJudge) startAgain(m *machine) {
	if err := m.start(); err != nil {
		j.w.fail("%s does not start again: %v", m.host, err)
		return
	}
	<-m.life.Load().node.Joined()
}

// named waits for the drive, and reports whether it is there. A drive whose label has a lower number than it had must be known for an
// older copy from its first moment on. Another one is compared like each disk that was away: by mended here.
func (j olderJudge) named(ctx context.Context, d *drive, last *store, was uint64) bool {
	for range 1200 {
		opened := d.store.Load()
		h := j.w.head.Load()
		for _, known := range h.Cluster.View().Disks {
			if opened == last || j.w.drive(known) != d || !known.Active {
				continue
			}
			is := opened.Disk.Status().Changes
			older := h.Cluster.Surveys.Survey(known.ID).Older
			j.w.trace.Add("sim", "disk %d is an older copy, with %d changes of %d; known: %t", known.ID, is, was, older)
			if is < was && !older {
				j.w.fail("disk %d is an older copy of itself, with %d changes of %d, and is used like the disk", known.ID, is, was)
			}
			return true
		}
		simnet.Rest(ctx, 5*time.Millisecond)
	}
	j.w.fail("the disk of %s does not come back", d.path)
	return false
}

// olderDisks returns the disks that are known for older copies.
func (j olderJudge) olderDisks() (ids []hemera.DiskID) {
	for _, d := range j.w.head.Load().Cluster.View().Disks {
		if d.Health == hemera.HealthOlder {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// copied returns what the drive holds, as another one of the size.
func (d *drive) copied(size int64) (*vfs.Memory, error) {
	to := vfs.NewMemory(size, d.now)
	err := errors.Join(to.Mkdir(d.path), to.SyncDir("/"))
	top, e := d.memory.ReadDir(d.path)
	err = errors.Join(err, e)
	for _, name := range top {
		name = d.path + "/" + name
		in, e := d.memory.ReadDir(name)
		if e != nil { // a file, as the label
			err = errors.Join(err, copyFile(to, d.memory, name))
			continue
		}
		err = errors.Join(err, to.Mkdir(name))
		for _, file := range in {
			err = errors.Join(err, copyFile(to, d.memory, name+"/"+file))
		}
		err = errors.Join(err, to.SyncDir(name))
	}
	return to, errors.Join(err, to.SyncDir(d.path))
}

// copyFile copies a file under its name, durably but for the name.
func copyFile(to, from *vfs.Memory, name string) error {
	f, err := from.Open(name, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		return err
	}
	out, err := to.Open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = out.WriteAt(b, 0)
	return errors.Join(err, out.Sync(), out.Close())
}

// Status says what the disk says. A disk that trusts copies says the greatest number of changes that the drive ever had, so
// it never says that it is an older copy (TrustCopies).
func (s *store) Status() disk.Status {
	st := s.Disk.Status()
	if s.w.plan.sabotage != TrustCopies {
		return st
	}
	for {
		was := s.drive.changes.Load()
		if was >= st.Changes {
			st.Changes = was
			return st
		}
		if s.drive.changes.CompareAndSwap(was, st.Changes) {
			return st
		}
	}
}
