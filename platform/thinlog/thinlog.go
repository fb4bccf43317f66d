package thinlog

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"hemera/rules/limits"
)

const (
	// interval is the time in which lines are counted.
	interval = 10 * time.Second
	// linesMax is the number of lines with one message about one remote address in an interval.
	linesMax = 5
	// allMax is the number of lines with one message about all addresses together.
	allMax = 50
	// keysMax bounds the memory: the number of pairs of message and address that are counted at a time.
	keysMax = 4096
)

// New returns a handler that limits the lines that go to next, as the package doc describes.
func New(next slog.Handler) slog.Handler {
	return &handler{next: next, limiter: &limiter{counts: map[key]*count{}}}
}

// namesRemote reports whether an attribute of this name has the client that caused a line.
func namesRemote(name string) bool { return name == "remote" || name == "peer" }

// key identifies the lines that count together.
type key struct {
	message string
	from    netip.Addr // invalid: all addresses together
}

// count counts the lines of an interval: written ones and dropped ones.
type count struct{ written, dropped int }

// limiter counts lines. All handlers that are derived from one share it.
type limiter struct {
	mu     sync.Mutex // guards the rest
	counts map[key]*count
	armed  bool // a timer ends the interval
}

// handler implements slog.Handler.
type handler struct {
	next    slog.Handler
	limiter *limiter
}

// Enabled implements slog.Handler.
func (t *handler) Enabled(ctx context.Context, l slog.Level) bool { return t.next.Enabled(ctx, l) }

// WithAttrs implements slog.Handler.
func (t *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{t.next.WithAttrs(attrs), t.limiter}
}

// WithGroup implements slog.Handler.
func (t *handler) WithGroup(name string) slog.Handler {
	return &handler{t.next.WithGroup(name), t.limiter}
}

// Handle implements slog.Handler.
func (t *handler) Handle(ctx context.Context, r slog.Record) error {
	from, remote := remoteOf(r)
	if !remote || r.Level < slog.LevelInfo || r.Level >= slog.LevelError || t.limiter.passes(t, r.Message, from) {
		return t.next.Handle(ctx, r)
	}
	return nil
}

// remoteOf returns the address that caused a line. It is the zero Addr if the attribute is not an address. ok is false
// without such an attribute.
func remoteOf(r slog.Record) (from netip.Addr, ok bool) {
	r.Attrs(func(a slog.Attr) bool {
		if !namesRemote(a.Key) {
			return true
		}
		ok = true
		text := a.Value.String()
		if p, err := netip.ParseAddrPort(text); err == nil {
			from = limits.AddressKey(p.Addr())
		} else if p, err := netip.ParseAddr(text); err == nil {
			from = limits.AddressKey(p)
		}
		return false
	})
	return from, ok
}

// passes counts a line and reports whether to write it. The first line of an interval starts its timer.
func (l *limiter) passes(t *handler, message string, from netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.armed {
		l.armed = true
		time.AfterFunc(interval, func() { l.end(t) })
	}
	all := l.countOf(key{message, netip.Addr{}})
	one := all
	if from.IsValid() {
		one = l.countOf(key{message, from})
	}
	switch {
	case one == nil || all == nil, all.written >= allMax:
		if all != nil {
			all.dropped++
		}
		return false
	case one.written >= linesMax && one != all:
		one.dropped++
		return false
	}
	all.written++
	if one != all {
		one.written++
	}
	return true
}

// countOf returns the count of a key, or nil if keysMax keys are counted already.
func (l *limiter) countOf(k key) *count {
	c := l.counts[k]
	if c == nil && len(l.counts) < keysMax {
		c = &count{}
		l.counts[k] = c
	}
	return c
}

// end writes one line for each message with dropped lines, and begins a new interval.
func (l *limiter) end(t *handler) {
	l.mu.Lock()
	counts := l.counts
	l.counts, l.armed = map[key]*count{}, false
	l.mu.Unlock()
	dropped := map[string]int{}
	hosts := map[string]netip.Addr{}
	for k, c := range counts {
		if c.dropped > 0 {
			dropped[k.message] += c.dropped
			hosts[k.message] = k.from
		}
	}
	for message, n := range dropped {
		r := slog.NewRecord(time.Now(), slog.LevelWarn, message+": more lines like this were left out", 0)
		r.AddAttrs(slog.Int("lines", n), slog.Duration("in", interval))
		if from := hosts[message]; from.IsValid() {
			r.AddAttrs(slog.String("among_them", from.String()))
		}
		if t.next.Enabled(context.Background(), r.Level) {
			_ = t.next.Handle(context.Background(), r)
		}
	}
}
