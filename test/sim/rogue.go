package sim

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"hemera/manager"
	"hemera/rules/capability"
	"hemera/test/sim/simnet"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// rogue is a node in bad hands: it has joined, has no disk, and hears every grant that clients get. What it tries must
// all be refused; that nothing came of it is for the oracle to see.
//
// It models a machine whose root is not trusted: it has a valid certificate and the keys that nodes get, but not the keys of
// other nodes, nor the manager's.
type rogue struct {
	w    *world
	rng  *rand.Rand    // of its goroutine alone
	id   hemera.NodeID // that its certificate names
	keys []hemera.Key  // as the manager gave them to it

	epoch hemera.Epoch // of its lease; renewed when a newer manager fences it
}

// rogueHost is the name of the node in bad hands.
const rogueHost simnet.Host = "rogue"

// overheard holds the last grants of clients, as if the network between them and the manager were read.
type overheard struct {
	mu     sync.Mutex
	grants []hemera.Grant
}

// overheardMax bounds the grants that a rogue remembers.
const overheardMax = 64

// add remembers a grant that the rogue may try to use.
func (o *overheard) add(g hemera.Grant) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.grants = append(o.grants, g)
	if len(o.grants) > overheardMax {
		o.grants = o.grants[1:]
	}
}

// one returns a random grant, or false while there is none.
func (o *overheard) one(rng *rand.Rand) (hemera.Grant, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.grants) == 0 {
		return hemera.Grant{}, false
	}
	return o.grants[rng.IntN(len(o.grants))], true
}

// newRogue lets it join. It is switched off at once, so that no client is sent to it.
func newRogue(ctx context.Context, w *world) (*rogue, error) {
	r := &rogue{w: w, rng: w.plan.random("rogue")}
	h := w.head.Load()
	id, err := h.Cluster.Admin.ReserveNode(ctx)
	if err != nil {
		return nil, err
	}
	r.id = id
	if err := r.register(ctx); err != nil {
		return nil, err
	}
	return r, h.Admin.SetNode(ctx, id, "status", "off")
}

// call asks the manager, as its certificate says.
// Without the caller's number the manager takes it for a part of itself, which is the sabotage.
func (r *rogue) call(ctx context.Context, do func(context.Context, *manager.Manager) error) error {
	if r.w.plan.sabotage != BelieveNodes {
		ctx = hemera.WithCaller(ctx, r.id)
	}
	_, err := ask(ctx, r.w, rogueHost, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
		return struct{}{}, do(ctx, m)
	})
	return err
}

// register joins the cluster as a node would.
func (r *rogue) register(ctx context.Context) error {
	return r.call(ctx, func(ctx context.Context, m *manager.Manager) error {
		w, err := m.Control.Register(ctx, hemera.NodeHello{ID: r.id, Addr: "rogue:1095", Version: "evil"})
		if err == nil {
			r.keys, r.epoch = w.Keys, w.Epoch
		}
		return err
	})
}

// run tries until its context ends what a node in bad hands can try.
// Each round makes every attempt; the pauses are shorter than most writes last.
func (r *rogue) run(ctx context.Context) {
	for ctx.Err() == nil {
		r.lie(ctx)
		if g, ok := r.w.overheard.one(r.rng); ok {
			r.meddle(ctx, g)
			r.forge(ctx, g)
		}
		simnet.Rest(ctx, time.Duration(100+r.rng.IntN(900))*time.Millisecond)
	}
}

// lie keeps the lease, with reports that make no sense.
// Not numbers and infinities must not reach placement or the figures admins see.
func (r *rogue) lie(ctx context.Context) {
	stats := hemera.NodeStats{Load1: math.NaN(), CPUSeconds: math.Inf(1), RSS: math.MinInt64}
	err := r.call(ctx, func(ctx context.Context, m *manager.Manager) error {
		_, err := m.Control.Heartbeat(ctx, r.id, r.epoch, hemera.NodeReport{Stats: stats})
		return err
	})
	// Without a lease everything would be refused for the wrong reason.
	if errs.KindOf(err) == errs.Fenced {
		_ = r.register(ctx)
	}
}

// refused fails the simulation when the manager or a node did what it must not.
// An error of any kind counts as a refusal: also one of the network.
func (r *rogue) refused(what string, g *hemera.Grant, err error) {
	if err == nil {
		r.w.fail("a rogue node %s of %s, generation %d", what, g.Permit.Path, g.Permit.Gen)
	}
}

