package sim

import (
	"context"
	"sync"
	"time"

	"hemera/test/sim/simnet"
)

// run does harm until the context ends: at the manager and the network, beside it at one machine after
// the other, and an admin is at work.
// A strike includes the recovery from it, so an actor causes one fault at a time. Actors' faults overlap.
func (n *nemesis) run(ctx context.Context) {
	var all sync.WaitGroup
	start := func(actor string, between time.Duration, strike func(*nemesis, context.Context)) {
		one := &nemesis{w: n.w, rng: n.w.plan.random(actor)}
		all.Go(func() {
			for ctx.Err() == nil {
				one.pause(ctx, between)
				if ctx.Err() == nil {
					strike(one, ctx)
				}
			}
		})
	}
	const seldom, often = 8 * time.Second, time.Second // at most, between two strikes of an actor
	start("centre", seldom, (*nemesis).centre)
	start("edge", seldom, (*nemesis).edge)
	start("admin", seldom, (*nemesis).admin)
	if n.w.plan.turns() {
		start("drainer", often, (*nemesis).rotate)
	}
	if n.w.plan.tape {
		start("library", seldom, func(n *nemesis, ctx context.Context) { tapeNemesis{n}.strike(ctx) })
		start("watcher", often, func(n *nemesis, ctx context.Context) { tapeNemesis{n}.watch(ctx) })
	}
	if n.w.plan.plants {
		start("planter", often, func(n *nemesis, ctx context.Context) { planter{n}.act(ctx) })
	}
	all.Wait()
}

// heal ends every fault that can end. Rot and drives that are gone remain, for the system to repair.
func (n *nemesis) heal(ctx context.Context) {
	n.did("heals everything")
	// The network first: what starts below needs it.
	n.w.net.Connect()
	n.w.net.Set(simnet.Calm())
	tapeNemesis{n}.healAll()
	for _, m := range n.w.hosts() {
		m.skew.Store(0)
		for _, d := range m.drives {
			d.faulty.Heal()
			d.slow.Store(0)
		}
		if m.life.Load() == nil {
			n.reviveNode(m)
		}
	}
	if n.w.head.Load() == nil {
		n.reviveManager()
	}
	// Without the context's end: the load may be over.
	n.useAll(context.WithoutCancel(ctx))
}
