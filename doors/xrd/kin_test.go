package xrd

import (
	"testing"
	"time"

	"hemera"
	"hemera/rules/wire"
)

// TestForkedChildReadsOn: a child that was forked opens its parent's files again under a number of its own.
func TestForkedChildReadsOn(t *testing.T) {
	files := &watchedFiles{gen: 5}
	p := newPair(t, func(o *Options) {
		o.First = true
		if o.Role == RoleManager {
			files.Files = o.Files
			o.Files = files
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
	p.manager.readers.mu.Lock()
	p.manager.readers.since = time.Now()
	p.manager.readers.mu.Unlock()
	if c := opens(5, wire.OpenRead); c != nil {
		t.Errorf("a child, and somebody was forgotten: %+v", c)
	}
	p.manager.readers.mu.Lock()
	p.manager.readers.since = time.Now().Add(-unchangedTime)
	p.manager.readers.mu.Unlock()
	opens(6, firstRead) // of the new content
	if c := opens(7, wire.OpenRead); c != nil {
		t.Errorf("a child of either of two: %+v", c)
	}
}

// TestForkedChildOfALocalReader: what the manager's door has open itself for a parent that lives.
func TestForkedChildOfALocalReader(t *testing.T) {
	files := &watchedFiles{gen: 5}
	p, _ := newLocalPair(t, func(o *Options) {
		o.First = true
		if o.Role == RoleManager {
			files.Files = o.Files
			o.Files = files
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
	ss := p.manager.session(parent.id)
	if left := ss.reads("/f"); len(left) != 0 {
		t.Errorf("after the close: %+v", left)
	}
}

// TestKinIsNotWhole: where a process had too many files, one that is not remembered may have been among them.
func TestKinIsNotWhole(t *testing.T) {
	var rs readers
	now := time.Now()
	for pid := range 2 {
		rs.add(process{pid: uint32(pid + 1)}, "/f", &hemera.Content{File: 1, Gen: 1}, now)
	}
	if list, whole := rs.kin(process{pid: 9}, "/f", now); !whole || len(list) != 2 {
		t.Errorf("%v, %t", list, whole)
	}
	if list, whole := rs.kin(process{pid: 9, uid: 7}, "/f", now); !whole || len(list) != 0 {
		t.Errorf("of another user: %v, %t", list, whole)
	}
	rs.known[process{pid: 1}].Value.(*readings).lost = true
	if _, whole := rs.kin(process{pid: 9}, "/f", now); !whole {
		t.Error("the file is remembered")
	}
	if _, whole := rs.kin(process{pid: 9}, "/g", now); whole {
		t.Error("the file may have been forgotten")
	}
}
