package node

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera"
	"hemera/core/disk"
	"hemera/core/transfer"
	"hemera/errs"
)

// Limits of the order runner.
const (
	// ordersQueued is how many orders wait per worker; more are answered Overloaded.
	ordersQueued = 1024
	// resultsMax is how many results one exchange delivers.
	resultsMax = 1024
	// callsMax is how many exchanges are under way at once.
	callsMax = 2
	// inventoryMax bounds one inventory.
	inventoryMax = 10_000
	// usesMax bounds one list of open files: some hundred kilobytes.
	usesMax = 1000
	// hangInterval is how often orders under way are looked at for disks that hang.
	hangInterval = time.Second
)

// runner runs the orders of one lease: some workers per disk, all disks in parallel. The orders of
// one file on one disk are run by one worker, in the order they came. Orders still running when the
// lease ends are stopped; the manager gives them again under the next. One that hangs is left behind:
// the next lease must not wait for it, but what comes for its lane does.
type runner struct {
	node    *Node
	group   *errgroup.Group
	lanes   map[lane]chan queued
	open    map[uint64]*taken // by id; orders given again are not run again
	results chan hemera.OrderResult
}

// taken is an order that is not answered yet.
type taken struct {
	disk    hemera.DiskID
	refused bool   // its answer is on its way
	cancel  func() // stops it; nil if it cannot be
}

// queued is an order in its lane, with the context that it runs in.
type queued struct {
	hemera.Order
	ctx context.Context
}

// sumWorker is the lane of checksums that clients ask for: other work of the disk does not wait for them.
const sumWorker = -1

// lane is one worker of one disk.
type lane struct {
	disk   hemera.DiskID
	worker int
}

// turns are the lanes' turns, which one worker holds as long as it works, whatever its lease.
type turns struct {
	mu   sync.Mutex
	held map[lane]chan struct{}
}

func (t *turns) of(at lane) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held == nil {
		t.held = map[lane]chan struct{}{}
	}
	if t.held[at] == nil {
		t.held[at] = make(chan struct{}, 1)
	}
	return t.held[at]
}

// work exchanges results for orders until the lease is lost. A call that waits for orders does not
// hold results up: they go with a second one, which ends the first at the manager.
func (n *Node) work(ctx context.Context, epoch uint64) error {
	group, ctx := errgroup.WithContext(ctx)
	r := &runner{node: n, group: group, lanes: map[lane]chan queued{}, open: map[uint64]*taken{},
		results: make(chan hemera.OrderResult, resultsMax)}
	replies := make(chan []hemera.Order, callsMax)
	calls := 0
	exchange := func(results []hemera.OrderResult) {
		calls++
		group.Go(func() error {
			call, cancel := context.WithTimeout(ctx, exchangeTimeout)
			defer cancel()
			orders, err := n.o.Control.Exchange(call, n.ID(), epoch, results)
			replies <- orders
			return errs.Wrap(err, "node.Exchange", n.address())
		})
	}
	group.Go(func() error {
		exchange(nil)
		look := time.NewTicker(hangInterval)
		defer look.Stop()
		for {
			done := r.results
			if calls == callsMax {
				done = nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case orders := <-replies:
				calls--
				for _, o := range orders {
					r.take(ctx, o)
				}
				if calls == 0 {
					exchange(nil)
				}
			case res := <-done:
				exchange(r.collect(res))
			case <-look.C:
				r.giveUp(ctx)
			}
		}
	})
	return group.Wait()
}

// take queues an order for its disk. Who gives orders to a disk that hangs shall know, and not wait.
func (r *runner) take(ctx context.Context, o hemera.Order) {
	if o.Kind == hemera.OrderCancel {
		if other := r.open[o.Cancels]; other != nil && other.cancel != nil {
			other.cancel()
		}
		return
	}
	if r.open[o.ID] != nil {
		return
	}
	entry, job := &taken{disk: o.Disk}, queued{o, ctx}
	r.open[o.ID] = entry
	if r.node.disks.hangs(o.Disk) {
		r.refuse(ctx, o.ID, silent(o.Disk))
		return
	}
	at := lane{disk: o.Disk, worker: int(uint64(o.Piece.File) % uint64(r.node.o.Workers))}
	if o.Kind == hemera.OrderVerify && o.Checksum != hemera.ChecksumNone {
		at.worker = sumWorker
		job.ctx, entry.cancel = context.WithCancel(ctx)
	}
	queue := r.lanes[at]
	if queue == nil {
		queue = make(chan queued, ordersQueued)
		r.lanes[at] = queue
		r.node.working.Go(func() { r.serve(ctx, r.node.turns.of(at), queue) })
	}
	select {
	case queue <- job:
	default:
		r.refuse(ctx, o.ID, errs.New(errs.Overloaded, "node.Order", o.Disk.String(), "too many orders wait for the disk"))
	}
}

func (r *runner) refuse(ctx context.Context, id uint64, why error) {
	r.open[id].refused = true
	r.group.Go(func() error { r.answer(ctx, failure(id, why)); return nil })
}

func silent(disk hemera.DiskID) error {
	return errs.New(errs.Unavailable, "node.Order", disk.String(), "the disk does not answer")
}

// giveUp answers orders whose disk has come to hang since they were taken: who gave them waits for nothing else.
// When it answers again it executes them all the same, before any that come later for the same files.
func (r *runner) giveUp(ctx context.Context) {
	hangs := map[hemera.DiskID]bool{}
	for id, o := range r.open {
		is, known := hangs[o.disk]
		if !known {
			is = r.node.disks.hangs(o.disk)
			hangs[o.disk] = is
		}
		if is && !o.refused {
			r.refuse(ctx, id, silent(o.disk))
		}
	}
}

