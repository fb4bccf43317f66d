package transfer

import (
	"testing"

	"hemera/words/hemera"
)

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
	for i := range recentMax + 1 {
		end(i+2, &hemera.FileInfo{})
	}
	if _, gone := p.aborted.Get(lost); !gone {
		t.Error("forgotten")
	}
}
