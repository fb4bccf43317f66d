package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"time"

	"hemera/disk"
	"hemera/node"
	"hemera/rules/capability"
	"hemera/test/sim/simnet"
	"hemera/test/sim/simtape"
	"hemera/words/hemera"
)

// machine is a host with drives, on which a node lives at most once at a time.
// The drives and the state survive the node's death; its clock goes on.
type machine struct {
	w      *world
	host   simnet.Host // its name on the network
	addr   string      // what targets and grants name it by
	zone   string      // empty in every plan
	state  string      // directory of node.json
	drives []*drive
	skew   atomic.Int64             // nanoseconds the clock is off
	life   atomic.Pointer[nodeLife] // nil while the node is dead

	index    int         // among the plan's machines; the rogue's is not among them
	badCable atomic.Bool // some of what it sends is lost
	library  *library    // of the tape server that its node is; nil for others
}

// nodeLife is one life of a node.
type nodeLife struct {
	*process
	node  *node.Node // the services under test
	peers *peers     // its connections to other nodes
	keys  *capability.Verifier
	stop  context.CancelFunc // ends the goroutines it leaves behind
	tape  *simtape.Life      // its tape server; nil for most
}

// newMachine makes a machine with drives. Its node is started later.
func newMachine(w *world, i, drives int) (*machine, error) {
	m := &machine{w: w, host: simnet.Host(fmt.Sprintf("node%d", i)), addr: fmt.Sprintf("node%d:1095", i), state: filepath.Join(w.plan.dir, fmt.Sprintf("node%d", i)), index: i}
	m.badCable.Store(w.plan.lossy && i == w.plan.loser)
	for d := range drives {
		drive, err := newDrive(fmt.Sprintf("/disk%d", d), w.plan.capacity(i, d), w.clock(&m.skew))
		if err != nil {
			return nil, err
		}
		m.drives = append(m.drives, drive)
	}
	return m, nil
}

// start begins a life of the node.
func (m *machine) start() error {
	life := &nodeLife{process: newProcess()}
	life.peers = newPeers(m.w, life.process, m.host)
	keys := capability.NewVerifier()
	life.keys = keys
	now := m.w.clock(&m.skew)
	// Every life has its own options: what closes over the dead life fails for ever.
	calls := &control{w: m.w, life: life.process, from: m.host, id: func() hemera.NodeID { return life.node.ID() }}
	o := node.Options{
		Control: calls, Writes: calls, Peers: life.peers, StateDir: m.state, Addr: m.addr, Zone: m.zone, Version: "sim",
		HeadProof: keys.HeadProof, VerifyHead: keys.VerifyHead,
		Verify:  func(token string) (hemera.Capability, error) { return keys.Verify(token, now()) },
		SetKeys: keys.Set, Bar: keys.Bar, Measure: func() hemera.NodeStats { return hemera.NodeStats{} }, Network: m.counts(), Log: m.w.log.With("node", m.host),
		// The scrub is slow, so that rot is found by reads as well as by the scrub.
		SmallBytes: m.w.plan.smallBytes, ScrubRate: 64 << 10,
		OpenDisk: func(path string, fresh bool) (disk.Store, error) {
			return m.drive(path).openDisk(m.w, life.process, fresh)
		},
	}
	for _, d := range m.drives {
		o.Disks = append(o.Disks, hemera.AttachDisk{Path: d.path})
	}
	var err error
	if life.node, err = node.New(o); err != nil {
		return err
	}
	// Run ends by stop and not by the death: goroutines of a dead process go on for a while, without effect.
	running, stop := context.WithCancel(context.Background())
	life.stop = stop
	go func() {
		defer close(life.done)
		_ = life.node.Run(running)
		m.w.whole(string(m.host), life.node.Panics())
	}()
	if err := m.startTape(life); err != nil {
		return err
	}
	// From here on peers and clients can reach it.
	m.w.local.Add(m.addr, life.node)
	m.life.Store(life)
	return nil
}

// drive returns the drive at a path.
// There are at most two, so it looks at each.
func (m *machine) drive(path string) *drive {
	for _, d := range m.drives {
		if d.path == path {
			return d
		}
	}
	return nil
}

// kill ends the node's life. With power, the machine's drives lose what was not synced, or what
// part of it chance decides; without, the operating system keeps all that was written.
func (m *machine) kill(power bool, rng *rand.Rand) {
	// Swap makes a second kill harmless.
	life := m.life.Swap(nil)
	if life == nil {
		return
	}
	// Peers cannot begin calls any more. Calls under way end as lost.
	m.w.local.Add(m.addr, nil)
	life.die()
	// Devices of a tape server are let go while its node is dying: nothing it does counts any more.
	m.killTape(life, power)
	for _, d := range m.drives {
		if d.gone.Load() {
			continue
		}
		// The function decides for each unsynced change whether it survives; a kill without power loses none.
		d.memory.Crash(func() bool { return !power || rng.IntN(2) == 0 })
	}
	life.peers.hangUp()
	// A call that sleeps with a lock held must end before anything else asks for the lock: the bubble's
	// time stands still while somebody waits for one.
	life.calls.Wait()
	life.stop()
	<-life.done
}

// process returns the node's present life, nil without one.
func (m *machine) process() *process {
	if l := m.life.Load(); l != nil {
		return l.process
	}
	return nil
}

// open opens what a token permits at the node, from a client's host.
// The process it returns is that of the handle: a later life does not know the handle.
func (m *machine) open(ctx context.Context, from simnet.Host, token string, o hemera.NodeOpen) (hemera.File, *process, error) {
	life := m.life.Load()
	if life == nil {
		// A refused connection takes a moment, without which clients would spin.
		simnet.Rest(ctx, 10*time.Millisecond)
		return nil, nil, simnet.ErrLost
	}
	var made hemera.File
	f, err := simnet.Send(ctx, m.w.net, from, m.host, false, func(ctx context.Context) (_ hemera.File, err error) {
		made, err = into(ctx, life.process, func(ctx context.Context) (hemera.File, error) {
			return life.node.Open(ctx, hemera.ParsePermit(token), o)
		})
		return made, err
	})
	// The answer was lost, and the connection with it: the node ends the hold of a client that it cannot reach.
	if err != nil && made != nil && life.process.enter() {
		defer life.process.leave()
		_ = made.End(context.WithoutCancel(ctx), hemera.EndDetach)
	}
	return f, life.process, err
}
