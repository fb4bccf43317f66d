package reconnect

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"hemera/rules/wire"
	"hemera/words/hemera"
)

// TestReadHistoryIsBounded checks that the least recently used reads are forgotten, and the counts.
func TestReadHistoryIsBounded(t *testing.T) {
	var h ReadHistory
	now := time.Unix(1_700_000_000, 0)
	c := &hemera.Content{File: 1, Gen: 1}
	add := func(pid, paths int) {
		for i := range paths {
			h.Add(Process{PID: uint32(pid)}, fmt.Sprint(i), c, now)
		}
	}
	add(0, readsPerProcess+10)
	if _, ok := h.Get(Process{}, "9"); ok || h.count != readsPerProcess {
		t.Errorf("one process has %d files", h.count)
	}
	for pid := range readsMax/readsPerProcess + 3 {
		add(pid, readsPerProcess)
	}
	if h.count > readsMax {
		t.Errorf("%d files in all", h.count)
	}
	for pid := range processesMax + 10 {
		add(pid, 1)
	}
	if _, ok := h.Get(Process{PID: processesMax + 9}, "0"); !ok || len(h.known) > processesMax || h.recent.Len() != len(h.known) {
		t.Errorf("%d processes, the newest known: %t", len(h.known), ok)
	}
	now = now.Add(processTime)
	add(-1&0xffff_ffff, 1)
	if len(h.known) != 1 || h.count != 1 {
		t.Errorf("a day later, %d processes with %d files", len(h.known), h.count)
	}
}

// TestSiblingsAreNotComplete checks that the record is incomplete if a process had too many files.
func TestSiblingsAreNotComplete(t *testing.T) {
	var h ReadHistory
	now := time.Now()
	for pid := range 2 {
		h.Add(Process{PID: uint32(pid + 1)}, "/f", &hemera.Content{File: 1, Gen: 1}, now)
	}
	if list, complete := h.OfSiblings(Process{PID: 9}, "/f", now); !complete || len(list) != 2 {
		t.Errorf("%v, %t", list, complete)
	}
	if list, complete := h.OfSiblings(Process{PID: 9, UID: 7}, "/f", now); !complete || len(list) != 0 {
		t.Errorf("of another user: %v, %t", list, complete)
	}
	h.known[Process{PID: 1}].Value.(*processReads).forgot = true
	if _, complete := h.OfSiblings(Process{PID: 9}, "/f", now); !complete {
		t.Error("the file is remembered")
	}
	if _, complete := h.OfSiblings(Process{PID: 9}, "/g", now); complete {
		t.Error("the file may have been forgotten")
	}
}

// TestWaitsHaveAnEnd: a client waits for a while, hears the error once, and may then begin again; one that was served has not waited.
func TestWaitsHaveAnEnd(t *testing.T) {
	const patience = 15 * time.Second
	var h PathHistory
	began := time.Unix(1_700_000_000, 0)
	may := func(after time.Duration, want bool) {
		t.Helper()
		if got := h.MayWait(began.Add(after), patience); got != want {
			t.Errorf("after %s: %t", after, got)
		}
	}
	may(0, true)
	may(14*time.Second, true)
	if left := h.Left(began.Add(14*time.Second), patience); left != time.Second {
		t.Errorf("%s are left", left)
	}
	may(15*time.Second, false)
	may(15*time.Second, true) // it still opens the file
	may(29*time.Second, true)
	h.Served()
	may(31*time.Second, true)
	may(45*time.Second, true)
	may(61*time.Second, true) // it was away in between
	may(75*time.Second, true)
	may(76*time.Second, false)
}

