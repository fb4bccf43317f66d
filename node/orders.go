package node

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera"
	"hemera/disk"
	"hemera/errs"
	"hemera/transfer"
)

// Limits of the order runner.
const (
	// ordersQueued is how many orders wait per disk; more are answered Overloaded.
	ordersQueued = 1024
	// resultsMax is how many results one exchange delivers.
	resultsMax = 1024
	// resultGrace is how long results are waited for before the next long poll, so that a quick
	// order is answered without waiting for other orders to come.
	resultGrace = 250 * time.Millisecond
	// inventoryMax bounds one inventory.
	inventoryMax = 10_000
)

// runner runs the orders of one lease: some workers per disk, all disks in parallel. Orders still
// running when the lease ends are stopped; the manager gives them again under the next.
type runner struct {
	node    *Node
	group   *errgroup.Group
	lanes   map[hemera.DiskID]chan hemera.Order
	results chan hemera.OrderResult
	open    int // orders taken whose results were not collected
}

// work exchanges results for orders until the lease is lost.
func (n *Node) work(ctx context.Context, epoch uint64) error {
	group, ctx := errgroup.WithContext(ctx)
	r := &runner{node: n, group: group, lanes: map[hemera.DiskID]chan hemera.Order{},
		results: make(chan hemera.OrderResult, resultsMax)}
	group.Go(func() error {
		var results []hemera.OrderResult
		for {
			call, cancel := context.WithTimeout(ctx, exchangeTimeout)
			orders, err := n.o.Control.Exchange(call, n.ID(), epoch, results)
			cancel()
			if err != nil {
				return errs.Wrap(err, "node.Exchange", n.o.Addr)
			}
			for _, o := range orders {
				r.take(ctx, o)
			}
			results = r.collect(ctx)
		}
	})
	return group.Wait()
}

// take queues an order for its disk. An order that cannot be queued is answered in the same
// exchange as the others: it is collected before it could block.
func (r *runner) take(ctx context.Context, o hemera.Order) {
	lane := r.lanes[o.Disk]
	if lane == nil {
		lane = make(chan hemera.Order, ordersQueued)
		r.lanes[o.Disk] = lane
		for range r.node.o.Workers {
			r.group.Go(func() error { r.serve(ctx, lane); return nil })
		}
	}
	r.open++
	select {
	case lane <- o:
	default:
		refused := failure(o, errs.New(errs.Overloaded, "node.Order", o.Disk.String(), "too many orders wait for the disk"))
		r.group.Go(func() error { r.answer(ctx, refused); return nil })
	}
}

func (r *runner) serve(ctx context.Context, lane chan hemera.Order) {
	for {
		select {
		case <-ctx.Done():
			return
		case o := <-lane:
			r.answer(ctx, r.node.run(ctx, o))
		}
	}
}

func (r *runner) answer(ctx context.Context, res hemera.OrderResult) {
	select {
	case r.results <- res:
	case <-ctx.Done():
	}
}

// collect takes the results there are; with orders running and none done, it waits a little.
func (r *runner) collect(ctx context.Context) []hemera.OrderResult {
	if r.open == 0 {
		return nil
	}
	var list []hemera.OrderResult
	grace := time.NewTimer(resultGrace)
	defer grace.Stop()
	select {
	case res := <-r.results:
		list = append(list, res)
	case <-grace.C:
	case <-ctx.Done():
	}
	for len(list) < resultsMax {
		select {
		case res := <-r.results:
			list = append(list, res)
			continue
		default:
		}
		break
	}
	r.open -= len(list)
	return list
}

// run does one order.
func (n *Node) run(ctx context.Context, o hemera.Order) hemera.OrderResult {
	defer n.orders.Add(1)
	store, ok := n.disks.find(o.Disk)
	if !ok {
		return failure(o, errs.New(errs.NotFound, "node.Order", o.Disk.String(), "this node does not have the disk"))
	}
	res := hemera.OrderResult{ID: o.ID}
	var err error
	switch o.Kind {
	case hemera.OrderCopy:
		res.Bytes, err = n.copyPiece(ctx, store, o)
	case hemera.OrderRemove:
		err = store.Remove(o.Piece)
	case hemera.OrderVerify:
		var v transfer.Verified
		v, err = n.host.Verify(store, o.Piece, o.Checksum)
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
			var pages int64
			pages, err = n.host.Repair(ctx, job)
			res.Bytes = pages * hemera.PageSize
		}
	default:
		err = errs.New(errs.Unsupported, "node.Order", o.Piece.String(), fmt.Sprintf("this node does not know order kind %d", o.Kind))
	}
	if err != nil {
		f := failure(o, err)
		f.BadPages, f.Pieces, f.Checksums = res.BadPages, res.Pieces, res.Checksums
		n.o.Log.Warn("order failed", "order", o.ID, "kind", o.Kind, "piece", o.Piece.String(), "disk", o.Disk, "err", err)
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
	began := time.Now()
	bytes, err := n.host.Copy(ctx, job)
	if err == nil {
		took := time.Since(began)
		n.o.Log.Debug("piece copied", "piece", o.Piece.String(), "disk", o.Disk, "bytes", bytes, "took", took,
			"MBps", float64(bytes)/1e6/max(took.Seconds(), 1e-6))
	}
	return bytes, err
}

func failure(o hemera.Order, err error) hemera.OrderResult {
	return hemera.OrderResult{ID: o.ID, Failed: true, ErrKind: uint8(errs.KindOf(err)), ErrText: err.Error()}
}
