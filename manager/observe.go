package manager

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// observer implements hemera.Observer, and knows the doors' sessions.
type observer struct {
	*parts
	began int64 // bytes of virtual memory when it was made

	mu       sync.Mutex                    // guards the lists, which grow while doors start; no door is called under it
	sessions []func() []hemera.SessionInfo // one of each door
	present  []func(session string) bool   // one of each door
}

// Operations implements hemera.Observer.
func (o *observer) Operations(context.Context) ([]hemera.OpStat, error) { return o.ops.list(), nil }

// AddSessions has the manager list the sessions of a door.
func (o *observer) AddSessions(list func() []hemera.SessionInfo) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sessions = append(o.sessions, list)
}

// AddPresence has the manager ask a door whether a session is connected to it.
func (o *observer) AddPresence(present func(session string) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.present = append(o.present, present)
}

// left reports whether a session is connected to no door any more. Where that is not known it is not so.
func (o *observer) left(session string) bool {
	o.mu.Lock()
	doors := o.present
	o.mu.Unlock()
	return session != "" && len(doors) > 0 && !slices.ContainsFunc(doors, func(present func(string) bool) bool { return present(session) })
}

// Sessions implements hemera.Observer.
func (o *observer) Sessions(context.Context) ([]hemera.SessionInfo, error) {
	o.mu.Lock()
	doors := o.sessions
	o.mu.Unlock()
	var all []hemera.SessionInfo
	for _, list := range doors {
		all = append(all, list()...)
	}
	return all, nil
}

const (
	// usesLimit is how many open files each node lists, and usesPatience how long it has for that.
	// 1000 files are more than an admin reads, and keep an answer of one node within some hundred kilobytes.
	usesLimit    = 1000
	usesPatience = 2 * time.Second
)

// OpenFiles implements hemera.Observer. It asks nodes by an order, so it costs them nothing while
// nobody wants to know.
func (o *observer) OpenFiles(ctx context.Context) (out hemera.OpenFiles, err error) {
	defer o.ops.begin("OpenFiles").end(&err)
	out.Silent = o.askNodes(ctx, hemera.Order{Kind: hemera.OrderUses, Limit: usesLimit}, func(n hemera.NodeInfo, r hemera.OrderResult) {
		out.Cut = out.Cut || len(r.Files) >= usesLimit
		for _, f := range r.Files[:min(len(r.Files), usesLimit)] {
			f.Node = n.ID
			out.Files = append(out.Files, f)
		}
	})
	// What moves most comes first; files at rest are ordered by node and path.
	slices.SortStableFunc(out.Files, func(a, b hemera.OpenFile) int {
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Path, b.Path))
	})
	return out, nil
}

// askNodes gives an order to every node that is online, and each answer to take, one after the other. It returns the nodes that have
// not answered within usesPatience.
func (p *parts) askNodes(ctx context.Context, order hemera.Order, take func(hemera.NodeInfo, hemera.OrderResult)) (silent []hemera.NodeID) {
	ctx, cancel := context.WithTimeout(ctx, usesPatience)
	defer cancel()
	var mu sync.Mutex
	var asked sync.WaitGroup
	for _, n := range p.cluster.View().Nodes {
		if n.Status != hemera.NodeOnline {
			continue
		}
		// One goroutine for each node, all under the same deadline: a node that hangs costs its own answer only.
		p.panics.Go(&asked, "manager.Ask", n.Addr, func() {
			r, err := p.orders.Do(ctx, n.ID, order)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				// Its error is not the call's: the answer says whose files are missing.
				silent = append(silent, n.ID)
				return
			}
			take(n, r)
		})
	}
	asked.Wait()
	slices.Sort(silent)
	return silent
}

// Measure implements hemera.Observer.
func (o *observer) Measure(ctx context.Context, node hemera.NodeID, command []string) (_ []byte, err error) {
	defer o.ops.begin("Measure").end(&err)
	n, ok := o.cluster.View().Node(node)
	if !ok {
		return nil, errs.New(errs.NotFound, "manager.Measure", "node "+node.String(), "there is no such node")
	}
	// Nobody would answer, and the caller would wait.
	if n.Status != hemera.NodeOnline {
		return nil, errs.New(errs.Unavailable, "manager.Measure", n.Addr, "the node is offline")
	}
	r, err := o.orders.Do(ctx, node, hemera.Order{Kind: hemera.OrderMeasure, Command: command})
	return r.Measured, err
}

// NamespaceStats implements hemera.Observer.
func (o *observer) NamespaceStats(context.Context) (hemera.NamespaceStats, error) {
	s := o.tree.Stats()
	s.Pending = int64(o.pending.size())
	s.Goroutines = runtime.NumGoroutine()
	p := processStats()
	s.RSS, s.VSize, s.Shared, s.Threads, s.Descriptors = p.resident, p.virtual, p.shared, p.threads, p.descriptors
	// Virtual memory that a process reserves at its start says nothing; what it grows by may be a leak.
	s.Growth = p.virtual - o.began
	s.LastBackup, s.BackupsSince = o.cluster.Backups()
	return s, nil
}

// Events implements hemera.Observer.
func (o *observer) Events(ctx context.Context, after uint64, limit int) ([]hemera.Event, error) {
	return o.tree.Events(ctx, after, limit)
}

// process is what Linux counts of this process: bytes, threads and open descriptors. Zero elsewhere.
type process struct {
	resident, virtual, shared int64 // bytes
	threads, descriptors      int
}

// processStats reads /proc. What cannot be read is zero.
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
