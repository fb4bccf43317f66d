package node

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/hemera"
)

// session runs a node for a while and returns its last status.
func session(t *testing.T, o Options) Status {
	t.Helper()
	n, stop := running(t, o)
	defer stop()
	<-n.Joined()
	time.Sleep(3 * retryInterval)
	return n.Status()
}

// A disk stays the same when its mount point changes.
func TestADiskThatIsMountedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newControl()
		old, path := filepath.Join(t.TempDir(), "old"), filepath.Join(t.TempDir(), "new")
		if err := os.Mkdir(old, 0o700); err != nil {
			t.Fatal(err)
		}
		o := options(t, c, old)
		before := session(t, o).Disks[0]
		if err := os.Rename(old, path); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second start finds it in the node's list
			o.Disks = []hemera.AttachDisk{{Path: path}}
			disks := session(t, o).Disks
			if len(disks) != 1 || disks[0].UUID != before.UUID || disks[0].ID != before.ID || disks[0].Path != path || disks[0].Health != hemera.HealthOK {
				t.Fatalf("was %+v, is %+v", before, disks)
			}
			c.mu.Lock()
			hello := c.hellos[len(c.hellos)-1]
			c.mu.Unlock()
			if len(hello.Disks) != 1 || hello.Disks[0].ID != before.ID {
				t.Fatalf("hello %+v", hello)
			}
		}
	})
}

// The same for a running node: the disk disappears and returns at a path that an admin names.
func TestADiskThatIsMountedElsewhereUnderANodeThatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newControl()
		old, path := filepath.Join(t.TempDir(), "old"), filepath.Join(t.TempDir(), "new")
		if err := os.Mkdir(old, 0o700); err != nil {
			t.Fatal(err)
		}
		n, stop := running(t, options(t, c, old))
		defer stop()
		<-n.Joined()
		before := n.Status().Disks[0]
		if err := os.Rename(old, path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		c.set(func() { c.next.Attach = []hemera.AttachDisk{{Path: path}} })
		time.Sleep(3 * retryInterval)
		disks := n.Status().Disks
		if len(disks) != 1 || disks[0].ID != before.ID || disks[0].Path != path || disks[0].Health != hemera.HealthOK {
			t.Fatalf("was %+v, is %+v", before, disks)
		}
		if s, ok := n.disks.find(before.ID); !ok || s.Status().Path != path {
			t.Error("the disk cannot be found by its id")
		}
	})
}

// A copy of a disk, with its label, must neither keep the node out of the cluster nor take the disk's place.
func TestACopyOfADiskAtTheSameNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newControl()
		path, copied := t.TempDir(), t.TempDir()
		o := options(t, c, path)
		before := session(t, o).Disks[0]
		if err := os.CopyFS(copied, os.DirFS(path)); err != nil {
			t.Fatal(err)
		}
		o.Disks = append([]hemera.AttachDisk{{Path: copied}}, o.Disks...)
		s := session(t, o)
		if len(s.Disks) != 1 || s.Disks[0].Path != path || s.Disks[0].ID != before.ID || s.Disks[0].Health != hemera.HealthOK {
			t.Errorf("disks %+v, was %+v", s.Disks, before)
		}
		if len(s.Stats.Unusable) != 1 || s.Stats.Unusable[0].Path != copied {
			t.Errorf("unusable: %+v", s.Stats.Unusable)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, h := range c.hellos {
			if len(h.Disks) != 1 {
				t.Errorf("hello with disks %+v", h.Disks)
			}
		}
	})
}

// Exchanged mount points lose nothing: both disks are refused, and remembered.
func TestExchangedMountPoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newControl()
		one, two, aside := filepath.Join(t.TempDir(), "1"), filepath.Join(t.TempDir(), "2"), filepath.Join(t.TempDir(), "3")
		for _, path := range []string{one, two} {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		exchange := func() {
			for _, move := range [][2]string{{one, aside}, {two, one}, {aside, two}} {
				if err := os.Rename(move[0], move[1]); err != nil {
					t.Fatal(err)
				}
			}
		}
		o := options(t, c, one, two)
		before := session(t, o).Disks
		exchange()
		for _, d := range session(t, o).Disks {
			if d.Health != hemera.HealthGone {
				t.Errorf("%+v", d)
			}
		}
		exchange()
		after := session(t, o).Disks
		for i, d := range after {
			if len(after) != 2 || d.UUID != before[i].UUID || d.Path != before[i].Path || d.Health != hemera.HealthOK {
				t.Errorf("were %+v, are %+v", before, after)
			}
		}
	})
}

// A trailing slash does not change a path.
func TestASlashAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newControl()
		path := t.TempDir()
		o := options(t, c, path+"/")
		before := session(t, o)
		o.Disks = []hemera.AttachDisk{{Path: path}, {Path: path + "//"}}
		after := session(t, o)
		if len(before.Disks) != 1 || before.Disks[0].Path != path || len(after.Disks) != 1 || after.Disks[0].Path != path || len(after.Stats.Unusable) > 0 {
			t.Errorf("was %+v, is %+v, unusable %+v", before.Disks, after.Disks, after.Stats.Unusable)
		}
	})
}
