package maint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hemera/words/adminapi"

	"hemera/rules/balance"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// balanceRun moves pieces of one space until the space is balanced, nothing more can be moved, or it is cancelled. One goroutine
// calls its methods, except for those of the job and cancel.
type balanceRun struct {
	balanceMoves
	cancel context.CancelFunc
	files  balanceFiles
	places map[hemera.DiskID]int // of each disk, the index of its volume in the last plan
	yields time.Time             // when it began to wait for writes of clients; zero while it does not wait
}

// balanceEnd says how a run ended.
type balanceEnd struct {
	spread bool // the run looked at the spread of all files
	stuck  bool // disks are too full, and no piece of them can be moved
}

// newBalanceRun makes a run that has not begun. The ledger outlives it: what the last run moved may not be in reports yet.
func newBalanceRun(b *base, space hemera.SpaceName, ledger *balanceLedger) *balanceRun {
	return &balanceRun{
		balanceMoves: balanceMoves{base: b, space: space, balanceJob: newBalanceJob(space, b.Now), ledger: ledger, slots: make(chan struct{}, balanceCopies)},
		files:        newBalanceFiles(b),
	}
}

// run works until nothing is left to do. With spread it first moves pieces apart that share a node or a zone.
func (r *balanceRun) run(ctx context.Context, spread bool) (end balanceEnd) {
	// In this order: the run is over when its last copy is recorded.
	defer r.close()
	defer r.group.Wait()
	if spread {
		// This look sets the figure of what is left: pieces that are moved apart go to emptier disks. An error returns below.
		_, _, _ = r.look(ctx, r.base.Cluster.View())
		end.spread = r.spreadAll(ctx)
	}
	for ctx.Err() == nil {
		plan, volumes, err := r.look(ctx, r.base.Cluster.View())
		switch {
		case err != nil:
		case !plan.Busy && !r.ledger.settled():
			// The reports are older than the last moves.
			pause(ctx, time.Second)
			continue
		case !plan.Busy:
			r.end(ctx)
			return end
		default:
			r.show(why(volumes, plan))
			var nothing bool
			err = r.base.Panics.Do("maint.Balance", "space "+string(r.space), func() (err error) {
				nothing, err = r.round(ctx, volumes, plan)
				return err
			})
			if !nothing || ctx.Err() != nil {
				break
			}
			// The pieces that are left are too large for the other disks, or those have another piece of the file. Below the
			// threshold that is good enough.
			if !plan.Above {
				r.end(ctx)
				return end
			}
			r.set(adminapi.JobWaiting, why(volumes, plan)+"; no piece can go to an emptier disk that shares no node or zone with another of its file")
			end.stuck = true
			return end
		}
		if err != nil && ctx.Err() == nil {
			r.failed(err)
			pause(ctx, stallRest)
		}
	}
	r.end(ctx)
	return end
}

// end ends the job when all moves have ended.
func (r *balanceRun) end(ctx context.Context) {
	r.group.Wait()
	if ctx.Err() == nil {
		r.set(adminapi.JobDone, "")
	} else {
		r.set(adminapi.JobDone, "balancing is switched off")
	}
}

// look makes a plan from the view and the moves under way.
func (r *balanceRun) look(ctx context.Context, view *hemera.View) (balance.Plan, []balance.Volume, error) {
	space, ok := view.Space(r.space)
	// While the namespace is not complete, the usage of disks proves nothing.
	if !ok || space.Balancer.Off || r.base.Paused != nil && r.base.Paused() {
		return balance.Plan{}, nil, nil
	}
	removals := r.base.Removals
	// First, so that the plan does not count moves that reports show by now.
	r.ledger.settle(func(id hemera.DiskID) bool {
		pieces, err := removals.Unlinked(ctx, id, 1)
		return err != nil || len(pieces) > 0
	})
	var failed error
	var pieces, bytes int64
	volumes := balance.Volumes(view, r.space, func(id hemera.DiskID) balance.Known {
		n, own, err := r.base.Files.DiskUsage(ctx, id)
		_, held, err2 := removals.DiskHeld(ctx, id)
		failed = errors.Join(failed, err, err2)
		pieces, bytes = pieces+n, bytes+own
		// Held pieces leave without balancing.
		in, out := r.ledger.of(id)
		return balance.Known{Own: own, In: in, Out: out, Leaving: held}
	})
	if failed != nil {
		return balance.Plan{}, nil, errs.Wrap(failed, "maint.Balance", "space "+string(r.space))
	}
	// A table, as it is asked for each disk that may take a piece.
	r.places = map[hemera.DiskID]int{}
	for i, v := range volumes {
		for _, id := range v.Disks {
			r.places[id] = i
		}
	}
	threshold, _ := space.Balancer.Limits()
	plan := balance.Step(volumes, float64(threshold)/100, r.busy())
	r.balanceJob.plan(plan.Left, bytes/max(1, pieces), r.ledger.settled())
	return plan, volumes, nil
}