func TestTried(t *testing.T) {
	var v OpenHistory
	first := v.Of("/f", false)
	first.nodes = append(first.nodes, sentTo{1, "a", 11}, sentTo{2, "a", 21}, sentTo{2, "a", 22}, sentTo{3, "b", 0})
	again := v.Of("/f", true)
	for opaque, want := range map[wire.Opaque]struct {
		nodes []hemera.NodeID
		disks []hemera.DiskID
	}{
		"tried=a":              {[]hemera.NodeID{1, 2}, []hemera.DiskID{11, 21, 22}},
		"tried=a,b":            {[]hemera.NodeID{1, 2, 3}, []hemera.DiskID{11, 21, 22}},
		"tried=c&hem.node=9":   {[]hemera.NodeID{9}, nil},
		"tried=c&hem.node=2":   {[]hemera.NodeID{2}, []hemera.DiskID{21, 22}},
		"tried=+b&hem.node=3":  {[]hemera.NodeID{3}, nil},
		"tried=&hem.node=junk": {},
	} {
		if nodes, disks := again.Tried(opaque); !reflect.DeepEqual(nodes, want.nodes) || !reflect.DeepEqual(disks, want.disks) {
			t.Errorf("%s: %v %v, want %v", opaque, nodes, disks, want)
		}
	}
	if !again.ClearOnce() || again.ClearOnce() {
		t.Error("nodes are not allowed again just once")
	}
	if len(v.Of("/f", false).nodes) != 0 {
		t.Error("an open that failed nowhere remembers nodes")
	}
	for i := range 2 * pathsMax {
		v.Of(fmt.Sprint(i), false)
	}
	if len(v) > pathsMax {
		t.Errorf("%d paths are remembered", len(v))
	}
}

// TestLostWritesAreBounded checks that the oldest are forgotten, and that each is returned once, to its principal.
func TestLostWritesAreBounded(t *testing.T) {
	var l LostWrites[int]
	alice := hemera.Identity{Name: "alice"}
	id := func(n int) wire.SessionID { return wire.SessionID{byte(n), byte(n >> 8), byte(n >> 16)} }
	now := time.Now()
	for i := range sessionsMax + 1 {
		l.Add(id(i), alice, map[string]int{"/f": i}, now)
	}
	if len(l.sessions) != sessionsMax || len(l.order) != sessionsMax {
		t.Errorf("%d sessions are remembered", len(l.sessions))
	}
	if _, ok := l.Claim(id(0), &alice); ok {
		t.Error("the oldest is remembered")
	}
	if _, ok := l.Claim(id(1), &hemera.Identity{Name: "bob"}); ok {
		t.Error("another principal got the writes")
	}
	if writes, ok := l.Claim(id(1), &alice); !ok || writes["/f"] != 1 {
		t.Errorf("%v, %t", writes, ok)
	}
	if _, ok := l.Claim(id(1), &alice); ok {
		t.Error("a session's writes were given twice")
	}
	l.Add(id(-1), alice, map[string]int{"/f": 1}, now.Add(hemera.CapabilityLifetime+time.Second))
	if len(l.sessions) != 1 {
		t.Errorf("%d sessions are remembered after their capabilities expired", len(l.sessions))
	}
}

// TestMergeOfTwoWrites checks that a path with two writes has the zero write.
func TestMergeOfTwoWrites(t *testing.T) {
	writes := map[string]int{}
	Merge(writes, "/f", 1)
	Merge(writes, "/f", 1)
	if writes["/f"] != 1 {
		t.Error("one write, twice")
	}
	if Merge(writes, "/f", 2); writes["/f"] != 0 {
		t.Errorf("two writes are %d", writes["/f"])
	}
}

// TestBeganAt checks the begin of a session by its id, also for ids of other servers and future times.
func TestBeganAt(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_123)
	var id wire.SessionID
	if !BeganAt(id, now).IsZero() {
		t.Error("an id without a mark")
	}
	MarkSession(&id, now)
	if got := BeganAt(id, now.Add(time.Hour)); !got.Equal(now) {
		t.Errorf("%v", got)
	}
	if !BeganAt(id, now.Add(-time.Hour)).IsZero() {
		t.Error("a session of a time to come")
	}
}
