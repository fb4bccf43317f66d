package statedir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/words/errs"
)

func TestUpRemembersHowItWasStarted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if _, ok, err := LoadUpShape(dir); ok || err != nil {
		t.Fatal("a new directory remembers something", err)
	}
	want := UpShape{Nodes: 2, Disks: 4, Grace: 10 * time.Second}
	if err := SaveUpShape(dir, want); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := LoadUpShape(dir); got != want || !ok || err != nil {
		t.Errorf("%+v %t %v", got, ok, err)
	}
	if err := os.WriteFile(filepath.Join(dir, shapeFile), []byte(`{"Version":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := LoadUpShape(dir); errs.KindOf(err) != errs.Invalid || errs.RemedyOf(err) == "" {
		t.Errorf("an unknown version: %v", err)
	}
}

// TestUpCountsWhatIsThere counts in a directory from before there was a record.
func TestUpCountsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"node1", "node2", "disk1", "disk2", "disk3", "disk5"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok, err := LoadUpShape(dir); got != (UpShape{Nodes: 2, Disks: 3}) || !ok || err != nil {
		t.Errorf("%+v %t %v", got, ok, err)
	}
}

func TestUpLeavesNoDiskOut(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"disk1", "disk2", "disk3"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := CheckUpDisks(dir, 1); err != nil {
		t.Errorf("a folder that is no disk: %v", err)
	}
	if _, err := disk.Format(vfs.OS{}, filepath.Join(dir, "disk3")); err != nil {
		t.Fatal(err)
	}
	if err := CheckUpDisks(dir, 2); errs.KindOf(err) != errs.Invalid || errs.RemedyOf(err) == "" {
		t.Errorf("disk3 is left out: %v", err)
	}
	if err := CheckUpDisks(dir, 3); err != nil {
		t.Error(err)
	}
}

func TestUpNeedsTheNamespaceOfItsDisks(t *testing.T) {
	dir := t.TempDir()
	if err := CheckUpManager(dir); err != nil {
		t.Errorf("a new directory: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "disk1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Format(vfs.OS{}, filepath.Join(dir, "disk1")); err != nil {
		t.Fatal(err)
	}
	if err := CheckUpManager(dir); errs.KindOf(err) != errs.Corrupt || errs.RemedyOf(err) == "" {
		t.Errorf("a disk without a namespace: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, UpManager, StoreDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := CheckUpManager(dir); err != nil {
		t.Error(err)
	}
}
