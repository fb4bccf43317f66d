package disk

import (
	"os"
	"strings"
	"testing"
	"time"

	"hemera/platform/vfs"
)

// TestAnOlderCopyHasFewerChanges: of a real directory, whichever way it was copied. The number is as it was found for a minute, grows at most every
// ten minutes, and only if something changes; all else in the label stays.
func TestAnOlderCopyHasFewerChanges(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	dir := t.TempDir()
	o := Options{Now: func() time.Time { return now }}
	if err := os.Mkdir(dir+"/d", 0o755); err != nil {
		t.Fatal(err)
	}
	d := newDisk(t, vfs.OS{}, dir+"/d", o)
	label, err := os.ReadFile(dir + "/d/" + labelName)
	if err == nil {
		err = os.WriteFile(dir+"/d/"+labelName, append(label, "# rack 7\nlater 12\n"...), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := func(d *Disk, changes uint64) {
		t.Helper()
		if got := d.Status().Changes; got != changes {
			t.Errorf("%d changes, want %d", got, changes)
		}
	}
	n := uint64(0)
	change := func() {
		n++
		copyOf(t, d, pieceID(int(n)), randomBytes(n, 5000))
	}
	change()
	want(d, 0)
	now = now.Add(changesFirst)
	want(d, 0)
	change()
	want(d, 1)
	if err := os.CopyFS(dir+"/yesterday", os.DirFS(dir+"/d")); err != nil {
		t.Fatal(err)
	}
	change()
	want(d, 1)
	now = now.Add(changesEvery)
	want(d, 1)
	if err := d.Remove(pieceID(1)); err != nil {
		t.Fatal(err)
	}
	want(d, 2)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	want(newDisk(t, vfs.OS{}, dir+"/d", o), 2)
	older := newDisk(t, vfs.OS{}, dir+"/yesterday", o)
	want(older, 1)
	if older.UUID() != d.UUID() {
		t.Error("another disk")
	}
	text, err := os.ReadFile(dir + "/d/" + labelName)
	if err != nil || !strings.HasPrefix(string(text), labelFirst+"\nuuid "+d.UUID()+"\nchanges 2\n") ||
		!strings.Contains(string(text), labelHelp) || !strings.HasSuffix(string(text), "# rack 7\nlater 12\n") {
		t.Errorf("%q, %v", text, err)
	}
}

// TestTheLabelOfAnotherDiskStays: the mount may be exchanged under a process. Then, and where the label cannot be written, pieces are sealed and
// removed as before.
func TestTheLabelOfAnotherDiskStays(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	fsys := vfs.NewMemory(0, time.Now)
	for _, path := range []string{"/d", "/e"} {
		if err := fsys.Mkdir(path); err != nil {
			t.Fatal(err)
		}
	}
	d := newDisk(t, fsys, "/d", Options{Now: func() time.Time { return now }})
	other := newDisk(t, fsys, "/e", Options{})
	if err := fsys.Rename("/e/"+labelName, "/d/"+labelName); err != nil {
		t.Fatal(err)
	}
	now = now.Add(changesFirst)
	d.changed()
	if uuid, err := ReadLabel(fsys, "/d"); err != nil || uuid != other.UUID() {
		t.Errorf("%q, %v", uuid, err)
	}
	if d.changes.number.Load() != 0 {
		t.Error("a number that is in no label")
	}
}