// collect takes the results there are besides the first.
func (r *runner) collect(first hemera.OrderResult) []hemera.OrderResult {
	list := []hemera.OrderResult{first}
	for len(list) < resultsMax && len(r.results) > 0 {
		list = append(list, <-r.results)
	}
	for _, res := range list {
		if o := r.open[res.ID]; o != nil && o.cancel != nil {
			o.cancel()
		}
		delete(r.open, res.ID)
	}
	return list
}

func (r *runner) serve(ctx context.Context, turn chan struct{}, queue chan queued) {
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case o := <-queue:
			if ctx.Err() != nil {
				return // it is given again
			}
			r.answer(ctx, r.node.run(o.ctx, o.Order))
		}
	}
}

func (r *runner) answer(ctx context.Context, res hemera.OrderResult) {
	select {
	case r.results <- res:
	case <-ctx.Done():
	}
}

// run does one order.
func (n *Node) run(ctx context.Context, o hemera.Order) hemera.OrderResult {
	defer n.orders.Add(1)
	if err := ctx.Err(); err != nil {
		return failure(o.ID, errs.Wrap(err, "node.Order", o.Piece.String()))
	}
	if o.Kind == hemera.OrderUses {
		return hemera.OrderResult{ID: o.ID, Files: n.host.Uses(min(max(o.Limit, 0), usesMax))}
	}
	store, ok := n.disks.find(o.Disk)
	if !ok {
		return failure(o.ID, errs.New(errs.NotFound, "node.Order", o.Disk.String(), "this node does not have the disk"))
	}
	res := hemera.OrderResult{ID: o.ID}
	var err error
	switch o.Kind {
	case hemera.OrderCopy:
		n.pending.Take(o.Piece, o.Disk)
		res.Bytes, err = n.copyPiece(ctx, store, o)
	case hemera.OrderRemove:
		err = store.Remove(o.Piece)
	case hemera.OrderVerify:
		var v transfer.Verified
		v, err = n.host.Verify(ctx, store, o.Piece, o.Checksum)
		res.BadPages, res.Checksums, res.Bytes = int64(len(v.Bad)), v.Sums, v.Stat.Size
		if v.Stat.ID == o.Piece {
			res.Pieces = []hemera.PieceStat{v.Stat}
		}
	case hemera.OrderInventory:
		limit := o.Limit
		if limit <= 0 || limit > inventoryMax {
			limit = inventoryMax
		}
		res.Pieces, err = store.Scan(o.After, limit)
	case hemera.OrderRepair:
		var job transfer.Job
		if job, err = n.job(store, o); err == nil {
			n.pending.Take(o.Piece, o.Disk)
			var pages int64
			pages, err = n.host.Repair(ctx, job)
			res.Bytes = pages * hemera.PageSize
		}
	default:
		err = errs.New(errs.Unsupported, "node.Order", o.Piece.String(), fmt.Sprintf("this node does not know order kind %d", o.Kind))
	}
	if err != nil {
		f := failure(o.ID, err)
		f.BadPages, f.Pieces, f.Checksums = res.BadPages, res.Pieces, res.Checksums
		level := slog.LevelWarn
		if ctx.Err() != nil {
			level = slog.LevelDebug // whoever gave it does not want it any more
		}
		n.o.Log.Log(ctx, level, "order failed", "order", o.ID, "kind", o.Kind, "piece", o.Piece.String(), "disk", o.Disk, "err", err)
		return f
	}
	return res
}

// job is the transfer job of an order that reads from other disks.
func (n *Node) job(store disk.Store, o hemera.Order) (transfer.Job, error) {
	c, err := n.o.Verify(o.Token)
	if err != nil {
		return transfer.Job{}, errs.As(err, errs.Denied, "node.Order", o.Piece.String())
	}
	return transfer.Job{Piece: o.Piece, Disk: store, Cap: c, Token: o.Token, Sources: o.Sources}, nil
}

func (n *Node) copyPiece(ctx context.Context, store disk.Store, o hemera.Order) (int64, error) {
	job, err := n.job(store, o)
	if err != nil {
		return 0, err
	}
	job.Copied = new(atomic.Int64)
	n.copies.Store(o.ID, job.Copied)
	defer n.copies.Delete(o.ID)
	began := time.Now()
	bytes, err := n.host.Copy(ctx, job)
	if err == nil {
		took := time.Since(began)
		n.o.Log.Debug("piece copied", "piece", o.Piece.String(), "disk", o.Disk, "bytes", bytes, "took", took,
			"MBps", float64(bytes)/1e6/max(took.Seconds(), 1e-6))
	}
	return bytes, err
}

// copied is how far the copies under way are.
func (n *Node) copied() (list []hemera.CopyState) {
	n.copies.Range(func(id, bytes any) bool {
		list = append(list, hemera.CopyState{Order: id.(uint64), Bytes: bytes.(*atomic.Int64).Load()})
		return len(list) < hemera.CopiesMax
	})
	return list
}

// failure is the answer to an order that failed. A disk that does not answer is a reason to give the order again, here
// or elsewhere.
func failure(order uint64, err error) hemera.OrderResult {
	if disk.IsStalled(err) {
		err = errs.As(err, errs.Unavailable, "node.Order", "")
	}
	return hemera.OrderResult{ID: order, Failed: true, ErrKind: uint8(errs.KindOf(err)), ErrText: err.Error()}
}
