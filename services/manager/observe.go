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

	"hemera"
)

// Operations implements hemera.Observer.
func (m *Manager) Operations(context.Context) ([]hemera.OpStat, error) { return m.ops.list(), nil }

// AddSessions has the manager list the sessions of a door.
func (m *Manager) AddSessions(list func() []hemera.SessionInfo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions = append(m.sessions, list)
}

// AddPresence has the manager ask a door whether a session is connected to it.
func (m *Manager) AddPresence(present func(session string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.present = append(m.present, present)
}

// left reports whether a session is connected to no door any more. Where that is not known it is not so.
func (m *Manager) left(session string) bool {
	m.mu.Lock()
	doors := m.present
	m.mu.Unlock()
	return session != "" && len(doors) > 0 && !slices.ContainsFunc(doors, func(present func(string) bool) bool { return present(session) })
}

// Sessions implements hemera.Observer.
func (m *Manager) Sessions(context.Context) ([]hemera.SessionInfo, error) {
	m.mu.Lock()
	doors := m.sessions
	m.mu.Unlock()
	var all []hemera.SessionInfo
	for _, list := range doors {
		all = append(all, list()...)
	}
	return all, nil
}

const (
	// usesLimit is how many open files each node lists, and usesPatience how long it has for that.
	usesLimit    = 1000
	usesPatience = 2 * time.Second
)

// OpenFiles implements hemera.Observer. It asks nodes by an order, so it costs them nothing while
// nobody wants to know.
func (m *Manager) OpenFiles(ctx context.Context) (out hemera.OpenFiles, err error) {
	defer m.ops.begin("OpenFiles").end(&err)
	ctx, cancel := context.WithTimeout(ctx, usesPatience)
	defer cancel()
	var mu sync.Mutex
	var asked sync.WaitGroup
	for _, n := range m.cluster.View().Nodes {
		if n.Status != hemera.NodeOnline {
			continue
		}
		asked.Go(func() {
			r, err := m.orders.Do(ctx, n.ID, hemera.Order{Kind: hemera.OrderUses, Limit: usesLimit})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				out.Silent = append(out.Silent, n.ID)
				return
			}
			out.Cut = out.Cut || len(r.Files) >= usesLimit
			for _, f := range r.Files[:min(len(r.Files), usesLimit)] {
				f.Node = n.ID
				out.Files = append(out.Files, f)
			}
		})
	}
	asked.Wait()
	slices.Sort(out.Silent)
	slices.SortStableFunc(out.Files, func(a, b hemera.OpenFile) int {
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Path, b.Path))
	})
	return out, nil
}

// NamespaceStats implements hemera.Observer.
func (m *Manager) NamespaceStats(context.Context) (hemera.NamespaceStats, error) {
	s := m.tree.Stats()
	s.Pending = int64(m.pending.size())
	s.Goroutines = runtime.NumGoroutine()
	p := processStats()
	s.RSS, s.VSize, s.Shared, s.Threads, s.Descriptors = p.resident, p.virtual, p.shared, p.threads, p.descriptors
	s.Growth = p.virtual - m.began
	s.LastBackup, s.BackupsSince = m.cluster.Backups()
	return s, nil
}

// Events implements hemera.Observer.
func (m *Manager) Events(ctx context.Context, after uint64, limit int) ([]hemera.Event, error) {
	return m.tree.Events(ctx, after, limit)
}

// process is what Linux counts of this process: bytes, threads and open descriptors. Zero elsewhere.
type process struct {
	resident, virtual, shared int64
	threads, descriptors      int
}

func processStats() (p process) {
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
		p.descriptors = len(open)
	}
	return p
}
