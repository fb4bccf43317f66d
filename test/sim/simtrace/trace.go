// Package simtrace is what happened in a simulation, for people.
//
// It is a package of its own: a simulation writes to it, and it asks nothing of a simulation.
package simtrace

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Trace has the events, line by line, with the simulated time since the start. It is what a person reads first after a
// failure: one line for each thing an actor did or a server logged.
type Trace struct {
	start time.Time // of the simulated clock

	mu    sync.Mutex
	lines []string // at most traceMax; later ones are dropped, and the beginning stays
}

// traceMax bounds the lines kept of one simulation.
const traceMax = 200_000

// New makes a trace whose times count from start.
func New(start time.Time) *Trace { return &Trace{start: start} }

// Add adds a line.
func (t *Trace) Add(who, format string, args ...any) {
	at := time.Since(t.start)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) < traceMax {
		t.lines = append(t.lines, fmt.Sprintf("%10.4f %-8s %s", at.Seconds(), who, fmt.Sprintf(format, args...)))
	}
}

// Handler has the parts of the cluster log into the trace, at Info and above.
func (t *Trace) Handler() slog.Handler { return &handler{trace: t} }

// handler writes the logs of the real parts into the trace.
type handler struct {
	trace *Trace // of the world
	who   string // the node that logs; empty for the manager
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

// Handle implements slog.Handler.
func (h *handler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool { fmt.Fprintf(&b, " %s=%v", a.Key, a.Value); return true })
	h.trace.Add("  "+h.who, "%s", b.String())
	return nil
}

// WithAttrs implements slog.Handler: the attribute "node" says who logs.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		if a.Key == "node" {
			return &handler{h.trace, a.Value.String()}
		}
	}
	return h
}

// WithGroup implements slog.Handler.
// Groups are not used by the parts of the cluster.
func (h *handler) WithGroup(string) slog.Handler { return h }

// Lines returns all of it. Nobody adds to it any more.
func (t *Trace) Lines() []string { return t.lines }
