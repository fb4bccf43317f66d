package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hemera/process/statedir"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestLostStore: no new, empty cluster begins in a directory that has a cluster's authority but not its store.
func TestLostStore(t *testing.T) {
	for name, lose := range map[string]func(store string) error{
		"moved":       func(store string) error { return os.Rename(store, store+".away") },
		"not mounted": func(store string) error { return errors.Join(os.Rename(store, store+".away"), os.Mkdir(store, 0o700)) },
		"no marker": func(store string) error {
			markers, err := filepath.Glob(filepath.Join(store, "marker.manifest.*"))
			if err != nil || len(markers) != 1 {
				return errors.Join(err, errors.New(strings.Join(markers, " ")))
			}
			return os.Remove(markers[0])
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := crashed(t, 3, "")
			store := filepath.Join(dir, statedir.StoreDir)
			if err := lose(store); err != nil {
				t.Fatal(err)
			}
			o := ManagerOptions{Dir: dir, Listen: "127.0.0.1:0", CacheBytes: 64 << 20, Log: keptLog(t)}
			for range 2 { // the first attempt leaves nothing that looks like a store
				if _, err := OpenManager(t.Context(), o); !errors.Is(err, errs.Corrupt) || errs.RemedyOf(err) == "" || !strings.Contains(err.Error(), statedir.StoreDir) {
					t.Errorf("a start: %v", err)
				}
			}
		})
	}
}

// TestOlderState: a manager whose directory is an older copy ends when a node registers that has seen more. Changes of
// clients before that are not acknowledged, as they would be lost with the newest copy in place. The node's disks prove
// it as well: its own directory may be of the same older copy.
func TestOlderState(t *testing.T) {
	for name, back := range map[string][]string{"the manager": {"manager"}, "the manager and the node": {"manager", "node"}} {
		t.Run(name, func(t *testing.T) { olderState(t, back) })
	}
}

// olderState replaces directories by an older copy.
func olderState(t *testing.T, back []string) {
	s := newSite(t)
	m, stop := s.start()
	s.joins(s.token(m))
	stop()
	for _, name := range back {
		if err := os.CopyFS(s.path("older "+name), os.DirFS(s.path(name))); err != nil {
			t.Fatal(err)
		}
	}
	m, stop = s.start()
	s.joins("")
	for i := range 20 {
		if _, err := m.Names.Mkdir(t.Context(), hemera.SystemIdentity(), fmt.Sprintf("/d%d", i), 0o755, false); err != nil {
			t.Fatal(err)
		}
	}
	s.joins("")
	marked := func() bool {
		mark, err := os.ReadFile(filepath.Join(s.path("node"), "manager.seen"))
		return err == nil && len(mark) > 0
	}
	if !marked() {
		t.Fatal("the node keeps no mark")
	}
	stop()
	for _, name := range back {
		if err := errors.Join(os.Rename(s.path(name), s.path("newest "+name)), os.Rename(s.path("older "+name), s.path(name))); err != nil {
			t.Fatal(err)
		}
	}
	m, err := s.manager()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- m.Run(t.Context()) }()
	early := make(chan error, 1)
	go func() {
		_, err := m.Names.Mkdir(t.Context(), hemera.SystemIdentity(), "/early", 0o755, false)
		early <- err
	}()
	n, err := OpenNode(t.Context(), NodeOptions{Dir: s.path("node"), Listen: s.node, Disks: []hemera.AttachDisk{{Path: s.path("disk")}}, Log: keptLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	stopNode := serving(t, n.Run)
	if err := <-ended; !errors.Is(err, errs.Corrupt) || !strings.Contains(errs.RemedyOf(err), "ns restore") {
		t.Errorf("the manager ended with %v", err)
	}
	if err := <-early; !errors.Is(err, errs.Unavailable) {
		t.Errorf("a change before a node came: %v", err)
	}
	stopNode()
}
