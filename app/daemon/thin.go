package daemon

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"hemera/rules/limits"
)

// Of one message about one remote address so many lines are written in an interval, and of one message about
// all addresses together.
const (
	thinInterval = 10 * time.Second
	thinLines    = 5
	thinAll      = 50
	thinKinds    = 4096 // messages and addresses that are counted at once
)

// Thin is a log handler that writes few of many like lines: those that name a remote address, for any stranger
// can cause them. What was left out is counted in one line at the end of the interval. Other lines pass, and so
// do all errors, and all that is for debugging.
func Thin(next slog.Handler) slog.Handler {
	return &thinned{next: next, shared: &thinning{counts: map[thinKey]*thinCount{}}}
}

// The attributes that name who caused a line.
func namesRemote(key string) bool { return key == "remote" || key == "peer" }

type thinKey struct {
	message string
	from    netip.Addr // invalid for all together
}

type thinCount struct{ lines, left int }

type thinning struct {
	mu     sync.Mutex // guards counts
	counts map[thinKey]*thinCount
	armed  bool // the end of the interval is set
}

type thinned struct {
	next   slog.Handler
	shared *thinning
}

// Enabled implements slog.Handler.
func (t *thinned) Enabled(ctx context.Context, l slog.Level) bool { return t.next.Enabled(ctx, l) }

// WithAttrs implements slog.Handler.
func (t *thinned) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &thinned{t.next.WithAttrs(attrs), t.shared}
}

// WithGroup implements slog.Handler.
func (t *thinned) WithGroup(name string) slog.Handler {
	return &thinned{t.next.WithGroup(name), t.shared}
}

// Handle implements slog.Handler.
func (t *thinned) Handle(ctx context.Context, r slog.Record) error {
	from, remote := remoteOf(r)
	if !remote || r.Level < slog.LevelInfo || r.Level >= slog.LevelError || t.shared.passes(t, r.Message, from) {
		return t.next.Handle(ctx, r)
	}
	return nil
}

// remoteOf is the address that caused a line; the zero one if its text is none.
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

// passes counts a line, and sets the end of the interval in which it is counted.
func (s *thinning) passes(t *thinned, message string, from netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.armed {
		s.armed = true
		time.AfterFunc(thinInterval, func() { s.end(t) })
	}
	all := s.count(thinKey{message, netip.Addr{}})
	one := all
	if from.IsValid() {
		one = s.count(thinKey{message, from})
	}
	switch {
	case one == nil || all == nil, all.lines >= thinAll:
		if all != nil {
			all.left++
		}
		return false
	case one.lines >= thinLines && one != all:
		one.left++
		return false
	}
	all.lines++
	if one != all {
		one.lines++
	}
	return true
}

// count is nil when there are too many kinds.
func (s *thinning) count(k thinKey) *thinCount {
	c := s.counts[k]
	if c == nil && len(s.counts) < thinKinds {
		c = &thinCount{}
		s.counts[k] = c
	}
	return c
}

// end says what was left out in the interval.
func (s *thinning) end(t *thinned) {
	s.mu.Lock()
	counts := s.counts
	s.counts, s.armed = map[thinKey]*thinCount{}, false
	s.mu.Unlock()
	left := map[string]int{}
	hosts := map[string]netip.Addr{}
	for k, c := range counts {
		if c.left > 0 {
			left[k.message] += c.left
			hosts[k.message] = k.from
		}
	}
	for message, n := range left {
		r := slog.NewRecord(time.Now(), slog.LevelWarn, message+": more lines like this were left out", 0)
		r.AddAttrs(slog.Int("lines", n), slog.Duration("in", thinInterval))
		if from := hosts[message]; from.IsValid() {
			r.AddAttrs(slog.String("among_them", from.String()))
		}
		if t.next.Enabled(context.Background(), r.Level) {
			_ = t.next.Handle(context.Background(), r)
		}
	}
}
