package node

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera/disk"
	"hemera/platform/contain"
	"hemera/transfer"
	"hemera/transfer/conversion"
	"hemera/transfer/jobs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Limits of the order runner.
const (
	// ordersQueued bounds the orders that wait in a lane; more fail with Overloaded.
	ordersQueued = 1024
	// resultsMax bounds the results of one exchange.
	resultsMax = 1024
	// exchangesMax bounds the concurrent exchanges.
	exchangesMax = 2
	// inventoryMax bounds one inventory.
	inventoryMax = 10_000 // pieces; the end of each is read
	// measuredMax bounds the output of one measurement, in bytes; an exchange may have several.
	measuredMax = 4 << 20
	// usesMax bounds one list of open files, or of abandoned writes: some hundred kilobytes.
	usesMax = 1000
)

// orders runs the orders of the manager: some lanes for each disk, all disks in parallel. The orders of one file on one
// disk are in one lane, which runs them one after the other in the order of their arrival. Lanes last as long as the
// node, across leases: an order of a new lease never runs before one of an old lease that still runs. Orders of an ended
// lease are skipped; the manager sends them again in the next. A disk that does not answer blocks a lane only as long as
// its calls may take (see package bounded). Then they fail, and the orders that wait in the lane fail at once.
type orders struct {
	disks   *disks
	host    *transfer.Host
	pending *transfer.Pending
	verify  func(token string) (hemera.Capability, error)
	program func(ctx context.Context, command []string) ([]byte, error) // see Options.Program
	log     *slog.Logger
	panics  *contain.Panics
	workers int // lanes for each disk

	done   atomic.Int64 // since the start
	copies sync.Map     // *atomic.Int64, the bytes copied so far, by the id of the order

	running *sync.WaitGroup // lanes
	ended   context.Context // of the node
	mu      sync.Mutex
	lanes   map[lane]chan job
}

// sumWorker is the lane of checksums for clients, so that other work of the disk does not wait for them.
const sumWorker = -1

// measureWorker is the lane of measurements, without a disk: a machine runs one at a time.
const measureWorker = -100

// convertWorker and the lanes below it are for conversions, which may be of large files, so that copies and removals do
// not wait for them. convertWorkers is the number of files that a node converts at once for one disk.
const (
	convertWorker  = -2
	convertWorkers = 4
)

// endLeftWorker and the lanes below it end abandoned writes, without a disk, because a seal may take long.
const (
	endLeftWorker  = -101
	endLeftWorkers = 4
)

// lane is one worker of one disk.
type lane struct {
	disk   hemera.DiskID
	worker int
}

// job is an order in its lane.
type job struct {
	hemera.Order
	ctx    context.Context // context of the order
	lease  context.Context // when it has ended, the answer is not needed
	answer func(hemera.OrderResult)
}

// add puts a job into the lane. It returns false if the lane is full.
func (r *orders) add(at lane, j job) bool {
	r.mu.Lock()
	// A lane starts with its first order and never ends: there are few for each disk.
	queue := r.lanes[at]
	if queue == nil {
		queue = make(chan job, ordersQueued)
		r.lanes[at] = queue
		r.running.Go(func() { r.serve(queue) })
	}
	r.mu.Unlock()
	select {
	case queue <- j:
		return true
	default:
		return false
	}
}

// serve runs the jobs of a lane until the node ends.
func (r *orders) serve(queue chan job) {
	for {
		select {
		case <-r.ended.Done():
			return
		case j := <-queue:
			if j.lease.Err() == nil {
				j.answer(r.contained(j))
			}
		}
	}
}

// contained runs one order. An order that panics fails, and the node continues.
func (r *orders) contained(j job) (res hemera.OrderResult) {
	err := r.panics.Do("node.Order", j.Piece.String(), func() error {
		res = r.run(j.ctx, j.Order)
		return nil
	})
	if err != nil {
		return failure(j.ID, err)
	}
	return res
}

// lease has the orders of one lease.
type lease struct {
	orders  *orders
	group   *errgroup.Group
	open    map[uint64]*openOrder   // by id; repeated orders do not run again
	results chan hemera.OrderResult // full while results come faster than they are delivered
}

// openOrder is an order without an answer. cancel stops it; nil if it cannot be stopped.
type openOrder struct{ cancel func() }

// work exchanges results for orders until the lease is lost. A call that waits for orders does not delay results: they
// are sent with a second call, which ends the first at the manager.
func (n *Node) work(ctx context.Context, epoch hemera.Epoch) error {
	group, ctx := errgroup.WithContext(ctx)
	l := &lease{orders: n.orders, group: group, open: map[uint64]*openOrder{}, results: make(chan hemera.OrderResult, resultsMax)}
	replies := make(chan []hemera.Order, exchangesMax)
	exchanges := 0
	exchange := func(results []hemera.OrderResult) {
		exchanges++
		group.Go(n.panics.Func("node.Exchange", "", func() error {
			call, cancel := context.WithTimeout(ctx, exchangeTimeout)
			defer cancel()
			reply, err := n.o.Control.Exchange(call, n.ID(), epoch, results)
			n.seen.saw(reply.Seen)
			replies <- reply.Orders
			return errs.Wrap(err, "node.Exchange", n.address())
		}))
	}
	group.Go(n.panics.Func("node.Work", "", func() error {
		exchange(nil)
		for {
			// When all exchanges are under way, results wait; a nil channel is never ready.
			done := l.results
			if exchanges == exchangesMax {
				done = nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case orders := <-replies:
				exchanges--
				for _, o := range orders {
					l.accept(ctx, o)
				}
				if exchanges == 0 {
					exchange(nil)
				}
			case res := <-done:
				exchange(l.collect(res))
			}
		}
	}))
	return group.Wait()
}

