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
	s.RSS = residentBytes()
	return s, nil
}

// Events implements hemera.Observer.
func (m *Manager) Events(ctx context.Context, after uint64, limit int) ([]hemera.Event, error) {
	return m.tree.Events(ctx, after, limit)
}

// residentBytes is this process's memory as Linux counts it; zero elsewhere.
func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}