// why returns in words why the space is balanced: how full its fullest disk and the space are.
func why(volumes []balance.Volume, p balance.Plan) string {
	// Without volumes there is nothing to say.
	if p.Most < 0 {
		return ""
	}
	v := volumes[p.Most]
	return fmt.Sprintf("disk %d is %.1f %% full, the space %.1f %%", v.Disks[0], 100*v.Filling(), 100*p.Mean)
}

// round begins moves by one plan for balanceRound. It returns stuck if it has looked at all pieces that could go and moved none.
func (r *balanceRun) round(ctx context.Context, volumes []balance.Volume, plan balance.Plan) (stuck bool, err error) {
	// One picture for a round: a piece is planned again, on the newest, when its copy's turn comes.
	view := r.base.Cluster.View()
	until := r.base.Now().Add(balanceRound)
	before, moved := r.nextRound()
	if moved {
		r.files.lookAgain()
	}
	for ctx.Err() == nil && r.base.Now().Before(until) {
		if r.givesWay(volumes, plan) {
			pause(ctx, balanceTick)
			continue
		}
		from, rest := r.source(volumes, plan)
		if from == 0 && rest {
			pause(ctx, balanceTick)
			continue
		}
		if from == 0 {
			// The moves under way may make room. Without any, another look at the same files finds nothing.
			r.group.Wait()
			if r.moves() > before || ctx.Err() != nil {
				return false, nil
			}
			pause(ctx, stallRest)
			if !r.ledger.settled() {
				// Disks look fuller or emptier than they are until the last moves are in their reports.
				r.files.lookAgain()
				return false, nil
			}
			return r.allPassed(volumes, plan), nil
		}
		c, ok, err := r.files.next(ctx, from, view)
		if err != nil {
			return false, err
		}
		at := r.places[from]
		// A piece that is larger than the surplus would make the disk too empty. A smaller one may follow.
		if !ok || c.size() > plan.Gives[at] {
			continue
		}
		// The destination is chosen here, so that the piece counts there at once.
		to, wait := r.destination(view, c, plan)
		switch {
		case wait:
			// The piece stays the next: it may be one of few that can go there.
			r.files.putBack(c)
			pause(ctx, balanceTick)
		case to != 0 && r.begin(ctx, c, to):
			plan.Gives[at] -= c.size()
			plan.Takes[r.places[to]] -= c.size()
			r.files.looked = time.Now()
		}
	}
	return false, nil
}

// givesWay reports whether moves wait for writes of clients and of tape drives, and shows that in the job.
func (r *balanceRun) givesWay(volumes []balance.Volume, plan balance.Plan) bool {
	written, disks, yields := balance.Yields(volumes, r.base.Writers)
	now := r.base.Now()
	if !yields {
		r.yields = time.Time{}
	} else if r.yields.IsZero() {
		r.yields = now
	}
	// After the longest wait it continues, until there is a moment with few writes.
	left := r.yields.Add(balance.YieldMost).Sub(now)
	if !yields || left <= 0 {
		if state, _ := r.state(); state == adminapi.JobWaiting {
			r.set(adminapi.JobRunning, why(volumes, plan))
		}
		return false
	}
	r.set(adminapi.JobWaiting, fmt.Sprintf("%s; it gives way to writes on %d of %d disks until there are fewer, for %s at most",
		why(volumes, plan), written, disks, left.Round(time.Minute)))
	return true
}

// allPassed reports whether the run has looked at all files of all disks that have to give.
func (r *balanceRun) allPassed(volumes []balance.Volume, plan balance.Plan) bool {
	for i, v := range volumes {
		for _, id := range v.Disks {
			if plan.Gives[i] > 0 && !r.files.passed(id) {
				return false
			}
		}
	}
	return true
}

// source returns the disk that gives next, which is one of the volume that has most to give. It returns 0 if no disk can give
// now, and rest if one of them only rests.
func (r *balanceRun) source(volumes []balance.Volume, plan balance.Plan) (from hemera.DiskID, rest bool) {
	var most int64
	// The fullest disk first, as it is furthest from the mean.
	for i, v := range volumes {
		for _, id := range v.Disks {
			if plan.Gives[i] <= 0 || r.files.passed(id) {
				continue
			}
			if !r.ledger.ready(id) {
				rest = true
				continue
			}
			if plan.Gives[i] > most {
				from, most = id, plan.Gives[i]
			}
		}
	}
	return from, rest
}

// destination chooses the disk that takes the piece. It returns 0 if no disk can, and wait if only disks that rest could.
func (r *balanceRun) destination(view *hemera.View, c candidate, plan balance.Plan) (to hemera.DiskID, wait bool) {
	// Placement chooses among what is allowed: by spread first, then by free room and load.
	resting := false
	m, err := r.place(view, c, func(id hemera.DiskID) bool {
		at, ok := r.places[id]
		if !ok || plan.Takes[at] < c.size() {
			return false
		}
		if !r.ledger.ready(id) {
			resting = true
			return false
		}
		return true
	})
	if err != nil {
		return 0, resting && errors.Is(err, errs.NoSpace)
	}
	return m.Add.Disk, false
}
