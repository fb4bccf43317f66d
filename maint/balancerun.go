package maint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"hemera/maint/move"
	"hemera/rules/balance"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// balanceCopies is how many moves of a space are under way at most.
	balanceCopies = 64
	// balanceRound is how long moves are begun on one plan.
	balanceRound = 10 * time.Second
	// balanceTick is how long a run waits for a disk that has moved as much as it may.
	balanceTick = 100 * time.Millisecond
)

// balanceRun moves pieces of one space until the space is balanced, nothing more can be moved, or it is called off. Its
// methods are called by one goroutine, but for status, shown, over and cancel.
type balanceRun struct {
	base  *base
	space string
	*job
	cancel context.CancelFunc
	ledger *balanceLedger
	slots  chan struct{} // as many as moves may be under way
	group  sync.WaitGroup

	places  map[hemera.DiskID]int           // of each disk, the index of its volume in the last plan
	cursors map[hemera.DiskID]hemera.FileID // the last file that was looked at
	queues  map[hemera.DiskID][]candidate   // of the last page
	looked  time.Time                       // by the process's clock: when the last page was read
	yields  time.Time                       // since when it gives way to writes; zero while it does not

	mu      sync.Mutex
	left    int64     // bytes by the last plan, less what was moved since; guarded by mu, as all below
	planned time.Time // when the last plan was made: the figures in why are of then
	size    int64     // of a piece, on the average
	shows   bool      // there is something that an admin wants to see
	filling bool      // a plan had something to move: smaller differences count then
	closed  bool      // the run is over
	made    int64     // moves that were recorded
	before  int64     // of those, when the present plan was made
	// passes is how often all files of a disk were looked at since the last plan that moved any.
	passes map[hemera.DiskID]int
}

// candidate is a piece that may be moved.
type candidate struct {
	entry  hemera.Entry // as its page had it; the mover reads it again
	piece  hemera.Piece // where the page had it
	shares bool         // with another piece of the file a node or a zone
}

// size is the bytes that the move takes.
func (c candidate) size() int64 { return layout.PieceSize(c.entry.Layout, c.entry.Size, c.piece.Index) }

// balanceEnd is how a run ended.
type balanceEnd struct {
	spread bool // the files' spread was looked at, all of them
	stuck  bool // disks are too full, and none of their pieces can be moved
}

// newBalanceRun is a run that has not begun. ledger outlives it: what the last run moved may not be in reports yet.
func newBalanceRun(e *base, space string, ledger *balanceLedger) *balanceRun {
	j := newJob("balance", 0, e.Now)
	j.status.Space = space
	return &balanceRun{base: e, space: space, job: j, ledger: ledger, slots: make(chan struct{}, balanceCopies),
		cursors: map[hemera.DiskID]hemera.FileID{}, queues: map[hemera.DiskID][]candidate{}, passes: map[hemera.DiskID]int{}}
}

// run works until nothing is left to do. spread: files are looked at first whose pieces share a node or a zone.
func (r *balanceRun) run(ctx context.Context, spread bool) (end balanceEnd) {
	// In this order: the run is over when its last copy is recorded.
	defer r.close()
	defer r.group.Wait()
	if spread {
		// For what is shown as left meanwhile: pieces that are moved apart go to emptier disks. An error comes again below.
		_, _, _ = r.look(ctx, r.base.Cluster.View())
		end.spread = r.spreadAll(ctx)
	}
	for ctx.Err() == nil {
		plan, volumes, err := r.look(ctx, r.base.Cluster.View())
		switch {
		case err != nil:
		case !plan.Busy && !r.ledger.settled():
			// The picture is of before the last moves.
			r.sleep(ctx, time.Second)
			continue
		case !plan.Busy:
			r.end(ctx)
			return end
		default:
			r.show(why(volumes, plan))
			var nothing bool
			err = r.base.Panics.Do("maint.Balance", "space "+r.space, func() (err error) {
				nothing, err = r.round(ctx, volumes, plan)
				return err
			})
			if !nothing || ctx.Err() != nil {
				break
			}
			// What is left is too large for the rest, or has its file's other pieces there. Below the threshold that is well.
			if !plan.Above {
				r.end(ctx)
				return end
			}
			r.set("waiting", why(volumes, plan)+"; no piece can go to an emptier disk that shares no node or zone with another of its file")
			end.stuck = true
			return end
		}
		if err != nil && ctx.Err() == nil {
			r.failed(err)
			r.sleep(ctx, stallRest)
		}
	}
	r.end(ctx)
	return end
}

// end ends the job when all moves have ended.
func (r *balanceRun) end(ctx context.Context) {
	r.group.Wait()
	if ctx.Err() == nil {
		r.set("done", "")
	} else {
		r.set("done", "balancing is switched off")
	}
}

