package xrd

import (
	"testing"
	"time"

	"hemera/doors/xrd/reconnect"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// TestForkedChildReadsOn checks that a forked child, with its own process number, gets the content of its parent's files.
func TestForkedChildReadsOn(t *testing.T) {
	files := &watchedFiles{gen: 5}
	p := newPair(t, func(o *Options) {
		if o.Manager != nil {
			o.Manager.First = true
			files.Files = o.Manager.Files
			o.Manager.Files = files
		}
	})
	p.put("/f", "x")
	opens := func(pid uint32, options uint16) *hemera.Content {
		t.Helper()
		redirected(t, loginAs(t, p.managerAddr, pid, xrdcl), wire.Open{Options: options}, "/f")
		files.mu.Lock()
		defer files.mu.Unlock()
		return files.last.Again
	}
	if c := opens(1, wire.OpenRead); c != nil {
		t.Errorf("without a parent: %+v", c)
	}
	opens(2, firstRead)
	if c := opens(3, wire.OpenRead); c == nil || c.Gen != 5 {
		t.Errorf("a child: %+v", c)
	}
	files.set(6)
	if c := opens(4, wire.OpenRead); c == nil || c.Gen != 5 {
		t.Errorf("a child, after a change: %+v", c)
	}
	p.manager.reads.history.Begin(time.Now())
	if c := opens(5, wire.OpenRead); c != nil {
		t.Errorf("a child, and somebody was forgotten: %+v", c)
	}
	p.manager.reads.history.Begin(time.Now().Add(-reconnect.UnchangedTime))
	opens(6, firstRead) // of the new content
	if c := opens(7, wire.OpenRead); c != nil {
		t.Errorf("a child of either of two: %+v", c)
	}
}

// TestForkedChildOfALocalReader checks the same for files that the manager's door has open for a living parent.
func TestForkedChildOfALocalReader(t *testing.T) {
	files := &watchedFiles{gen: 5}
	p, _ := newLocalPair(t, func(o *Options) {
		if o.Manager != nil {
			o.Manager.First = true
			files.Files = o.Manager.Files
			o.Manager.Files = files
		}
	})
	p.put("/f", "x")
	parent := loginAs(t, p.managerAddr, 1, xrdcl)
	h := open(t, parent, "/f", firstRead)
	files.set(6)
	again := func(pid uint32) *hemera.Content {
		t.Helper()
		open(t, loginAs(t, p.managerAddr, pid, xrdcl), "/f", wire.OpenRead)
		files.mu.Lock()
		defer files.mu.Unlock()
		return files.last.Again
	}
	if c := again(2); c == nil || c.Gen != 5 {
		t.Errorf("a child: %+v", c)
	}
	parent.must(t, wire.Close{Handle: h}, "")
	ss := p.manager.clients.session(parent.id)
	if left := ss.handles.reading.contents("/f"); len(left) != 0 {
		t.Errorf("after the close: %+v", left)
	}
}
