package sim

import (
	"context"
	"math/rand/v2"
	"time"

	"hemera/manager"
	"hemera/namespace"
	"hemera/platform/contain"
	"hemera/test/sim/simkv"
	"hemera/test/sim/simnet"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// managerHost is the manager's name in the network.
const managerHost simnet.Host = "manager"

// lostAfter is the time for which a disk is away before its files are repaired on other disks.
const lostAfter = 20 * time.Second

// balanceDelay is the time after a manager's start in which nothing is balanced.
const balanceDelay = 5 * time.Second

// head is one life of the manager.
type head struct {
	*process
	*manager.Manager
	tree  *namespace.Namespace // what tests ask beside the manager
	store *simkv.Session       // dies with the process
	err   error                // why it ended by itself; when done is closed
}

// refuses says why the manager ended by itself, if it did.
// It does not block. Nil also means that the manager still runs.
func (h *head) refuses() error {
	select {
	case <-h.done:
		return h.err
	default:
		return nil
	}
}

// startManager begins a life over what is durable. Its clock may differ from that of the life
// before.
func (w *world) startManager(rng *rand.Rand) error {
	h := &head{process: newProcess(), store: w.device.Open(rand.New(rand.NewPCG(rng.Uint64(), 1)))}
	now := w.clock(w.managerSkew)
	var err error
	// Few events, so that the log of events is cut while the simulation runs.
	h.tree, err = namespace.Open(h.ctx, h.store, namespace.Options{CacheBytes: w.plan.cacheBytes, EventsMax: 500, Clock: now, Owner: "sim", Hold: w.plan.hold, Logger: w.log})
	if err != nil {
		return err
	}
	h.Manager, err = manager.New(h.ctx, manager.Options{
		Store: h.store, Writer: h.tree.Writer(), Tree: w.strain(h.tree.Parts()), Addr: "manager:1094", LostAfter: lostAfter, BalanceDelay: balanceDelay, Now: now, Log: w.log,
	})
	if err != nil {
		return err
	}
	go func() {
		defer close(h.done)
		defer func() { w.whole("manager", h.Manager.Panics) }()
		if h.err = h.Run(h.ctx); h.err != nil { // the program ends with it
			w.trace.Add("manager", "ends: %v", h.err)
			// A manager that learns that its store is an older copy must end: that is no failure.
			if !h.isDead() && w.keeper.stale.Load() == nil {
				w.fail("the manager ends by itself: %v", h.err)
			}
			// The store first: nothing the process still does may become durable.
			h.store.Die()
			h.die()
		}
	}()
	w.head.Store(h)
	return nil
}

// whole fails the run if a part contained a panic: a process goes on after one, and the simulator must not.
func (w *world) whole(part string, panics *contain.Panics) {
	if n := panics.Count(); n > 0 {
		w.fail("%s contained %d panics", part, n)
	}
}

// killManager ends the life at once; what nobody waited for may be lost.
// It returns when all calls into it and its goroutines have ended.
func (w *world) killManager() {
	h := w.head.Swap(nil)
	if h == nil {
		return
	}
	// Store, process, calls: in the other order a call could make something durable after the death.
	h.store.Die()
	h.die()
	h.calls.Wait()
	<-h.done
	_ = h.tree.Close()
}

// ask calls the manager from a host.
func ask[T any](ctx context.Context, w *world, from simnet.Host, twice bool, do func(context.Context, *manager.Manager) (T, error)) (T, error) {
	return simnet.Send(ctx, w.net, from, managerHost, twice, func(ctx context.Context) (T, error) {
		// The life is looked up when the message arrives, as a new manager at the same address would answer it.
		h := w.head.Load()
		if h == nil {
			var none T
			return none, simnet.ErrLost
		}
		return into(ctx, h.process, func(ctx context.Context) (T, error) { return do(ctx, h.Manager) })
	})
}

// control is the manager as one life of a node reaches it.
type control struct {
	w    *world
	life *process
	from simnet.Host
	id   func() hemera.NodeID // caller, as its certificate would prove it; 0 before it joined

	believed believed // with TrustFooters and RebuildOld only
}

var (
	_ hemera.Control    = (*control)(nil)
	_ hemera.OpenWrites = (*control)(nil)
)

// errDead is the answer of every call to a dead process: nothing it does counts, nothing is tried again.
var errDead = errs.New(errs.Denied, "sim.Manager", "", "this process is dead")

// askAs sends a request of a node to the manager through the network, twice if the network doubles it.
func askAs[T any](ctx context.Context, c *control, twice bool, do func(context.Context, *manager.Manager) (T, error)) (T, error) {
	var none T
	if c.life.isDead() {
		return none, errDead
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A process that dies stops waiting for its answers.
	defer context.AfterFunc(c.life.ctx, cancel)()
	if id := c.id(); id != 0 {
		ctx = hemera.WithCaller(ctx, id)
	}
	out, err := ask(ctx, c.w, c.from, twice, do)
	// An answer that arrives after the death must not be acted on.
	if c.life.isDead() {
		return none, errDead
	}
	return out, err
}

// Register implements hemera.Control; so do the methods below. All go through the network.
func (c *control) Register(ctx context.Context, hello hemera.NodeHello) (hemera.NodeWelcome, error) {
	return askAs(ctx, c, true, func(ctx context.Context, m *manager.Manager) (hemera.NodeWelcome, error) {
		said := hello
		// Without its mark the node cannot show that it has seen a newer store.
		if c.w.plan.sabotage == ForgetMarks {
			said.Seen = nil
		}
		welcome, err := m.Control.Register(ctx, said)
		c.w.registered(&hello, &welcome, err)
		return welcome, err
	})
}

// Heartbeat implements hemera.Control.
func (c *control) Heartbeat(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, r hemera.NodeReport) (hemera.HeartbeatReply, error) {
	return askAs(ctx, c, true, func(ctx context.Context, m *manager.Manager) (hemera.HeartbeatReply, error) {
		return m.Control.Heartbeat(ctx, node, epoch, r)
	})
}

// Exchange delivers results, under strain a while after the work was done: a move is recorded late then.
func (c *control) Exchange(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, results []hemera.OrderResult) (hemera.ExchangeReply, error) {
	if len(results) > 0 {
		c.w.drag(ctx)
	}
	results = append(results, c.believed.take()...)
	reply, err := askAs(ctx, c, true, func(ctx context.Context, m *manager.Manager) (hemera.ExchangeReply, error) {
		return m.Control.Exchange(ctx, node, epoch, results)
	})
	if c.w.plan.sabotage == TrustFooters {
		reply.Orders = c.believed.leave(c.w, reply.Orders)
	}
	if c.w.plan.sabotage == RebuildOld {
		reply.Orders = c.believed.rebuildOld(c.w, reply.Orders)
	}
	if c.w.plan.sabotage == LateMarks {
		reply.Seen = nil
	}
	return reply, err
}

// Commit implements hemera.Control. The node must take a commit that stalls for one whose outcome it does not know.
func (c *control) Commit(ctx context.Context, r hemera.CommitRequest) ([]byte, error) {
	if c.w.plan.sabotage == DropCommits && c.w.coin(10) {
		// The file is acknowledged and unknown to the manager: the oracle must find it missing.
		return nil, nil
	}
	c.w.announced.end(r.Permit)
	ctx = c.w.stalled.stand(ctx)
	if c.w.holds(c.id(), r) {
		simnet.Rest(ctx, time.Second)
		// The node retries after an error like that, and stalls again until the judge lets the commit arrive.
		return nil, simnet.ErrLost
	}
	seen, err := askAs(ctx, c, true, func(ctx context.Context, m *manager.Manager) ([]byte, error) { return m.Control.Commit(ctx, r) })
	if c.w.plan.sabotage == LateMarks {
		seen = nil
	}
	return seen, err
}

// Abort implements hemera.Control.
func (c *control) Abort(ctx context.Context, p *hemera.Permit) error {
	c.w.announced.end(p)
	_, err := askAs(ctx, c, true, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
		return struct{}{}, m.Control.Abort(ctx, p)
	})
	return err
}

// Keep implements hemera.Control.
func (c *control) Keep(ctx context.Context, p *hemera.Permit, size int64) error {
	c.w.announced.end(p)
	_, err := askAs(ctx, c, true, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
		return struct{}{}, m.Control.Keep(ctx, p, size)
	})
	return err
}