// accept queues an order for its disk. It refuses an order to a disk that does not answer at once, so that the manager
// knows.
func (l *lease) accept(ctx context.Context, o hemera.Order) {
	if o.Kind == hemera.OrderCancel {
		if other := l.open[o.Cancels]; other != nil && other.cancel != nil {
			other.cancel()
		}
		return
	}
	if l.open[o.ID] != nil {
		return
	}
	entry := &openOrder{}
	l.open[o.ID] = entry
	if l.orders.disks.stalled(o.Disk) {
		l.refuse(ctx, o.ID, errs.New(errs.Unavailable, "node.Order", o.Disk.String(), "the disk does not answer"))
		return
	}
	j := job{Order: o, ctx: ctx, lease: ctx, answer: func(res hemera.OrderResult) { l.answer(ctx, res) }}
	at := lane{disk: o.Disk, worker: int(uint64(o.Piece.File) % uint64(l.orders.workers))}
	switch {
	case o.Kind == hemera.OrderSum, o.Kind == hemera.OrderVerify && o.Checksum != hemera.ChecksumNone:
		at.worker = sumWorker
		j.ctx, entry.cancel = context.WithCancel(ctx)
	case o.Kind == hemera.OrderMeasure:
		at.worker = measureWorker
		j.ctx, entry.cancel = context.WithCancel(ctx)
	case o.Kind == hemera.OrderEndLeft:
		at.worker = endLeftWorker - int(o.Nonce%endLeftWorkers)
	case o.Kind == hemera.OrderConvert:
		at.worker = convertWorker - int(uint64(o.Piece.File)%convertWorkers)
		j.ctx, entry.cancel = context.WithCancel(ctx)
	}
	if !l.orders.add(at, j) {
		l.refuse(ctx, o.ID, errs.New(errs.Overloaded, "node.Order", o.Disk.String(), "too many orders wait for the disk"))
	}
}

// refuse answers an order with an error. It does not block.
func (l *lease) refuse(ctx context.Context, id uint64, why error) {
	l.group.Go(l.orders.panics.Func("node.Order", "", func() error { l.answer(ctx, failure(id, why)); return nil }))
}

// collect returns first and the other available results.
func (l *lease) collect(first hemera.OrderResult) []hemera.OrderResult {
	list := []hemera.OrderResult{first}
	// Only this goroutine receives, so the results stay available.
	for len(list) < resultsMax && len(l.results) > 0 {
		list = append(list, <-l.results)
	}
	for _, res := range list {
		if o := l.open[res.ID]; o != nil && o.cancel != nil {
			o.cancel()
		}
		delete(l.open, res.ID)
	}
	return list
}

// answer delivers a result, and blocks while many others wait. When the lease has ended it drops the result.
func (l *lease) answer(ctx context.Context, res hemera.OrderResult) {
	select {
	case l.results <- res:
	case <-ctx.Done():
	}
}

