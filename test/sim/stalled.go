package sim

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"hemera/namespace"
	"hemera/test/sim/simnet"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// stalled are commits that heads asked for and that stay on their way until audits have removed the pieces,
// as those of a head do that stands still between the seal and the commit. Then they arrive, and must not
// bring back what is gone.
type stalled struct {
	mu   sync.Mutex
	list []stalledCommit
	seen map[string]bool // by token: true if it is held back; made at the first commit
	// gate, if there is one, is where every head stands still that asks for a commit, until it is closed.
	gate atomic.Pointer[chan struct{}]
}

// stalledCommit is a commit on its way.
type stalledCommit struct {
	node    hemera.NodeID
	request hemera.CommitRequest
}

// holds reports whether a commit does not arrive for now. What was decided of it holds when it is asked for again.
//
// Commits without pieces and those within one process are let through: no audit could remove a piece of theirs.
func (w *world) holds(node hemera.NodeID, r hemera.CommitRequest) bool {
	if !w.plan.stalls || len(r.Pieces) == 0 || r.Permit.Local() {
		return false
	}
	s := &w.stalled
	s.mu.Lock()
	defer s.mu.Unlock()
	token, _ := r.Permit.Token()
	held, known := s.seen[token]
	if !known {
		if s.seen == nil {
			s.seen = map[string]bool{}
		}
		// A decision for good: a retry of a held commit must not arrive before it.
		held = w.straining.Load() && w.coin(8)
		s.seen[token] = held
		if held {
			s.list = append(s.list, stalledCommit{node, r})
		}
	}
	return held
}

// letGo has a commit arrive from now on: a later process of its node may find the write, and ask again.
func (s *stalled) letGo(r hemera.CommitRequest) {
	token, _ := r.Permit.Token()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[token] = false
}

// stand has a head stand still where there is a gate. No time limit of its own ends that.
// The test that has a gate closes it. The context it returns has no end, so the commit arrives however late.
func (s *stalled) stand(ctx context.Context) context.Context {
	gate := s.gate.Load()
	if gate == nil {
		return ctx
	}
	<-*gate
	return context.WithoutCancel(ctx)
}

// arrive sends the held commits now. The checks that follow see what comes of them.
func (w *world) arrive(ctx context.Context) {
	taken := false
	for _, c := range w.stalled.list {
		var err error
		// Undecided means that the manager asks for a retry, as a node would.
		for range 10 {
			_, err = w.head.Load().Control.Commit(hemera.WithCaller(ctx, c.node), c.request)
			if err == nil || !errs.Undecided(err) {
				break
			}
			simnet.Rest(ctx, time.Second)
		}
		w.stalled.letGo(c.request)
		w.trace.Add("sim", "a commit of node %d arrives, hours late: %v", c.node, err)
		if err != nil && errs.Undecided(err) {
			w.fail("a late commit is neither taken nor refused: %v", err)
		}
		taken = taken || err == nil
	}
	if taken { // its pieces were kept, and what it replaced stays for a while
		simnet.Rest(ctx, w.plan.hold+time.Minute)
	}
}

// barless is a namespace that has pieces removed without recording it (ForgetBars).
type barless struct{ namespace.PendingWrites }

// ClaimOrphan agrees to the removal and records nothing: the late commit then succeeds.
func (barless) ClaimOrphan(context.Context, hemera.DiskID, hemera.PieceID) (bool, error) {
	return true, nil
}