// Replace implements hemera.Control. The grant crosses the network, so its permit is a token again.
func (c *control) Replace(ctx context.Context, p *hemera.Permit, failed []hemera.DiskID) (hemera.Grant, error) {
	return askAs(ctx, c, true, func(ctx context.Context, m *manager.Manager) (hemera.Grant, error) {
		g, err := m.Control.Replace(ctx, p, failed)
		if err != nil {
			return g, err
		}
		return sent(g)
	})
}

// sent returns a grant as another process gets it, with a permit that is its token.
func sent(g hemera.Grant) (hemera.Grant, error) {
	token, err := g.Permit.Token()
	g.Permit = hemera.VerifiedPermit(g.Permit.Capability, token)
	return g, err
}

// tokenOf returns the token of a grant that was sent.
// A grant without a permit, such as that of a missing file, has none.
func tokenOf(g *hemera.Grant) string {
	if g.Permit == nil {
		return ""
	}
	token, _ := g.Permit.Token()
	return token
}

// Resolve implements hemera.Control.
func (c *control) Resolve(ctx context.Context, id hemera.FileID) (e hemera.Entry, path string, err error) {
	e, err = askAs(ctx, c, true, func(ctx context.Context, m *manager.Manager) (e hemera.Entry, err error) {
		e, path, err = m.Control.Resolve(ctx, id)
		return e, err
	})
	return e, path, err
}
