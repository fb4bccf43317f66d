package sim

import (
	"context"
	"math/rand/v2"

	"hemera/manager"
	"hemera/tape/session"
	"hemera/test/sim/simnet"
	"hemera/test/sim/simtape"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// startTape begins a life of the machine's tape server, if it has a library.
func (m *machine) startTape(life *nodeLife) (err error) {
	if m.library == nil {
		return nil
	}
	w := m.w
	// The same way to the manager as the node's own calls: one process, one certificate.
	c := &control{w: w, life: life.process, from: m.host, id: life.node.ID}
	ask := func(ctx context.Context, last bool, call func(context.Context, tapeapi.Control) error) error {
		// With a fuse the process ends before the manager hears of the call, or before the answer.
		if last && w.coin(2) {
			life.die()
		}
		_, err := askAs(ctx, c, true, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
			return struct{}{}, call(ctx, m.TapeControl)
		})
		if last {
			life.die()
			m.library.fuse.Burnt()
			return errDead
		}
		return err
	}
	// What it is given closes over this life: a later one has its own.
	life.tape, err = simtape.Start(simtape.Options{
		Dir: m.library.dir, Drives: w.plan.devices, Node: life.node.Lease, Marks: life.node.Saw, Now: w.clock(&m.skew), Log: w.log.With("node", m.host), Faults: *m.library.faults.Load(),
		Control: &simtape.Control{Ask: ask, Void: w.plan.sabotage == VoidFailures, Fuse: &m.library.fuse, Saw: func(format string, args ...any) {
			w.trace.Add("tape", format, args...)
		}},
		Files: tapeFiles{w, life.process}, Pack: w.plan.pack, Scale: w.plan.scale, Lies: w.plan.sabotage == ForgetFlushes, Blind: w.plan.sabotage == WriteOver,
	})
	return err
}

// killTape ends it. The process is dead by now.
// It returns when nothing of it runs any more.
func (m *machine) killTape(life *nodeLife, power bool) {
	if life.tape == nil {
		return
	}
	// It closes files that survive it; an error is no harm to what was flushed.
	if err := life.tape.Kill(power); err != nil {
		m.w.trace.Add("tape", "the library closes: %v", err)
	}
}

// tapeFiles opens files at nodes for one life of the tape server, as package nodeio does over XRootD.
type tapeFiles struct {
	w    *world
	life *process
}

// open opens a file with a grant. Each has its own choices, as several are used at a time.
func (f tapeFiles) open(ctx context.Context, g tapeapi.Grant, access hemera.Access) (tapeHandle, error) {
	// Under the lock of the dice: several files are opened at once.
	f.w.mu.Lock()
	rng := rand.New(rand.NewPCG(f.w.dice.Uint64(), 1))
	f.w.mu.Unlock()
	h := &handle{client: &client{w: f.w, name: "tape", host: tapeHost, rng: rng},
		grant: hemera.Grant{Addr: g.Addr, Permit: hemera.VerifiedPermit(hemera.Capability{Access: access}, g.Token)}}
	// A dead process opens nothing, whatever its goroutines try.
	if f.life.isDead() {
		return tapeHandle{}, errDead
	}
	return tapeHandle{h, f.life}, h.open(ctx)
}

// Open implements tape.Files.
// An error comes with a content that must not be used, as callers look at the error first.
func (f tapeFiles) Open(ctx context.Context, g tapeapi.Grant) (session.Content, error) {
	h, err := f.open(ctx, g, hemera.AccessRead)
	return simtape.NewSource(h), err
}

// Create implements tape.Files.
// Nothing is visible of what it makes before the commit.
func (f tapeFiles) Create(ctx context.Context, g tapeapi.Grant) (session.Target, error) {
	h, err := f.open(ctx, g, hemera.AccessCreate)
	return simtape.NewTarget(h, g.Size), err
}

// tapeHandle is a handle of a process that may die. It implements simtape.Handle.
type tapeHandle struct {
	*handle
	life *process
}

// Again makes a call that may be made twice.
// It blocks for as long as a client would try.
func (h tapeHandle) Again(ctx context.Context, do func(context.Context, hemera.File) error) error {
	if h.life.isDead() {
		return errDead
	}
	// It comes back to a node that it lost, as a client of XRootD does.
	return h.again(ctx, do)
}

// Close commits.
// The handle cannot be used afterwards, whatever it returns.
func (h tapeHandle) Close(ctx context.Context) error {
	if h.life.isDead() {
		return errDead
	}
	// Doubt or not is one to a session: the manager knows, and the job says so.
	_, err := h.close(ctx)
	return err
}

// GiveUp ends it without a commit. The node sees nothing of a dead process but the end of the connection.
func (h tapeHandle) GiveUp(ctx context.Context) {
	if h.life.isDead() || h.grant.Permit.Access == hemera.AccessRead {
		h.hangUp()
		return
	}
	h.giveUp(ctx)
}

// tapeHost is the name of the tape server's machine.
const tapeHost simnet.Host = "tape"
