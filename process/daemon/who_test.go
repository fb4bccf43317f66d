package daemon

import (
	"testing"

	"hemera/client/xrootd"
	"hemera/words/hemera"
)

// TestOpenFilesAreSeenAtNodes: a manager sees no session of a client that talks to a node, but knows whose files are open
// there.
func TestOpenFilesAreSeenAtNodes(t *testing.T) {
	u, err := OpenUp(t.Context(), UpOptions{Nodes: 2, Disks: 2, Manager: ManagerOptions{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", CacheBytes: 1 << 28, Log: keptLog(t),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer running(t, u)()
	const size = 32 << 20 // more than the manager's door serves itself
	c := xrootd.New(xrootd.Options{App: "who-test"})
	defer c.Close()
	at, err := xrootd.ParseURL("root://" + u.Manager.Addr + "//one")
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Open(t.Context(), at, xrootd.OpenOptions{Write: true, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, size)
	if err := f.WriteAt(t.Context(), content, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	is := oneOpen(t, u.Manager)
	if !is.Write || is.Path != "/one" || is.Bytes != size || len(is.Disks) != 2 || is.Who.App != "who-test" || is.Node == 0 {
		t.Errorf("the write is seen as %+v", is)
	}
	if err := f.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if open, err := u.Manager.Observer.OpenFiles(t.Context()); err != nil || len(open.Files) != 0 || len(open.Silent) != 0 {
		t.Fatalf("after the close: %+v, %v", open, err)
	}
	if f, err = c.Open(t.Context(), at, xrootd.OpenOptions{}); err != nil {
		t.Fatal(err)
	}
	defer f.Close(t.Context())
	if _, err := f.ReadAt(t.Context(), content, 0); err != nil {
		t.Fatal(err)
	}
	if is := oneOpen(t, u.Manager); is.Write || is.Bytes < size || len(is.Disks) != 1 {
		t.Errorf("the read is seen as %+v", is)
	}
}

func oneOpen(t *testing.T, m *Manager) hemera.OpenFile {
	t.Helper()
	open, err := m.Observer.OpenFiles(t.Context())
	if err != nil || len(open.Files) != 1 {
		t.Fatalf("%+v, %v", open, err)
	}
	return open.Files[0]
}
