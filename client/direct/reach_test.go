package direct

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// scripted stands for peers whose opens fail with err; it counts the opens.
type scripted struct {
	piece.Peers
	err   error
	opens atomic.Int32
}

func (s *scripted) count() int { return int(s.opens.Load()) }

func (s *scripted) Open(context.Context, piece.Remote, string) (piece.Reader, error) {
	s.opens.Add(1)
	return nil, s.err
}

func TestNodesThatCannotBeReachedAreNotTriedForAWhile(t *testing.T) {
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &scripted{}
	r := newReach(p, func() time.Time { return now })
	open := func(addr string, err error) (asked bool) {
		before := p.count()
		p.err = err
		_, got := r.Open(t.Context(), piece.Remote{Target: hemera.Target{Addr: addr}}, "")
		if p.count() == before && !errors.Is(got, errs.Unavailable) {
			t.Errorf("a node that is not tried: %v", got)
		}
		return p.count() > before
	}
	silent := errs.New(errs.Unavailable, "connect", "a", "")
	away := absentLeast
	for i := range 12 {
		if !open("a:1", silent) {
			t.Fatalf("failure %d: it is not tried when its time is over", i)
		}
		if open("a:1", nil) || !open("b:1", nil) {
			t.Fatalf("failure %d: the wrong node is tried", i)
		}
		now = now.Add(away - 1)
		if r.reachable("a:1") {
			t.Fatalf("failure %d: it is tried after less than %v", i, away)
		}
		now = now.Add(1)
		away = min(2*away, absentMost)
	}
	// Any answer shows that the node can be reached.
	if !open("a:1", errs.New(errs.Denied, "open", "a", "")) || !open("a:1", silent) {
		t.Error("a node that answers is not tried")
	}
	now = now.Add(absentLeast)
	if !r.reachable("a:1") {
		t.Error("what was before the answer counts")
	}
	// Concurrent failures count once.
	for range 5 {
		r.tried("c:1", silent)
	}
	now = now.Add(absentLeast)
	if !r.reachable("c:1") {
		t.Error("failures at the same time count several times")
	}
	for i := range 2 * absentMax {
		r.tried(fmt.Sprint(i), silent)
	}
	if len(r.absent) > absentMax {
		t.Errorf("%d nodes are remembered", len(r.absent))
	}
}