// run runs one order.
func (r *orders) run(ctx context.Context, o hemera.Order) hemera.OrderResult {
	defer r.done.Add(1)
	if err := ctx.Err(); err != nil {
		return failure(o.ID, errs.Wrap(err, "node.Order", o.Piece.String()))
	}
	if o.Kind == hemera.OrderUses {
		return hemera.OrderResult{ID: o.ID, Files: r.host.Uses(min(max(o.Limit, 0), usesMax))}
	}
	switch o.Kind {
	case hemera.OrderMeasure:
		return r.measure(ctx, o)
	case hemera.OrderLeft:
		return hemera.OrderResult{ID: o.ID, Left: r.pending.Left(min(max(o.Limit, 0), usesMax))}
	case hemera.OrderEndLeft:
		i, err := r.pending.EndLeft(ctx, o.Nonce, o.Commit)
		if err != nil {
			return failure(o.ID, err)
		}
		return hemera.OrderResult{ID: o.ID, Left: []hemera.WriteInfo{i}}
	}
	store, ok := r.disks.find(o.Disk)
	if !ok {
		return failure(o.ID, errs.New(errs.NotFound, "node.Order", o.Disk.String(), "this node does not have the disk"))
	}
	res := hemera.OrderResult{ID: o.ID}
	var err error
	// Each can be repeated without harm, because the manager repeats an order whose answer it has lost.
	switch o.Kind {
	case hemera.OrderCopy:
		r.pending.Take(o.Piece, o.Disk) // a write that left the piece here does not return for it
		res.Bytes, err = r.copyPiece(ctx, store, o)
	case hemera.OrderRemove:
		err = store.Remove(o.Piece)
	case hemera.OrderVerify: // a bad piece is a result, not a failure
		var v jobs.Verified
		v, err = r.host.Jobs().Verify(ctx, store, o.Piece, o.Checksum)
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
	case hemera.OrderConvert:
		res.Bytes, err = r.convert(ctx, o)
	case hemera.OrderRepair:
		var job jobs.Job
		if job, err = r.job(store, o); err == nil {
			r.pending.Take(o.Piece, o.Disk)
			var pages int64
			pages, err = r.host.Jobs().Repair(ctx, job)
			res.Bytes = pages * hemera.PageSize
		}
	case hemera.OrderSum:
		res.Checksums, err = r.sum(ctx, o)
	default:
		err = errs.New(errs.Unsupported, "node.Order", o.Piece.String(), fmt.Sprintf("this node does not know order kind %d", o.Kind))
	}
	if err != nil { // partial information is sent with the error
		f := failure(o.ID, err)
		f.BadPages, f.Pieces, f.Checksums = res.BadPages, res.Pieces, res.Checksums
		// An order that was cancelled, or whose lease has ended, needs no warning.
		level := slog.LevelWarn
		if ctx.Err() != nil {
			level = slog.LevelDebug // the manager does not need it any more
		}
		r.log.Log(ctx, level, "order failed", "order", o.ID, "kind", o.Kind, "piece", o.Piece.String(), "disk", o.Disk, "error", err)
		return f
	}
	return res
}

// measure runs a measurement of the node's machine.
func (r *orders) measure(ctx context.Context, o hemera.Order) hemera.OrderResult {
	if r.program == nil {
		return failure(o.ID, errs.New(errs.Unsupported, "node.Measure", strings.Join(o.Command, " "), "this node runs no measurements"))
	}
	data, err := r.program(ctx, o.Command)
	if err == nil && len(data) > measuredMax {
		err = errs.New(errs.Invalid, "node.Measure", strings.Join(o.Command, " "), fmt.Sprintf("the result has %d bytes, more than one answer may have", len(data)))
	}
	if err != nil {
		return failure(o.ID, err)
	}
	return hemera.OrderResult{ID: o.ID, Measured: data}
}

// job returns the transfer job of an order that reads from other disks.
func (r *orders) job(store disk.Store, o hemera.Order) (jobs.Job, error) {
	c, err := r.verify(o.Token)
	if err != nil {
		return jobs.Job{}, errs.As(err, errs.Denied, "node.Order", o.Piece.String())
	}
	return jobs.Job{Piece: o.Piece, Disk: store, Cap: c, Token: o.Token, Sources: o.Sources}, nil
}

// copyPiece copies a piece from other disks to this one, and publishes its progress.
func (r *orders) copyPiece(ctx context.Context, store disk.Store, o hemera.Order) (int64, error) {
	job, err := r.job(store, o)
	if err != nil {
		return 0, err
	}
	job.Copied = new(atomic.Int64)
	r.copies.Store(o.ID, job.Copied)
	defer r.copies.Delete(o.ID)
	began := time.Now()
	bytes, err := r.host.Jobs().Copy(ctx, job)
	if err == nil {
		took := time.Since(began)
		r.log.Debug("piece copied", "piece", o.Piece.String(), "disk", o.Disk, "bytes", bytes, "took", took,
			"MBps", float64(bytes)/1e6/max(took.Seconds(), 1e-6))
	}
	return bytes, err
}

// convert writes a file with another layout, and publishes its progress.
func (r *orders) convert(ctx context.Context, o hemera.Order) (int64, error) {
	from, err := r.verify(o.From)
	if err != nil {
		return 0, errs.As(err, errs.Denied, "node.Order", o.Piece.String())
	}
	to, err := r.verify(o.Token)
	if err != nil {
		return 0, errs.As(err, errs.Denied, "node.Order", o.Piece.String())
	}
	done := new(atomic.Int64)
	r.copies.Store(o.ID, done)
	defer r.copies.Delete(o.ID)
	return conversion.Run(ctx, r.pending, hemera.VerifiedPermit(from, o.From), hemera.VerifiedPermit(to, o.Token), r.panics, done)
}

// copied returns the progress of the current copies.
func (r *orders) copied() (list []hemera.CopyState) {
	r.copies.Range(func(id, bytes any) bool {
		list = append(list, hemera.CopyState{Order: id.(uint64), Bytes: bytes.(*atomic.Int64).Load()})
		return len(list) < hemera.CopiesMax
	})
	return list
}

// failure returns the answer to a failed order. If a disk does not answer it is Unavailable, so that the manager gives
// the order again, to this node or another.
func failure(order uint64, err error) hemera.OrderResult {
	if disk.IsStalled(err) {
		err = errs.As(err, errs.Unavailable, "node.Order", "")
	}
	return hemera.OrderResult{ID: order, Failed: true, ErrKind: uint8(errs.KindOf(err)), ErrText: err.Error(), Remedy: errs.RemedyOf(err)}
}
