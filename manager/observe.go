package manager

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"runtime"
	"slices"
	"strconv"

	"hemera/cluster"
	"hemera/maint/orders"
	"hemera/namespace"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// observer implements adminapi.Observer.
type observer struct {
	tree     namespace.Parts
	cluster  *cluster.Cluster
	orders   *orders.Dispatcher
	pending  *pending // only counted
	nodes    *broadcast
	ops      *operations
	began    int64                         // bytes of virtual memory when it was made
	sessions func() []adminapi.SessionInfo // at the doors; nil: none
}

// Operations implements adminapi.Observer.
func (o *observer) Operations(context.Context) ([]adminapi.OpStat, error) { return o.ops.list(), nil }

// Sessions implements adminapi.Observer.
func (o *observer) Sessions(context.Context) ([]adminapi.SessionInfo, error) {
	if o.sessions == nil {
		return nil, nil
	}
	return o.sessions(), nil
}

// OpenFiles implements adminapi.Observer. It asks nodes by an order, so it costs them nothing while no admin asks.
func (o *observer) OpenFiles(ctx context.Context) (out adminapi.OpenFiles, err error) {
	defer o.ops.begin("OpenFiles").end(&err)
	out.Silent = o.nodes.ask(ctx, hemera.Order{Kind: hemera.OrderUses, Limit: usesLimit}, func(n hemera.NodeInfo, r hemera.OrderResult) {
		out.Cut = out.Cut || len(r.Files) >= usesLimit
		for _, f := range r.Files[:min(len(r.Files), usesLimit)] {
			f.Node = n.ID
			out.Files = append(out.Files, f)
		}
	})
	// Files that move most come first; files at rest are ordered by node and path.
	slices.SortStableFunc(out.Files, func(a, b hemera.OpenFile) int {
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Path, b.Path))
	})
	return out, nil
}

// Measure implements adminapi.Observer.
func (o *observer) Measure(ctx context.Context, node hemera.NodeID, command []string) (_ []byte, err error) {
	defer o.ops.begin("Measure").end(&err)
	n, ok := o.cluster.View().Node(node)
	if !ok {
		return nil, errs.New(errs.NotFound, "manager.Measure", "node "+node.String(), "there is no such node")
	}
	// No answer would come, and the caller would wait.
	if n.Status != hemera.NodeOnline {
		return nil, errs.New(errs.Unavailable, "manager.Measure", n.Addr, "the node is offline")
	}
	r, err := o.orders.Do(ctx, node, hemera.Order{Kind: hemera.OrderMeasure, Command: command})
	return r.Measured, err
}

// NamespaceStats implements adminapi.Observer.
func (o *observer) NamespaceStats(context.Context) (adminapi.NamespaceStats, error) {
	s := o.tree.Stats()
	s.Pending = int64(o.pending.size())
	s.Goroutines = runtime.NumGoroutine()
	p := processStats()
	s.RSS, s.VSize, s.Shared, s.Threads, s.Descriptors = p.resident, p.virtual, p.shared, p.threads, p.descriptors
	// Virtual memory that a process reserves at its start says nothing; what it grows by may be a leak.
	s.Growth = p.virtual - o.began
	s.LastBackup, s.BackupsSince = o.cluster.Surveys.Backups()
	return s, nil
}

// Events implements adminapi.Observer.
func (o *observer) Events(ctx context.Context, after uint64, limit int) ([]hemera.Event, error) {
	return o.tree.Events(ctx, after, limit)
}

// process has the counts of Linux for this process: bytes, threads and open descriptors. Zero elsewhere.
type process struct {
	resident, virtual, shared int64 // bytes
	threads, descriptors      int
}

// processStats reads /proc. A figure that cannot be read is zero.
func processStats() (p process) {
	// proc(5): size, resident and shared are the first three fields, in pages.
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		pages := make([]int64, 3)
		for i, f := range bytes.Fields(text)[:min(3, len(bytes.Fields(text)))] {
			pages[i], _ = strconv.ParseInt(string(f), 10, 64)
		}
		unit := int64(os.Getpagesize())
		p.virtual, p.resident, p.shared = pages[0]*unit, pages[1]*unit, pages[2]*unit
	}
	if tasks, err := os.ReadDir("/proc/self/task"); err == nil {
		p.threads = len(tasks)
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		// The directory that is being read has a descriptor too, so this is one more than without the question.
		p.descriptors = len(open)
	}
	return p
}
