package sim

import (
	"context"
	"math/rand/v2"
	"syscall"
	"time"

	"hemera/platform/vfs"
	"hemera/test/sim/simnet"
	"hemera/words/adminapi"
)

// nemesis does harm while clients work; some of it lasts.
// Each actor has a nemesis of its own with its own dice, so what one does changes nothing for the others.
type nemesis struct {
	w   *world
	rng *rand.Rand
}

// did adds a line to the trace.
func (n *nemesis) did(format string, args ...any) { n.w.trace.Add("nemesis", format, args...) }

// pause waits for a random time, at most so long.
func (n *nemesis) pause(ctx context.Context, most time.Duration) {
	simnet.Rest(ctx, time.Duration(n.rng.Int64N(int64(most))))
}

// centre runs the life of a nemesis of the manager. Two in five are partitions, or in eight where the store may go back.
func (n *nemesis) centre(ctx context.Context) {
	strikes := 5
	if n.w.plan.stale {
		strikes = 8
	}
	switch n.rng.IntN(strikes) {
	case 0:
		n.restartManager(ctx)
	case 1:
		n.burnManager(ctx)
	case 2:
		n.drain(ctx)
	case 3, 4:
		n.partition(ctx, n.w.machines[n.rng.IntN(len(n.w.machines))])
	default:
		n.goBack(ctx)
	}
}

// admin does what an admin may do at any time, which harms nobody.
// It takes backups and sets quotas: one in four, and the rest.
func (n *nemesis) admin(ctx context.Context) {
	if n.rng.IntN(4) == 0 {
		n.backup(ctx)
		return
	}
	n.quotas(ctx)
}

// edge runs the life of a nemesis of nodes and disks. Only some faults end by themselves: heal ends the others.
func (n *nemesis) edge(ctx context.Context) {
	m := n.w.machines[n.rng.IntN(len(n.w.machines))]
	d := m.drives[n.rng.IntN(len(m.drives))]
	switch n.rng.IntN(8) {
	case 0, 1:
		n.restartNode(ctx, m, n.rng.IntN(2) == 0)
	case 2:
		n.sicken(ctx, d)
	case 3:
		// Up to two seconds for a call, until heal.
		n.did("%s %s is slow", m.host, d.path)
		d.slow.Store(int64(time.Duration(1+n.rng.IntN(2000)) * time.Millisecond))
	case 4:
		// Ten minutes to each side at most.
		skew := time.Duration(n.rng.Int64N(int64(20*time.Minute))) - 10*time.Minute
		n.did("the clock of %s is off by %s", m.host, skew)
		m.skew.Store(int64(skew))
	case 5, 6:
		n.torture(ctx)
	case 7:
		n.hang(ctx, d)
	}
}

// managerSkewMax bounds the error of the manager's clock.
const managerSkewMax = 5 * time.Minute

// restartManager kills the manager, and starts it again with another clock.
func (n *nemesis) restartManager(ctx context.Context) {
	// What nobody waited for may be lost with it, and nothing else.
	n.did("kills the manager")
	n.w.killManager()
	n.pause(ctx, 10*time.Second)
	// Time may go back between two lives.
	n.w.managerSkew.Store(n.rng.Int64N(int64(2*managerSkewMax)) - int64(managerSkewMax))
	n.reviveManager()
}

// drain has a disk emptied, for a while.
// It is given back before the judge comes, or useAll does so.
func (n *nemesis) drain(ctx context.Context) {
	if n.w.plan.turns() {
		return // the drainer does
	}
	// The centre is the only actor that ends the manager, so there is one.
	disks := n.w.head.Load().Cluster.View().Disks
	id := disks[n.rng.IntN(len(disks))].ID
	err := n.w.head.Load().Admin.SetDisk(ctx, id, "configstatus", "drain")
	n.did("drains disk %d: %v", id, err)
	n.pause(ctx, 30*time.Second)
	err = n.w.head.Load().Admin.SetDisk(context.WithoutCancel(ctx), id, "configstatus", "rw")
	n.did("disk %d is to be used again: %v", id, err)
}

// reviveManager starts the manager again after it was killed.
func (n *nemesis) reviveManager() {
	for range 10 {
		err := n.w.startManager(n.rng)
		n.did("starts the manager: %v", err)
		if err == nil {
			return
		}
	}
	n.w.fail("the manager does not start again")
}

// burnManager has the manager die in the middle of a change or a wait for the disk.
// A kill at a random instant nearly always finds the manager idle. The fuse finds each point of a commit.
func (n *nemesis) burnManager(ctx context.Context) {
	h := n.w.head.Load()
	if h == nil {
		return
	}
	fuse := 1 + n.rng.IntN(20) // changes and waits
	n.did("the manager's store dies after %d more calls", fuse)
	h.store.Light(fuse)
	wait, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	select {
	case <-h.store.Died():
	case <-wait.Done():
	}
	n.w.killManager()
	n.pause(ctx, 3*time.Second)
	n.reviveManager()
}

// restartNode ends a node, by a power cut or a kill, and starts it again later.
func (n *nemesis) restartNode(ctx context.Context, m *machine, power bool) {
	n.did("kills %s (power cut: %t)", m.host, power)
	m.kill(power, n.rng)
	most := 10 * time.Second
	// Some nodes stay away until repairs have begun, and come back to find their pieces replaced.
	if n.rng.IntN(4) == 0 {
		most = 3 * lostAfter
	}
	n.pause(ctx, most)
	n.reviveNode(m)
}

