package maint

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/hemera"
)

// TestASetbackHoldsUntilMoreCanBeRead: the rest doubles up to its bound, and what is new ends it at once; what is gone does not.
func TestASetbackHoldsUntilMoreCanBeRead(t *testing.T) {
	now, from := time.Unix(1000, 0), []hemera.Piece{{Index: 0, Disk: 1}, {Index: 1, Disk: 2}}
	var s setback
	if s.holds(from, now) {
		t.Error("nothing has failed yet")
	}
	var rests []time.Duration
	for range 30 {
		s = s.after(from, errors.New("bad"), now)
		rests = append(rests, s.again.Sub(now))
		if !s.holds(from, s.again.Add(-1)) || s.holds(from, s.again) {
			t.Fatalf("after %d tries it does not hold until %s", s.tries, s.again)
		}
		now = s.again
	}
	if rests[0] != setbackFirst || rests[3] != 8*setbackFirst || rests[29] != setbackMost || !slices.IsSorted(rests) {
		t.Errorf("rests %v", rests)
	}
	now = s.again.Add(-1)
	for _, c := range []struct {
		from  []hemera.Piece
		holds bool
	}{{from[:1], true}, {nil, true}, {append(from, hemera.Piece{Index: 2, Disk: 3}), false}, {[]hemera.Piece{{Index: 0, Disk: 9}}, false}} {
		if got := s.holds(c.from, now); got != c.holds {
			t.Errorf("with %v it holds: %t", c.from, got)
		}
	}
}

// TestSetbacksAreBounded: what nobody tries any more makes way, and what is due does not.
func TestSetbacksAreBounded(t *testing.T) {
	var s setbacks
	now, from := time.Unix(1000, 0), []hemera.Piece{{Disk: 1}}
	id := func(i int) hemera.PieceID { return hemera.PieceID{File: hemera.FileID(i), Gen: 1} }
	for i := range setbacksMax + 10 {
		s.add(id(i), from, errors.New("bad"), now)
	}
	if _, held := s.holds(id(setbacksMax+1), from, now); held || len(s.of) != setbacksMax {
		t.Errorf("%d contents are remembered", len(s.of))
	}
	now = now.Add(2 * time.Hour)
	s.add(id(setbacksMax+1), from, errors.New("bad"), now)
	if _, held := s.holds(id(setbacksMax+1), from, now); !held || len(s.of) != 1 {
		t.Errorf("%d contents are remembered two hours later", len(s.of))
	}
	s.forget(id(setbacksMax + 1))
	if _, held := s.holds(id(setbacksMax+1), from, now); held {
		t.Error("held although the content is good again")
	}
}

// TestALostFileIsNotReadAgainAndAgain: a file that has lost a page, and lacks a piece, is tried at ever longer distances, and at
// once when one more of its pieces can be read.
func TestALostFileIsNotReadAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMiniature(t)
		for range 5 {
			m.node("", 1<<40)
		}
		l, err := hemera.ParseLayout("rs:2+2", 0)
		if err != nil {
			t.Fatal(err)
		}
		file := m.file(l, 1<<20, 1, 2, 3, 0)
		m.bad = map[hemera.FileID]bool{file: true}
		m.view.Disks[2].Active, m.view.Disks[2].Config = false, hemera.ConfigRW
		e := m.engine()
		e.SetLostAfter(1000 * time.Hour) // the disk that is away stays one of the cluster
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		for i := range m.view.Nodes {
			all.Go(func() { m.serve(ctx, e.Orders, hemera.NodeID(i+1)) })
		}
		all.Go(func() { _ = e.Run(ctx) })
		time.Sleep(24 * time.Hour)
		tried, _ := m.state(file)
		if tried < 24 || tried > 48 {
			t.Errorf("%d copies in a day", tried)
		}
		entry, _, _ := m.Resolve(ctx, file)
		if why := e.Explain(entry); len(why) != 1 || !strings.Contains(why[0].Text, "no other piece has the bad page; it is tried again in ") {
			t.Errorf("explained as %+v", why)
		}
		m.mu.Lock()
		m.view.Disks[2].Active, m.bad = true, nil
		m.mu.Unlock()
		time.Sleep(10 * time.Second)
		if again, pieces := m.state(file); again <= tried || pieces != 4 {
			t.Errorf("when a disk came back: %d copies, %d pieces", again-tried, pieces)
		}
	})
}

// state returns the number of copies that were made, and the number of pieces of a file.
func (m *miniature) state(file hemera.FileID) (copies, pieces int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.copies), len(m.files[file].Pieces)
}
