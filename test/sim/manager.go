package sim

import (
	"context"
	"math/rand/v2"
	"time"

	"hemera"
	"hemera/core/namespace"
	"hemera/errs"
	"hemera/services/manager"
)

// managerHost is the manager's name in the network.
const managerHost host = "manager"

// lostAfter is how long a disk is away before its files are repaired on other disks.
const lostAfter = 20 * time.Second

// head is one life of the manager.
type head struct {
	*process
	*manager.Manager
	tree  *namespace.Namespace
	store *session
	err   error // why it ended by itself; when done is closed
}

// refuses says why the manager ended by itself, if it did.
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
	h := &head{process: newProcess(), store: w.device.open(rand.New(rand.NewPCG(rng.Uint64(), 1)))}
	now := w.clock(w.managerSkew)
	var err error
	h.tree, err = namespace.Open(h.ctx, h.store, namespace.Options{CacheBytes: w.plan.cacheBytes, EventsMax: 500, Clock: now, Owner: "sim", Hold: w.plan.hold, Logger: w.log})
	if err != nil {
		return err
	}
	h.Manager, err = manager.New(h.ctx, manager.Options{
		Store: h.store, Writer: h.tree.Writer(), Tree: w.strain(h.tree.Parts()), Addr: "manager:1094", LostAfter: lostAfter, Now: now, Log: w.log,
	})
	if err != nil {
		return err
	}
	go func() {
		defer close(h.done)
		if h.err = h.Run(h.ctx); h.err != nil { // the program ends with it
			w.trace.add("manager", "ends: %v", h.err)
			if !h.isDead() && w.keeper.stale.Load() == nil {
				w.fail("the manager ends by itself: %v", h.err)
			}
			h.store.die()
			h.die()
		}
	}()
	w.head.Store(h)
	return nil
}

// killManager ends the life at once; what nobody waited for may be lost.
func (w *world) killManager() {
	h := w.head.Swap(nil)
	if h == nil {
		return
	}
	h.store.die()
	h.die()
	h.calls.Wait()
	<-h.done
	_ = h.tree.Close()
}

// ask calls the manager from a host.
func ask[T any](ctx context.Context, w *world, from host, twice bool, do func(context.Context, *manager.Manager) (T, error)) (T, error) {
	return send(ctx, w.net, from, managerHost, twice, func(ctx context.Context) (T, error) {
		h := w.head.Load()
		if h == nil {
			var none T
			return none, errLost
		}
		return into(ctx, h.process, func(ctx context.Context) (T, error) { return do(ctx, h.Manager) })
	})
}

// control is the manager as one life of a node reaches it.
type control struct {
	w    *world
	life *process
	from host
	id   func() hemera.NodeID // who calls, as its certificate would say

	believed believed
}

var _ hemera.Control = (*control)(nil)

// errDead is what a dead process is told by everything: nothing it does counts, nothing is tried
// again.
var errDead = errs.New(errs.Denied, "sim.Manager", "", "this process is dead")

// askAs sends a request of a node to the manager through the network, twice if the network doubles it.
func askAs[T any](ctx context.Context, c *control, twice bool, do func(context.Context, *manager.Manager) (T, error)) (T, error) {
	var none T
	if c.life.isDead() {
		return none, errDead
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life.ctx, cancel)()
	if id := c.id(); id != 0 {
		ctx = hemera.WithCaller(ctx, id)
	}
	out, err := ask(ctx, c.w, c.from, twice, do)
	if c.life.isDead() {
		return none, errDead
	}
	return out, err
}

// Register implements hemera.Control; so do the methods below. All go through the network.
func (c *control) Register(ctx context.Context, hello hemera.NodeHello) (hemera.NodeWelcome, error) {
	return askAs(ctx, c, true, func(ctx context.Context, m *manager.Manager) (hemera.NodeWelcome, error) {
		said := hello
		if c.w.plan.sabotage == ForgetMarks {
			said.Seen = nil
		}
		welcome, err := m.Register(ctx, said)
		c.w.registered(&hello, &welcome, err)
		return welcome, err
	})
}

func (c *control) Heartbeat(ctx context.Context, node hemera.NodeID, epoch uint64, r hemera.NodeReport) (hemera.HeartbeatReply, error) {
	return askAs(ctx, c, true, func(ctx context.Context, m *manager.Manager) (hemera.HeartbeatReply, error) {
		return m.Heartbeat(ctx, node, epoch, r)
	})
}

// Exchange delivers results, under strain a while after the work was done: a move is recorded late then.
func (c *control) Exchange(ctx context.Context, node hemera.NodeID, epoch uint64, results []hemera.OrderResult) ([]hemera.Order, error) {
	if len(results) > 0 {
		c.w.drag(ctx)
	}
	if c.w.plan.sabotage == TrustFooters {
		results = append(results, c.believed.take()...)
	}
	orders, err := askAs(ctx, c, true, func(ctx context.Context, m *manager.Manager) ([]hemera.Order, error) {
		return m.Exchange(ctx, node, epoch, results)
	})
	if c.w.plan.sabotage == TrustFooters {
		orders = c.believed.leave(c.w, orders)
	}
	return orders, err
}

func (c *control) Commit(ctx context.Context, r hemera.CommitRequest) error {
	if c.w.plan.sabotage == DropCommits && c.w.coin(10) {
		return nil
	}
	ctx = c.w.stalled.stand(ctx)
	if c.w.holds(c.id(), r) {
		rest(ctx, time.Second)
		return errLost
	}
	_, err := askAs(ctx, c, true, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
		return struct{}{}, m.Commit(ctx, r)
	})
	return err
}

func (c *control) Abort(ctx context.Context, p *hemera.Permit) error {
	_, err := askAs(ctx, c, true, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
		return struct{}{}, m.Abort(ctx, p)
	})
	return err
}

func (c *control) Replace(ctx context.Context, p *hemera.Permit, failed []hemera.DiskID) (hemera.Grant, error) {
	return askAs(ctx, c, true, func(ctx context.Context, m *manager.Manager) (hemera.Grant, error) {
		g, err := m.Replace(ctx, p, failed)
		if err != nil {
			return g, err
		}
		return sent(g)
	})
}

// sent is a grant as another process gets it, with a permit that is its token.
func sent(g hemera.Grant) (hemera.Grant, error) {
	token, err := g.Permit.Token()
	g.Permit = hemera.VerifiedPermit(g.Permit.Capability, token)
	return g, err
}

// tokenOf is the token of a grant that was sent.
func tokenOf(g *hemera.Grant) string {
	if g.Permit == nil {
		return ""
	}
	token, _ := g.Permit.Token()
	return token
}

func (c *control) Resolve(ctx context.Context, id hemera.FileID) (e hemera.Entry, path string, err error) {
	e, err = askAs(ctx, c, true, func(ctx context.Context, m *manager.Manager) (e hemera.Entry, err error) {
		e, path, err = m.Resolve(ctx, id)
		return e, err
	})
	return e, path, err
}
