package manager

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"strconv"

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

// NamespaceStats implements hemera.Observer.
func (m *Manager) NamespaceStats(context.Context) (hemera.NamespaceStats, error) {
	s := m.tree.Stats()
	s.Pending = int64(m.pending.size())
	s.Goroutines = runtime.NumGoroutine()
	p := processStats()
	s.RSS, s.VSize, s.Shared, s.Threads, s.Descriptors = p.resident, p.virtual, p.shared, p.threads, p.descriptors
	s.Growth = p.virtual - m.began
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
