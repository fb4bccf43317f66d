package maint

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// balanceRest is the time between two looks whether a space needs balancing.
	balanceRest = 10 * time.Second
	// balancePause is the rest of a space that is not balanced and has nothing more to move: by then files were written and
	// removed. It is longer where the look took long.
	balancePause = 10 * time.Minute
	// balanceShare bounds the share of time that looks take: the pause is at least so many times as long as the last look.
	balanceShare = 20
)

// balancer keeps the disks of each space equally full, and the pieces of its files apart: within and between groups, nodes
// and zones. Each space that has something to move has a run. What is to be done is read from the view and the namespace
// again at each look: a restart loses nothing.
type balancer struct {
	base    *base
	started time.Time

	due time.Time // used by Step alone: wake-ups change nothing before

	mu     sync.Mutex
	spaces map[hemera.SpaceName]*balancedSpace // guarded by mu
}

// balancedSpace keeps the state of one space while the engine lives. The balancer's mu guards it.
type balancedSpace struct {
	run    *balanceRun    // that is under way, or the last one; nil if there was none
	ledger *balanceLedger // of all runs; it guards itself
	pause  time.Time      // no new run before, unless there are other disks
	disks  int            // that took pieces when the pause began
	// spread has the places over which all files were spread by the last pass, and when each place was last there. A place that
	// was away for a while is forgotten: files that were written or repaired meanwhile do not use it.
	spread map[failureDomain]time.Time
}

// forgetDomains forgets places that have been away for longer than long.
func (s *balancedSpace) forgetDomains(now map[failureDomain]bool, at time.Time, long time.Duration) {
	// A restart of a node does not make all files worth another look.
	for d, last := range s.spread {
		switch {
		case now[d]:
			s.spread[d] = at
		case at.Sub(last) > long:
			delete(s.spread, d)
		}
	}
}

// failureDomain is a place that a file's pieces can be spread over.
type failureDomain struct {
	node hemera.NodeID
	zone string
}

// newBalancer makes a balancer without runs. Step begins them from the view.
func newBalancer(e *base) *balancer {
	return &balancer{base: e, started: e.Now(), spaces: map[hemera.SpaceName]*balancedSpace{}}
}

func (b *balancer) Name() string { return "balance" }

// Step begins a run for each space that has something to move, and ends those of spaces that are not to be balanced any
// more.
func (b *balancer) Step(ctx context.Context) (time.Duration, error) {
	now := b.base.Now()
	// Not an error, and no job: most managers start with all their disks away.
	if wait := b.started.Add(b.base.BalanceDelay).Sub(now); wait > 0 {
		return wait, nil
	}
	// Each piece that is moved or removed wakes the workers, and a look asks for the usage of all disks.
	if left := b.due.Sub(now); left > 0 {
		return left, nil
	}
	b.due = now.Add(balanceRest)
	view := b.base.Cluster.View()
	for _, space := range view.Spaces {
		s := b.space(space.Name)
		domains := domainsOf(view, space.Name)
		b.mu.Lock()
		s.forgetDomains(domains, now, b.base.BalanceDelay)
		run, wider := s.run, !within(domains, s.spread)
		resting := now.Before(s.pause) && !wider && takers(view, space.Name) <= s.disks
		b.mu.Unlock()
		switch {
		// A run looks at its space by itself. Step only cancels it.
		case run != nil && !run.over():
			if space.Balancer.Off {
				run.cancel()
			}
			continue
		case space.Balancer.Off || resting:
			continue
		}
		// A run that does not begin costs one look.
		next := newBalanceRun(b.base, space.Name, s.ledger)
		plan, _, err := next.look(ctx, view)
		if err != nil {
			return balanceRest, err
		}
		if !plan.Busy && !wider {
			continue
		}
		b.begin(ctx, s, next, domains, wider)
	}
	b.forget(view)
	// Reports of nodes and commits of clients change the picture slowly: a look each few seconds is enough.
	return balanceRest, nil
}

// begin starts a run. wider: files can be spread over more places than before.
func (b *balancer) begin(ctx context.Context, s *balancedSpace, run *balanceRun, domains map[failureDomain]bool, wider bool) {
	ctx, run.cancel = context.WithCancel(ctx)
	b.mu.Lock()
	last := s.run
	s.run = run
	b.mu.Unlock()
	b.base.Panics.Go(&b.base.group, "maint.Balance", "space "+string(run.space), func() {
		defer run.cancel()
		began := b.base.Now()
		end := balanceEnd{stuck: true} // if the run panics
		err := b.base.Panics.Do("maint.Balance", "space "+string(run.space), func() error { end = run.run(ctx, wider); return nil })
		if err != nil {
			run.failed(err)
			run.set(adminapi.JobDone, errs.Reason(err, ""))
		}
		now, disks, shown := b.base.Now(), takers(b.base.Cluster.View(), run.space), run.shown()
		b.mu.Lock()
		defer b.mu.Unlock()
		if end.spread {
			// Only the places that the look began with. Places that came meanwhile were not used for files before them.
			s.spread = map[failureDomain]time.Time{}
			for d := range domains {
				s.spread[d] = now
			}
		}
		if end.stuck {
			s.disks, s.pause = disks, now.Add(max(balancePause, balanceShare*now.Sub(began)))
		}
		// A look that found nothing to move does not replace the last job in the list.
		if !end.stuck && !shown {
			s.run = last
		}
	})
}

// space returns the state of a space, and makes it at the first call.
func (b *balancer) space(name hemera.SpaceName) *balancedSpace {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spaces[name] == nil {
		b.spaces[name] = &balancedSpace{ledger: newBalanceLedger(b.base.Now)}
	}
	return b.spaces[name]
}

// forget drops spaces that are gone.
func (b *balancer) forget(view *hemera.View) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, s := range b.spaces {
		if _, ok := view.Space(name); !ok {
			// The run ends with the copies that have begun.
			if s.run != nil {
				s.run.cancel()
			}
			delete(b.spaces, name)
		}
	}
}

// listJobs implements jobLister: the run of each space, or its last one.
func (b *balancer) listJobs(context.Context) (list []adminapi.JobStatus, _ error) {
	b.mu.Lock()
	var runs []*balanceRun
	for _, s := range b.spaces {
		if s.run != nil {
			runs = append(runs, s.run)
		}
	}
	b.mu.Unlock()
	// Without the lock: each run has its own.
	for _, r := range runs {
		if r.shown() {
			list = append(list, r.status())
		}
	}
	slices.SortFunc(list, func(a, b adminapi.JobStatus) int { return cmp.Compare(a.Space, b.Space) })
	return list, nil
}

// domainsOf returns the places that take new pieces of a space.
func domainsOf(v *hemera.View, space hemera.SpaceName) map[failureDomain]bool {
	domains := map[failureDomain]bool{}
	for _, d := range v.Disks {
		if d.Space == space && d.Writable() {
			domains[failureDomain{d.Node, d.Zone}] = true
		}
	}
	return domains
}

// takers counts the disks of a space that take new pieces.
func takers(v *hemera.View, space hemera.SpaceName) (n int) {
	for _, d := range v.Disks {
		if d.Space == space && d.Writable() {
			n++
		}
	}
	return n
}

// within reports whether all of the places are known.
func within(places map[failureDomain]bool, known map[failureDomain]time.Time) bool {
	for d := range places {
		if _, ok := known[d]; !ok {
			return false
		}
	}
	return true
}
