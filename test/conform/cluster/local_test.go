package cluster

import (
	"testing"

	"hemera/client/xrootd"
	"hemera/test/conform"
)

// TestSmallFilesAreServedAtTheManager: on the client's connection, and larger ones at their node.
func TestSmallFilesAreServedAtTheManager(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), 2, 2)
	ctx := t.Context()
	for _, c := range []struct {
		path  string
		size  int64
		local bool
	}{{"/small", 5000, true}, {"/unknown", 0, true}, {"/large", 64 << 20, false}} {
		f, err := r.client.Open(ctx, r.url(c.path), xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644, Size: c.size})
		if err != nil {
			t.Fatal(err)
		}
		sessions, err := r.up.Manager.Observer.Sessions(ctx)
		if err != nil || len(sessions) != 1 {
			t.Fatalf("sessions %+v, %v", sessions, err)
		}
		if at := f.URL().Addr() == r.up.Manager.Addr; at != c.local || (sessions[0].Open == 1) != c.local {
			t.Errorf("%s is open at %s, the manager knows %d open files", c.path, f.URL().Addr(), sessions[0].Open)
		}
		if err := f.WriteAt(ctx, content(c.path, 5000), 0); err != nil {
			t.Error(err)
		}
		if err := f.Truncate(ctx, 5000); err != nil { // less than was announced
			t.Error(err)
		}
		if err := f.Close(ctx); err != nil {
			t.Error(err)
		}
	}
	r.whole(map[string]int{"/small": 5000, "/unknown": 5000, "/large": 5000})
}

// TestWriteAtTheManagerSurvivesCuts: a connection that breaks in the middle of a write, twice.
func TestWriteAtTheManagerSurvivesCuts(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), 2, 2)
	cutter := conform.NewCutter(t, r.up.Manager.Addr, conform.Cut{ToServer: 1 << 20}, conform.Cut{ToServer: 1500 << 10})
	c := xrootd.New(xrootd.Options{Chunk: 64 << 10, Window: 256 << 10})
	defer func() { _ = c.Close() }()
	write(t, c, urlAt(t, cutter.Addr(), "/f"), content("/f", 3<<20))
	if cutter.Connections() != 3 {
		t.Errorf("%d connections", cutter.Connections())
	}
	r.whole(map[string]int{"/f": 3 << 20})
}
