package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// pieces lists the files of pieces on all disks of a cluster, sealed and pending.
func pieces(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // it was moved meanwhile
			return nil
		}
		if err == nil && !d.IsDir() {
			if _, bad := hemera.ParsePieceID(strings.TrimSuffix(d.Name(), ".sums")); bad == nil {
				names = append(names, path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestRefusedCloseLeavesNothing: after a close whose commit is refused, every piece is removed, including those that
// other nodes have sealed, through the real doors.
func TestRefusedCloseLeavesNothing(t *testing.T) {
	const replicas = 3
	dir := t.TempDir()
	url := runUp(t, UpOptions{Nodes: replicas, Disks: replicas, Manager: ManagerOptions{
		Dir: dir, Log: keptLog(t),
		Space: hemera.Space{Policy: hemera.Policy{Layout: hemera.Replica(replicas), Checksum: hemera.Adler32, Sync: true}},
	}})
	c := xrootd.New(xrootd.Options{})
	defer c.Close()
	at := func(path string) xrootd.URL {
		t.Helper()
		u, err := xrootd.ParseURL(url + path)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	open := func(path string, size int) *xrootd.File {
		t.Helper()
		f, err := c.Open(t.Context(), at(path), xrootd.OpenOptions{Write: true, Create: true})
		if err == nil {
			err = f.WriteAt(t.Context(), make([]byte, size), 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	kept := 0
	for i, size := range []int{100, 60_000, 300_000, 5 << 20} {
		late, early := fmt.Sprintf("/late%d", i), fmt.Sprintf("/early%d", i)
		f := open(late, size)
		if err := open(early, 1000).Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		kept += replicas
		if err := c.Rename(t.Context(), at(early), late); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(t.Context()); err == nil || errors.Is(err, errs.Unavailable) {
			t.Errorf("a close in the place of another file: %v", err)
		}
	}
	// Peers are notified in the background.
	var left []string
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if left = pieces(t, dir); len(left) <= kept || time.Now().After(deadline) {
			break
		}
	}
	if len(left) != kept {
		t.Errorf("%d pieces are on the disks, want %d: %v", len(left), kept, left)
	}
}
