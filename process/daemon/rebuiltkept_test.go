package daemon

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hemera/client/xrootd"
	"hemera/process/backup"
	"hemera/process/statedir"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestWhatIsKeptIsNoFileAfterARebuild: a kept write does not become a file, even if no head reports it, because the head
// is away or has lost its records. A write that a person has committed is a file.
func TestWhatIsKeptIsNoFileAfterARebuild(t *testing.T) {
	dir, admin := t.TempDir(), hemera.SystemIdentity()
	u, stop := startUp(t, dir)
	c, content := newClient(t, u), bytes.Repeat([]byte("kept"), 100_000)
	c.put("/updated", content[:70_000])
	was, err := u.Manager.Names.Stat(t.Context(), admin, "/updated")
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int{"/new": len(content), "/coded?hem.layout=rs:2+1": len(content), "/taken": len(content), "/taken-coded?hem.layout=rs:2+1": len(content), "/updated": 100_000}
	for path, size := range sizes {
		leaving := xrootd.New(xrootd.Options{})
		f, err := leaving.Open(t.Context(), c.at(path), xrootd.OpenOptions{Write: true, Create: path != "/updated", Mode: 0o640})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.WriteAt(t.Context(), content[:size], 0), leaving.Close()); err != nil {
			t.Fatal(err)
		}
	}
	// After a refused commit the write stays kept.
	quota := hemera.QuotaKey{Path: "/", Kind: hemera.QuotaProject}
	if err := u.Manager.Quotas.SetQuota(t.Context(), quota, hemera.QuotaAmount{Bytes: 1}); err != nil {
		t.Fatal(err)
	}
	for _, w := range leftWrites(t, u, len(sizes)) {
		if _, err := u.Manager.Writes.EndWrite(t.Context(), admin, w.ID, true); !errors.Is(err, errs.OverQuota) {
			t.Errorf("%s: %v", w.Path, err)
		}
	}
	stop()
	u, stop = startUp(t, dir)
	if err := u.Manager.Quotas.RemoveQuota(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	for _, w := range leftWrites(t, u, len(sizes)) {
		if w.State != hemera.WriteKept {
			t.Errorf("%+v", w)
		}
		if strings.HasPrefix(w.Path, "/taken") {
			if _, err := u.Manager.Writes.EndWrite(t.Context(), admin, w.ID, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	stop()
	lose(t, dir)
	u, stop = startUp(t, dir)
	defer stop()
	report, err := u.Manager.Rebuild.Rebuild(t.Context(), adminapi.RebuildOptions{}, quiet)
	if err != nil || report.Made != 3 || report.Problems[adminapi.RebuildKept] != 3 || len(report.Unread) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if err := u.Manager.Rebuild.FinishRebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/new", "/coded"} {
		if _, err := u.Manager.Names.Stat(t.Context(), admin, path); !errors.Is(err, errs.NotFound) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if is, err := u.Manager.Names.Stat(t.Context(), admin, "/updated"); err != nil || is.Gen != was.Gen || is.Size != was.Size {
		t.Errorf("%+v, was %+v, %v", is, was, err)
	}
	for _, path := range []string{"/taken", "/taken-coded"} {
		if got := newClient(t, u).get(path); !bytes.Equal(got, content) {
			t.Errorf("%s was committed, and has %d bytes", path, len(got))
		}
	}
}

// leftWrites waits until that many writes have no client.
func leftWrites(t *testing.T, u *Up, count int) (left []hemera.WriteInfo) {
	t.Helper()
	until(t, "the nodes notice that the clients are gone", func() bool {
		all, err := u.Manager.Writes.Writes(t.Context(), hemera.SystemIdentity())
		if err != nil {
			t.Fatal(err)
		}
		left = slices.DeleteFunc(all, func(w hemera.WriteInfo) bool { return w.Then == "" })
		return len(left) == count
	})
	return left
}

// lose removes the manager's state of a cluster on loopback, and its nodes' records of kept writes, and prepares a
// rebuild.
func lose(t *testing.T, dir string) {
	t.Helper()
	records, err := filepath.Glob(filepath.Join(dir, "*", "kept", "*.json"))
	if err != nil || len(records) != 3 {
		t.Fatal(records, err)
	}
	for _, r := range records {
		if err := os.Remove(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, statedir.UpManager)); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Prepare(t.Context(), filepath.Join(dir, statedir.UpManager), backup.PrepareOptions{}); err != nil {
		t.Fatal(err)
	}
}