// reviveNode starts a node's process.
// It is a failure if that is not possible: all faults of its disks are such that a node starts.
func (n *nemesis) reviveNode(m *machine) {
	err := m.start()
	n.did("starts %s: %v", m.host, err)
	if err != nil {
		n.w.fail("%s does not start again: %v", m.host, err)
	}
}

// partition cuts a machine off from all, or from the manager, or from another machine, or lets nothing
// through in one direction: what the machine asks for is done, and it never hears of it.
// Cuts in one direction are the worst: the sender sees no error, and the receiver has done the work.
func (n *nemesis) partition(ctx context.Context, m *machine) {
	// It may be the machine itself: then two of the cuts below are none.
	other := n.w.machines[n.rng.IntN(len(n.w.machines))]
	cut := func(bool) {}
	switch n.rng.IntN(5) {
	case 0:
		n.did("cuts %s off", m.host)
		cut = func(on bool) { n.w.net.Isolate(m.host, on) }
	case 1:
		n.did("separates %s and the manager", m.host)
		cut = func(on bool) { n.w.net.Separate(m.host, managerHost, on) }
	case 2:
		n.did("separates %s and %s", m.host, other.host)
		cut = func(on bool) { n.w.net.Separate(m.host, other.host, on) }
	case 3:
		n.did("nothing from the manager gets to %s", m.host)
		cut = func(on bool) { n.w.net.Deafen(m.host, managerHost, on) }
	case 4:
		n.did("nothing from %s gets to %s", other.host, m.host)
		cut = func(on bool) { n.w.net.Deafen(m.host, other.host, on) }
	}
	// The context may end during the pause; the cut ends all the same.
	cut(true)
	n.pause(ctx, 15*time.Second)
	cut(false)
	n.did("joins them again")
}

// hang has a drive stall longer than callers wait for it. Calls that began go on when it answers again.
func (n *nemesis) hang(ctx context.Context, d *drive) {
	n.did("%s hangs", d.path)
	gate := make(chan struct{})
	d.hung.Store(&gate)
	n.pause(ctx, 90*time.Second)
	// First new calls, then those that wait: none can come in between and wait for a closed gate.
	d.hung.Store(nil)
	close(gate)
	n.did("%s answers again", d.path)
}

// sicken has a drive refuse for a while, without losing what it has.
func (n *nemesis) sicken(ctx context.Context, d *drive) {
	switch n.rng.IntN(4) {
	case 0:
		n.did("%s is full", d.path)
		// Short: some writes are cut off in the middle.
		d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpWrite}, Pattern: "*.*", Err: syscall.ENOSPC, Short: n.rng.IntN(2) == 0})
		d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpSpace}, Space: &vfs.Space{Total: 1 << 40}})
	case 1:
		// As a file system that the kernel remounts after an error.
		n.did("%s is read-only", d.path)
		d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpWrite, vfs.OpRename, vfs.OpRemove, vfs.OpMkdir, vfs.OpTruncate}, Err: syscall.EROFS})
		d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpSpace}, Space: &vfs.Space{Total: 1 << 40, Free: 1 << 39, ReadOnly: true}})
	case 2:
		// Twenty single faults, each somewhere among the next hundred changes.
		n.did("%s fails now and then", d.path)
		for range 20 {
			d.faulty.Inject(vfs.Fault{Ops: vfs.Changes(), Skip: n.rng.IntN(100), Count: 1, Err: syscall.EIO})
		}
	case 3:
		// Every call, reads too: the drive is there, and is of no use.
		n.did("%s fails", d.path)
		d.faulty.Inject(vfs.Fault{Err: syscall.EIO})
	}
	n.pause(ctx, 20*time.Second)
	// The text is for the trace; faults of other actors on the drive end too.
	n.did("%s is well again", d.path)
	d.faulty.Heal()
}

// torture has a drive that may lose data lose some.
func (n *nemesis) torture(ctx context.Context) {
	if !n.w.plan.cruel {
		return
	}
	at := n.w.plan.victims[0]
	if others := len(n.w.plan.victims); others > 1 {
		at = n.w.plan.victims[n.rng.IntN(others)]
	}
	m := n.w.machines[at[0]]
	d := m.drives[at[1]]
	switch n.rng.IntN(4) {
	case 0, 1:
		// What was rotten stays so until a read or a scrub finds it.
		n.did("flips bits in %d pieces of %s %s", d.rot(n.rng), m.host, d.path)
	case 2:
		n.did("%s %s lies about syncs until its power is cut", m.host, d.path)
		// A disk that ignores flushes: what it acknowledged is lost with the power.
		d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpSync, vfs.OpSyncDir}, Lie: true})
		n.pause(ctx, 10*time.Second)
		m.kill(true, n.rng)
		d.faulty.Heal()
		n.pause(ctx, 5*time.Second)
		n.reviveNode(m)
	case 3:
		n.did("takes %s %s away for good", m.host, d.path)
		d.remove()
		// Half of the time nobody tells the cluster, and repair must start by itself.
		if n.rng.IntN(2) == 0 {
			n.pause(ctx, lostAfter)
			n.giveUp(ctx, d)
		}
	}
}

// giveUp has an admin take a drive that is gone out of the cluster.
// The removal consents to losses. The checks find any that clients would notice.
func (n *nemesis) giveUp(ctx context.Context, d *drive) {
	h := n.w.head.Load()
	if h == nil {
		return
	}
	for _, one := range h.Cluster.View().Disks {
		if n.w.drive(one) == d {
			n.did("removes disk %d from the cluster: %v", one.ID, h.Admin.RemoveDisk(context.WithoutCancel(ctx), one.ID, adminapi.Removal{Force: true, Lose: true}))
		}
	}
}
