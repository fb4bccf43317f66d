package daemon

import (
	"bytes"
	"testing"

	"hemera/client/xrootd"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestAPersonEndsWritesOfLostClients: the owner of a write whose client is gone commits it as it is, an admin removes
// another one, and another user can neither see nor decide it.
func TestAPersonEndsWritesOfLostClients(t *testing.T) {
	u, err := OpenUp(t.Context(), UpOptions{Nodes: 3, Disks: 3, Manager: ManagerOptions{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", CacheBytes: 1 << 28, Log: keptLog(t),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer running(t, u)()
	content := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	address := func(path string) xrootd.URL {
		t.Helper()
		at, err := xrootd.ParseURL("root://" + u.Manager.Addr + "//" + path)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, path := range []string{"copies?hem.layout=replica:2", "coded?hem.layout=rs:2+1", "dropped?hem.layout=replica:2"} {
		c := xrootd.New(xrootd.Options{App: "kept-test"})
		f, err := c.Open(t.Context(), address(path), xrootd.OpenOptions{Write: true, Create: true, Size: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.WriteAt(t.Context(), content, 0); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	admin := hemera.SystemIdentity()
	left := map[string]hemera.WriteInfo{}
	until(t, "the nodes notice that the clients are gone", func() bool {
		list, err := u.Manager.Writes.Writes(t.Context(), admin)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range list {
			if w.Then != "" {
				left[w.Path] = w
			}
		}
		return len(left) == 3
	})
	owner := left["/copies"].Who
	other := hemera.Identity{Name: "somebody", UID: owner.UID + 1, Host: owner.Host}
	if own, err := u.Manager.Writes.Writes(t.Context(), owner); err != nil || len(own) != 3 {
		t.Errorf("the owner sees %+v, %v", own, err)
	}
	if others, err := u.Manager.Writes.Writes(t.Context(), other); err != nil || len(others) != 0 {
		t.Errorf("another user sees %+v, %v", others, err)
	}
	for path, w := range left {
		if w.State != hemera.WriteDetached || w.Then != hemera.ThenRemove || w.Written != int64(len(content)) || w.Announced != 1<<20 || w.HeadAddr == "" {
			t.Errorf("%+v", w)
		}
		if _, err := u.Manager.Writes.EndWrite(t.Context(), other, w.ID, true); errs.KindOf(err) != errs.Denied {
			t.Errorf("another user: %v", err)
		}
		who, commit := owner, true
		if path == "/dropped" {
			who, commit = admin, false
		}
		if _, err := u.Manager.Writes.EndWrite(t.Context(), who, w.ID, commit); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if _, err := u.Manager.Writes.EndWrite(t.Context(), who, w.ID, commit); errs.KindOf(err) != errs.NotFound {
			t.Errorf("%s again: %v", path, err)
		}
		c := xrootd.New(xrootd.Options{})
		f, err := c.Open(t.Context(), address(path[1:]), xrootd.OpenOptions{})
		if !commit {
			if errs.KindOf(err) != errs.NotFound {
				t.Errorf("%s: %v", path, err)
			}
			c.Close()
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(content)+1)
		if n, _ := f.ReadAt(t.Context(), got, 0); !bytes.Equal(got[:n], content) {
			t.Errorf("%s has %d bytes", path, n)
		}
		c.Close()
	}
	if list, err := u.Manager.Writes.Writes(t.Context(), admin); err != nil || len(list) != 0 {
		t.Errorf("at the end: %+v, %v", list, err)
	}
}
