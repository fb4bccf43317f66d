package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hemera/words/hemera"
)

// TestAFolderIsTakenOnlyWhenOneIsMeant checks that an unmounted disk is refused, because its data would fill the system
// disk.
func TestAFolderIsTakenOnlyWhenOneIsMeant(t *testing.T) {
	given, added, mounted := t.TempDir(), t.TempDir(), t.TempDir()
	o := options(t, newControl(), given)
	o.IsFolder = func(path string) bool { return path != mounted }
	n, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer n.disks.close()
	if len(n.disks.stores()) != 1 {
		t.Error("a disk of the settings is refused")
	}
	add := func(folder bool) {
		t.Helper()
		if _, err := n.disks.attach([]hemera.AttachDisk{{Path: added, Folder: folder}, {Path: mounted}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	add(false)
	bad := n.disks.unusable()
	if len(bad) != 1 || bad[0].Path != added || !strings.Contains(bad[0].Why, "not a mount point") {
		t.Errorf("unusable: %+v", bad)
	}
	if _, err := os.Stat(filepath.Join(added, ".hemera-disk")); err == nil {
		t.Error("the folder was made a disk all the same")
	}
	if len(n.disks.stores()) != 2 {
		t.Errorf("%d disks", len(n.disks.stores()))
	}
	add(true)
	if bad := n.disks.unusable(); len(bad) != 0 || len(n.disks.stores()) != 3 {
		t.Errorf("with --folder: %+v, %d disks", bad, len(n.disks.stores()))
	}
}
