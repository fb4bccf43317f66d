package transfer

import (
	"testing"

	"hemera"
)

func TestRecentWritesKeepsTheLast(t *testing.T) {
	var m recentWrites[int]
	key := func(i int) pendingKey { return pendingKey{piece: hemera.PieceID{File: hemera.FileID(i)}, whole: true} }
	for i := range endedMax + 100 {
		m.add(key(i), i)
		m.add(key(i), -i) // again: takes no second place
	}
	for i, want := range map[int]bool{0: false, 99: false, 100: true, endedMax: true, endedMax + 99: true} {
		if got, ok := m.get(key(i)); ok != want || ok && got != -i {
			t.Errorf("%d: %d, %v", i, got, ok)
		}
	}
	if len(m.known) != endedMax || len(m.order) != endedMax {
		t.Errorf("%d known, %d in order", len(m.known), len(m.order))
	}
}

// TestCommitsDoNotCrowdOut: however much was committed since, an update that was aborted does not begin
// again when a client means to continue it.
func TestCommitsDoNotCrowdOut(t *testing.T) {
	p := NewPending(&Host{})
	end := func(file int, info *hemera.FileInfo) pendingKey {
		e := &entry{key: pendingKey{piece: hemera.PieceID{File: hemera.FileID(file)}, whole: true}, work: &Writer{}}
		p.finish(e, info)
		return e.key
	}
	lost := end(1, nil)
	for i := range endedMax + 1 {
		end(i+2, &hemera.FileInfo{})
	}
	if _, gone := p.aborted.get(lost); !gone {
		t.Error("forgotten")
	}
}
