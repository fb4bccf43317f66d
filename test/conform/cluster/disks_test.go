package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

func TestDrainedDiskIsEmptyAndCanGo(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), 3, 6)
	ctx := t.Context()
	files := r.fill()
	var id hemera.DiskID
	for id = range r.pieces("/big") {
		break
	}
	if err := r.up.Manager.Admin.SetDisk(ctx, id, "configstatus", "drain"); err != nil {
		t.Fatal(err)
	}
	until(t, "the disk is empty", func() bool { return r.disk(id).Config == hemera.ConfigEmpty })
	jobs, err := r.up.Manager.Maint.Jobs(ctx)
	if err != nil || len(jobs) != 1 || jobs[0].Disk != id || jobs[0].FilesDone == 0 || jobs[0].FilesLeft != 0 || jobs[0].Failed != 0 {
		t.Errorf("jobs %+v, %v", jobs, err)
	}
	r.whole(files)
	path := r.disk(id).Path
	until(t, "its pieces are removed", func() bool { return sealed(path) == 0 })
	if err := r.up.Manager.Admin.RemoveDisk(ctx, id, adminapi.Removal{}); err != nil {
		t.Error(err)
	}
	r.whole(files)
}

// sealed counts the pieces in a disk's folder.
func sealed(path string) int {
	found, _ := filepath.Glob(filepath.Join(path, "*", "*.*.*"))
	return len(found)
}

func TestLostDiskIsRepairedAndReconciledWhenItComesBack(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), 3, 3)
	files := r.fill()
	var id hemera.DiskID
	for id = range r.pieces("/big") {
		break
	}
	path := r.disk(id).Path
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	until(t, "the loss is noticed", func() bool { return r.disk(id).Health == hemera.HealthGone && r.disk(id).Why != "" })
	for name, size := range files { // at once, from the other pieces
		read(t, r.client, r.url(name), content(name, size))
	}
	until(t, "the files are whole elsewhere", func() bool {
		jobs, err := r.up.Manager.Maint.Jobs(t.Context())
		return err == nil && len(jobs) > 0 && jobs[0].Kind == "repair" && jobs[0].State == "done"
	})
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	until(t, "the disk is back", func() bool { return r.disk(id).Writable() })
	until(t, "what it held is removed", func() bool { return sealed(path) == 0 })
	r.whole(files)
}

func TestBadPageIsServedFromAnotherPieceAndRepaired(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), 2, 2)
	want := content("/f", 3<<20)
	write(t, r.client, r.url("/f"), want)
	pieces := r.pieces("/f")
	page := int64(100)
	for _, path := range pieces { // both pieces, at different pages
		page++
		overwrite(t, path, page*hemera.PageSize+5, "not what was written")
	}
	checks, err := r.up.Manager.Maint.CheckFile(t.Context(), "/f", false)
	if err != nil || len(checks) != 2 || checks[0].OK || checks[1].OK || checks[0].BadPages != 1 {
		t.Fatalf("%+v, %v", checks, err)
	}
	read(t, r.client, r.url("/f"), want)
	checks, err = r.up.Manager.Maint.CheckFile(t.Context(), "/f", true)
	if err != nil || !checks[0].OK || !checks[1].OK {
		t.Fatalf("after repair: %+v, %v", checks, err)
	}
	for id, path := range pieces {
		b, err := os.ReadFile(path)
		if err != nil || string(b[:len(want)]) != string(want) {
			t.Errorf("disk %d still has other bytes, %v", id, err)
		}
		until(t, "the admin sees the error", func() bool { return r.disk(id).Load.ChecksumErrors > 0 })
	}
}

func overwrite(t *testing.T, path string, at int64, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(text), at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAddedDiskIsUsedAndAnImpossibleOneExplained(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), 1, 1)
	ctx := t.Context()
	node := r.view().Nodes[0].ID
	write(t, r.client, r.url("/f"), content("/f", 5000)) // one piece: there is one disk
	good, bad := filepath.Join(r.dir, "more"), filepath.Join(r.dir, "file", "below")
	if err := os.WriteFile(filepath.Join(r.dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.up.Manager.Admin.AddDisk(ctx, node, hemera.AttachDisk{Path: bad, Space: ""}); err != nil {
		t.Fatal(err)
	}
	until(t, "the admin sees why not", func() bool {
		u := r.view().Nodes[0].Stats.Unusable
		return len(u) == 1 && u[0].Path == bad && u[0].Why != ""
	})
	until(t, "the wish is withdrawn", func() bool { return len(r.view().Nodes[0].Stats.Unusable) == 0 })
	if err := os.Mkdir(good, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.up.Manager.Admin.AddDisk(ctx, node, hemera.AttachDisk{Path: good, Space: ""}); err != nil {
		t.Fatal(err)
	}
	until(t, "the disk is there", func() bool { return len(r.view().Disks) == 2 })
	until(t, "the file has its second piece", func() bool {
		info, err := r.up.Manager.Maint.FileInfo(ctx, hemera.SystemIdentity(), "/f")
		return err == nil && len(info.Pieces) == 2
	})
	r.whole(map[string]int{"/f": 5000})
}