// look plans on the view and what is under way.
func (r *balanceRun) look(ctx context.Context, view *hemera.View) (balance.Plan, []balance.Volume, error) {
	space, ok := view.Space(r.space)
	// While the namespace is not complete, what disks hold of it says nothing.
	if !ok || space.Balancer.Off || r.base.Paused != nil && r.base.Paused() {
		return balance.Plan{}, nil, nil
	}
	removals := r.base.Removals
	// First, so that the plan does not count what reports show by now.
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
		// Held pieces go by themselves.
		in, out := r.ledger.of(id)
		return balance.Known{Own: own, In: in, Out: out, Leaving: held}
	})
	if failed != nil {
		return balance.Plan{}, nil, errs.Wrap(failed, "maint.Balance", "space "+r.space)
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
	settled := r.ledger.settled()
	r.mu.Lock()
	defer r.mu.Unlock()
	// What was moved last counts twice in an unsettled picture, so less seems to be left than is.
	if settled || plan.Left > r.left {
		r.left = plan.Left
	}
	r.size, r.planned = bytes/max(1, pieces), r.base.Now()
	return plan, volumes, nil
}

// why says in words why there is something to do.
func why(volumes []balance.Volume, p balance.Plan) string {
	// Without volumes there is nothing to say.
	if p.Most < 0 {
		return ""
	}
	v := volumes[p.Most]
	return fmt.Sprintf("disk %d is %.1f %% full, the space %.1f %%", v.Disks[0], 100*v.Filling(), 100*p.Mean)
}

// round begins moves by one plan, for a while. stuck: it has looked at all pieces that could go, and moved none.
func (r *balanceRun) round(ctx context.Context, volumes []balance.Volume, plan balance.Plan) (stuck bool, err error) {
	// One picture for a round: a piece is planned again, on the newest, when its copy's turn comes.
	view := r.base.Cluster.View()
	until, before := r.base.Now().Add(balanceRound), r.nextRound()
	for ctx.Err() == nil && r.base.Now().Before(until) {
		if r.givesWay(volumes, plan) {
			r.sleep(ctx, balanceTick)
			continue
		}
		from, rest := r.source(volumes, plan)
		if from == 0 && rest {
			r.sleep(ctx, balanceTick)
			continue
		}
		if from == 0 {
			// What is under way may change the picture. If it does not, the files would be looked at again in vain.
			r.group.Wait()
			if r.moves() > before || ctx.Err() != nil {
				return false, nil
			}
			r.sleep(ctx, stallRest)
			if !r.ledger.settled() {
				// Disks look fuller or emptier than they are until the last moves are in their reports.
				r.lookAgain()
				return false, nil
			}
			return r.allPassed(volumes, plan), nil
		}
		c, ok, err := r.next(ctx, from, view)
		if err != nil {
			return false, err
		}
		at := r.places[from]
		// A piece that is larger than the surplus would make the disk too empty; a smaller one may come.
		if !ok || c.size() > plan.Gives[at] {
			continue
		}
		// A destination is chosen here, so that what it takes is counted at once.
		to, wait := r.destination(view, c, plan)
		switch {
		case wait:
			// The piece stays the next: it may be one of few that can go there.
			r.queues[from] = slices.Insert(r.queues[from], 0, c)
			r.sleep(ctx, balanceTick)
		case to != 0 && r.begin(ctx, c, to):
			plan.Gives[at] -= c.size()
			plan.Takes[r.places[to]] -= c.size()
			r.looked = time.Now()
		}
	}
	return false, nil
}

// givesWay reports whether moves wait for writes of clients and of tape drives, and says so.
func (r *balanceRun) givesWay(volumes []balance.Volume, plan balance.Plan) bool {
	written, disks, yields := balance.Yields(volumes, r.base.Writers)
	now := r.base.Now()
	if !yields {
		r.yields = time.Time{}
	} else if r.yields.IsZero() {
		r.yields = now
	}
	// Once it has waited for so long it goes on, until there is a moment with few writes.
	left := r.yields.Add(balance.YieldMost).Sub(now)
	if !yields || left <= 0 {
		if state, _ := r.state(); state == "waiting" {
			r.set("running", why(volumes, plan))
		}
		return false
	}
	r.set("waiting", fmt.Sprintf("%s; it gives way to writes on %d of %d disks until there are fewer, for %s at most",
		why(volumes, plan), written, disks, left.Round(time.Minute)))
	return true
}

// allPassed reports whether no disk that has to give has a file left that was not looked at.
func (r *balanceRun) allPassed(volumes []balance.Volume, plan balance.Plan) bool {
	for i, v := range volumes {
		for _, id := range v.Disks {
			if plan.Gives[i] > 0 && !r.passed(id) {
				return false
			}
		}
	}
	return true
}