// meddle acts on a write that is another's, by the very token that its client was given.
func (r *rogue) meddle(ctx context.Context, g hemera.Grant) {
	// Each of these is right when the head of the write does it.
	r.refused("resolved the file", &g, r.call(ctx, func(ctx context.Context, m *manager.Manager) error {
		_, _, err := m.Control.Resolve(ctx, g.Permit.File)
		return err
	}))
	r.refused("committed", &g, r.call(ctx, func(ctx context.Context, m *manager.Manager) error {
		_, err := m.Control.Commit(ctx, hemera.CommitRequest{Permit: shown(tokenOf(&g))})
		return err
	}))
	r.refused("cancelled the write", &g, r.call(ctx, func(ctx context.Context, m *manager.Manager) error {
		return m.Control.Abort(ctx, shown(tokenOf(&g)))
	}))
	r.announce(ctx, g, tokenOf(&g))
	if len(g.Permit.Targets) > 0 {
		r.refused("moved a piece", &g, r.call(ctx, func(ctx context.Context, m *manager.Manager) error {
			_, err := m.Control.Replace(ctx, shown(tokenOf(&g)), []hemera.DiskID{g.Permit.Targets[0].Disk})
			return err
		}))
	}
}

// announce says that a write is under way here. A refusal is not told: what counts is that the manager has no write of this node.
func (r *rogue) announce(ctx context.Context, g hemera.Grant, token string) {
	r.refused("announced a write", &g, r.call(ctx, func(ctx context.Context, m *manager.Manager) error {
		err := m.Control.Announce(ctx, hemera.Announcement{Node: r.id, Epoch: r.epoch, Writes: []hemera.OpenWrite{{Permit: shown(token)}}})
		if err != nil {
			return err
		}
		unasked, cancel := context.WithCancel(ctx)
		cancel()
		list, err := m.Writes.Writes(unasked, hemera.SystemIdentity())
		if err == nil && !slices.ContainsFunc(list, func(w hemera.WriteInfo) bool { return w.Head == r.id }) {
			err = errs.New(errs.Denied, "sim.Announce", g.Permit.Path, "it has no write")
		}
		return err
	}))
}

// forge makes capabilities with the keys it was given, and shows others' tokens at nodes they do not name.
func (r *rogue) forge(ctx context.Context, g hemera.Grant) {
	c := g.Permit.Capability
	c.Who, c.Expires, c.Head = hemera.SystemIdentity(), time.Now().Add(1000*time.Hour), r.id
	// A key for all nodes would let it sign for any of them.
	for _, key := range r.keys {
		key.Node = 0
		token, err := capability.NewKeyring(key).Mint(c)
		if err != nil {
			continue
		}
		r.refused("committed by a forged token the content", &g, r.call(ctx, func(ctx context.Context, m *manager.Manager) error {
			_, err := m.Control.Commit(ctx, hemera.CommitRequest{Permit: shown(token)})
			return err
		}))
		r.announce(ctx, g, token)
		for _, m := range r.w.machines {
			r.refused("opened by a forged token, at "+m.addr+", the file", &g, r.open(ctx, m, token))
		}
	}
	// A token is good only at the nodes that it names.
	for _, m := range r.w.machines {
		if life := m.life.Load(); life != nil && !named(&g.Permit.Capability, life.node.ID()) {
			r.refused("opened at "+m.addr+", which it is not for, the file", &g, r.open(ctx, m, tokenOf(&g)))
		}
	}
}

// open tries a token at a machine's node.
// A handle that it gets is closed, so that nothing else changes.
func (r *rogue) open(ctx context.Context, m *machine, token string) error {
	f, _, err := m.open(ctx, rogueHost, token, hemera.NodeOpen{})
	if err == nil {
		_ = f.End(ctx, hemera.EndClose)
	}
	return err
}

// shown returns the permit that a manager makes of a token in a call from another process.
func shown(token string) *hemera.Permit { return hemera.ParsePermit(token) }

// named reports whether the capability is for the node.
// As head, as target, or as a holder of the content that an update begins from.
func named(c *hemera.Capability, node hemera.NodeID) bool {
	at := func(t hemera.Target) bool { return t.Node == node }
	return c.Head == node || slices.ContainsFunc(c.Targets, at) || c.Base != nil && slices.ContainsFunc(c.Base.Pieces, at)
}
