package tier

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/platform/kv/memkv"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// index is the files of two disks, each with its only piece on disk 1 or 2, in memory.
type index struct {
	namespace.PieceIndex
	files   []hemera.Entry // by id
	evicted []hemera.FileID
}

func (x *index) DiskFiles(_ context.Context, disk hemera.DiskID, after hemera.FileID, limit int) (out []hemera.Entry, _ error) {
	for _, e := range x.files {
		if len(out) < limit && e.ID > after && len(e.Pieces) > 0 && e.Pieces[0].Disk == disk {
			out = append(out, e)
		}
	}
	return out, nil
}

func (x *index) Evict(_ context.Context, id hemera.FileID, may func(*hemera.Entry) error) (int64, error) {
	i := slices.IndexFunc(x.files, func(e hemera.Entry) bool { return e.ID == id })
	if err := may(&x.files[i]); err != nil {
		return 0, err
	}
	x.files[i].Pieces = nil
	x.evicted = append(x.evicted, id)
	return x.files[i].Size, nil
}

// world is a tier over an index, with a clock and a view that tests change.
type world struct {
	*index
	tier *Tier
	now  time.Time
	view hemera.View
}

// newWorld has a space of two disks with 1000 bytes each, and tapes A, B, which is broken, C, whose key is missing, and D, which no library has.
func newWorld(t *testing.T) *world {
	t.Helper()
	tree, err := namespace.Open(t.Context(), memkv.New(), namespace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{index: &index{}, now: time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC)}
	w.view = hemera.View{Spaces: []hemera.Space{{Name: "default"}}, Nodes: []hemera.NodeInfo{{ID: 1, Addr: "n:1"}}, Disks: []hemera.Disk{
		{ID: 1, Node: 1, Space: "default", Active: true, DiskStats: hemera.DiskStats{Capacity: 1000}},
		{ID: 2, Node: 1, Space: "default", Active: true, DiskStats: hemera.DiskStats{Capacity: 1000}},
		{ID: 3, Node: 1, Space: "default", DiskStats: hemera.DiskStats{Capacity: 1e6, Free: 1e6}}, // out of reach
	}}
	parts := tree.Parts()
	for vid, tape := range map[hemera.VID]tapeapi.Tape{"A": {State: tapeapi.Active}, "B": {State: tapeapi.Broken}, "C": {State: tapeapi.Active, Key: "k1"}, "D": {State: tapeapi.Active}} {
		tape.Pool = "default"
		if err := parts.Tapes.ChangeTape(t.Context(), vid, func(*tapeapi.Tape) (*tapeapi.Tape, error) { return &tape, nil }); err != nil {
			t.Fatal(err)
		}
	}
	parts.PieceIndex = w.index
	w.tier, err = Open(t.Context(), Options{Tree: parts, View: func() *hemera.View { return &w.view }, Now: func() time.Time { return w.now }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w.tier.Servers.ReportLibrary(1, tapeapi.Library{Name: "lib", VIDs: map[hemera.VID]string{"A": "LTO-9", "B": "LTO-9", "C": "LTO-9"}})
	return w
}

// add makes a file of 50 bytes that is archived and was last used so long ago.
func (w *world) add(unused time.Duration, change ...func(*hemera.Entry)) {
	id := hemera.FileID(len(w.files) + 10)
	e := hemera.Entry{ID: id, Kind: hemera.KindFile, Size: 50, Mtime: w.now.Add(-unused), Ctime: w.now.Add(-unused),
		Xattrs: map[string][]byte{hemera.AttrStorageClass: []byte("default"), hemera.AttrArchiveID: []byte("1")},
		Pieces: []hemera.Piece{{Disk: 1 + hemera.DiskID(id%2)}}, Tape: []hemera.TapeCopy{{Number: 1, VID: "A", FSeq: uint64(id)}}}
	for _, c := range change {
		c(&e)
	}
	w.files = append(w.files, e)
}

// turn lets a minute pass and returns what was evicted in it.
func (w *world) turn(t *testing.T, free int64) []hemera.FileID {
	w.view.Disks[0].Free, w.evicted = free, nil
	w.now = w.now.Add(collectEvery)
	w.tier.Sweeper.gc.collect(t.Context())
	return w.evicted
}

// TestRoom: evicting begins below the lower bound, takes what was not used for longest, waits until nodes reported, and goes on to the upper bound.
func TestRoom(t *testing.T) {
	w := newWorld(t)
	for i := range 8 {
		w.add(time.Duration(3+(i*5)%8) * time.Hour) // 3, 8, 5, 10, 7, 4, 9, 6 hours
	}
	w.add(time.Hour)
	for _, turn := range []struct {
		free int64
		want string
	}{
		{200, "[]"},          // a tenth is free
		{199, "[13 16 11]"},  // 101 bytes are wanted, in files of 50
		{199, "[]"},          // nodes have not removed them yet
		{260, "[14]"},        // above the lower bound, below the upper one
		{260, "[]"},          // as before
		{300, "[]"},          // enough
		{299, "[]"},          // not below the lower bound
		{0, "[17 12 15 10]"}, // all but the one that was used lately
	} {
		if got := fmt.Sprint(w.turn(t, turn.free)); got != turn.want {
			t.Errorf("free %d: evicted %s, want %s", turn.free, got, turn.want)
		}
	}
}

// TestBoundsOfASpace: a space has the bounds that admins gave it, and what contradicts itself is refused.
func TestBoundsOfASpace(t *testing.T) {
	w := newWorld(t)
	w.add(90 * time.Minute)
	w.add(3 * time.Hour)
	change := func(verb, name string, values map[string]string) error {
		return w.tier.Config.ChangeTape(t.Context(), "ada", adminapi.TapeChange{Object: "buffer", Verb: verb, Name: name, Values: values})
	}
	for _, wrong := range []map[string]string{
		{"evictBelowPercentFree": "20"}, {"evictUntilPercentFree": "101"}, {"recallKeepPercentFree": "16"}, {"evictMinAge": "-1"}, {"evictMinAge": "soon"}, {"size": "1"},
	} {
		if err := change("set", "default", wrong); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	if err := change("remove", "default", nil); errs.KindOf(err) != errs.Invalid {
		t.Errorf("the default was removed: %v", err)
	}
	if err := change("add", "default2", map[string]string{"evictBelowPercentFree": "0"}); err != nil {
		t.Error(err) // of another space
	}
	if err := change("add", "default", nil); errs.KindOf(err) != errs.Exists {
		t.Error(err)
	}
	// Half of the space is to be free, and an hour is enough.
	if err := change("set", "default", map[string]string{"evictBelowPercentFree": "50", "evictUntilPercentFree": "60", "evictMinAge": "4h"}); err != nil {
		t.Fatal(err)
	}
	if got := w.turn(t, 999); len(got) > 0 {
		t.Errorf("evicted %v that were used less than 4 h ago", got)
	}
	if err := change("set", "default", map[string]string{"evictMinAge": "1h"}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(w.turn(t, 999)); got != "[10 11]" && got != "[11 10]" {
		t.Errorf("evicted %s", got)
	}
}

// TestNeverForRoom: files that tape cannot give back, or that somebody uses, stay in a full space.
func TestNeverForRoom(t *testing.T) {
	w := newWorld(t)
	for _, change := range []func(*hemera.Entry){
		func(e *hemera.Entry) { e.Tape = nil },
		func(e *hemera.Entry) { e.Tape[0].VID = "B" },
		func(e *hemera.Entry) { e.Tape[0].VID = "C" },
		func(e *hemera.Entry) { e.Tape[0].VID = "D" },
		func(e *hemera.Entry) { e.Tape[0].VID = "GONE" },
		func(e *hemera.Entry) { e.Xattrs[hemera.AttrStorageClass] = []byte("unknown") },
		func(e *hemera.Entry) { e.Xattrs[hemera.AttrEvictCounter] = []byte("1") },
		func(e *hemera.Entry) { e.Xattrs["sys.lifecycle.access"] = []byte("2026-11-24") },
		func(e *hemera.Entry) { e.Ctime = w.now },
	} {
		w.add(100*time.Hour, change)
	}
	if got := w.turn(t, 0); len(got) > 0 {
		t.Errorf("evicted %v", got)
	}
	// The turn was one: a file that may go does.
	w.add(100 * time.Hour)
	if got := fmt.Sprint(w.turn(t, 0)); got != "[19]" {
		t.Errorf("evicted %s", got)
	}
}