// source is the disk that gives next: of the volume that has most to give. It is 0 if there is none, and rest says that
// one only rests.
func (r *balanceRun) source(volumes []balance.Volume, plan balance.Plan) (from hemera.DiskID, rest bool) {
	var most int64
	// The fullest first: it is what the space is furthest off by.
	for i, v := range volumes {
		for _, id := range v.Disks {
			if plan.Gives[i] <= 0 || r.passed(id) {
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

// next is the next piece of the disk to look at: the oldest files first, and of a page those whose pieces share a node or a
// zone. ok is false at the end of the list, which begins again then.
func (r *balanceRun) next(ctx context.Context, disk hemera.DiskID, view *hemera.View) (c candidate, ok bool, err error) {
	if len(r.queues[disk]) == 0 {
		// A look at very many files that cannot be moved shall not take a processor.
		if !r.looked.IsZero() {
			r.sleep(ctx, min(wakeShare*time.Since(r.looked), balanceTick))
		}
		r.looked = time.Now()
		after := r.cursors[disk]
		entries, err := r.base.Files.DiskFiles(ctx, disk, after, pageFiles)
		if err != nil {
			return c, false, err
		}
		if len(entries) == 0 {
			delete(r.cursors, disk)
			r.pass(disk)
			return c, false, nil
		}
		r.cursors[disk] = entries[len(entries)-1].ID
		r.queues[disk] = candidates(view, disk, entries)
	}
	queue := r.queues[disk]
	// A page may have files whose piece has moved from the disk since.
	if len(queue) == 0 {
		return c, false, nil
	}
	c, r.queues[disk] = queue[0], queue[1:]
	return c, true, nil
}

// candidates are the pieces of the disk in a page, those first that share a node or a zone with another of their file.
func candidates(view *hemera.View, disk hemera.DiskID, entries []hemera.Entry) (list []candidate) {
	for _, e := range entries {
		for _, p := range e.Pieces {
			if c := (candidate{entry: e, piece: p}); p.Disk == disk && c.size() > 0 {
				c.shares = move.SpreadOf(view, e, move.DisksOf(e.Pieces)).Shares()
				list = append(list, c)
			}
		}
	}
	// Stable: among equals the oldest files stay first, which are read least.
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Compare(order(b.shares), order(a.shares))
	})
	return list
}

// order is 1 for what is true.
func order(b bool) int {
	if b {
		return 1
	}
	return 0
}

// destination chooses the disk that takes the piece; 0 if there is none. wait: only disks that rest could take it.
func (r *balanceRun) destination(view *hemera.View, c candidate, plan balance.Plan) (to hemera.DiskID, wait bool) {
	// Placement chooses among what is allowed: by spread first, then by free room and load.
	resting := false
	m, err := r.plan(view, c, func(id hemera.DiskID) bool {
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

// plan plans the move of a piece to one of the disks, if the file's pieces lie no worse then.
func (r *balanceRun) plan(view *hemera.View, c candidate, allow func(hemera.DiskID) bool) (move.Plan, error) {
	return move.NewPlan(view, c.entry, move.Spec{Index: c.piece.Index, Drop: []hemera.Piece{c.piece}, Allow: allow, Spread: true,
		Seed: uint64(c.entry.ID)<<8 ^ uint64(c.entry.Gen), Writes: r.base.Writers})
}

// begin begins a move when there is a slot, and reports false if ctx ended before.
func (r *balanceRun) begin(ctx context.Context, c candidate, to hemera.DiskID) bool {
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	// The rate is read for each piece, so that a change holds at once.
	view := r.base.Cluster.View()
	space, _ := view.Space(r.space)
	_, rate := space.Balancer.Limits()
	r.ledger.begin(c.piece.Disk, to, c.size(), rate)
	r.base.Panics.Go(&r.group, "maint.Balance", about(c.entry.ID), func() {
		defer func() { <-r.slots }()
		part := r.job.begin(c.size())
		// It waits for its turn behind all that is more urgent, and has the destination that was counted or none.
		bytes, err := r.base.mover.Relocate(ctx, c.entry, move.Spec{Index: c.piece.Index, Drop: []hemera.Piece{c.piece}, Urgency: move.UrgencyBalance,
			Allow: func(id hemera.DiskID) bool { return id == to }, Spread: true, Watch: part.to})
		counted := part.end()
		r.ledger.end(c.piece.Disk, to, c.size(), err == nil)
		switch {
		case err == nil:
			r.moved(bytes, counted)
			r.counted(c)
		case inUse(err) || errors.Is(err, errs.NoSpace) || ctx.Err() != nil:
			// The file or the disk changed, or the run was called off: the next look sees what is left.
		default:
			r.failed(err)
		}
	})
	return true
}

// sleep waits for a while, or for the end of ctx.
func (r *balanceRun) sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
