package manager

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestFilesOfADiskArePaged: each file once, in the order of ids, and which are the last pieces.
func TestFilesOfADiskArePaged(t *testing.T) {
	r := newRig(t, 2, 1)
	want := []string{}
	for i := range 7 {
		path := fmt.Sprintf("/exp/f%d", i)
		r.write(path, 100+int64(i))
		want = append(want, path)
	}
	if err := r.m.Admin.SetSpace(t.Context(), "default", "policy.layout", "plain"); err != nil {
		t.Fatal(err)
	}
	alone := r.write("/exp/alone", 5)
	disk := alone.Pieces[0].Disk
	want = append(want, "/exp/alone")
	var got, last []string
	var after hemera.FileID
	for {
		page, err := r.m.Maint.DiskFiles(t.Context(), disk, after, 3)
		if err != nil || len(page.Files) > 3 {
			t.Fatal(page, err)
		}
		for _, f := range page.Files {
			got = append(got, f.Path)
			if f.Last {
				last = append(last, f.Path)
			}
		}
		if after = page.Next; after == 0 {
			break
		}
	}
	if !slices.Equal(got, want) || !slices.Equal(last, []string{"/exp/alone"}) {
		t.Errorf("on disk %d: %v, the last pieces of %v", disk, got, last)
	}
	_, err := r.m.Maint.DiskFiles(t.Context(), 99, 0, 1)
	wantKind(t, err, errs.NotFound)
}

// TestASpaceIsRemovedOnlyWhenNothingRefersToIt: disks, directories, files.
func TestASpaceIsRemovedOnlyWhenNothingRefersToIt(t *testing.T) {
	r := newRig(t, 3, 1)
	ctx, admin := t.Context(), hemera.SystemIdentity()
	wantKind(t, r.m.Admin.RemoveSpace(ctx, "default"), errs.Invalid)
	wantKind(t, r.m.Admin.RemoveSpace(ctx, "fast"), errs.NotFound)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(r.m.Admin.SetSpace(ctx, "fast", "define", "4"))
	must(r.m.Admin.SetSpace(ctx, "fast", "policy.layout", "plain"))
	must(r.m.Admin.SetDisk(ctx, 1, "space", "fast"))
	refused := func(says string) {
		t.Helper()
		err := r.m.Admin.RemoveSpace(ctx, "fast")
		wantKind(t, err, errs.NotEmpty)
		if err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("it says %v, not %s", err, says)
		}
	}
	refused("disk 1")
	_, err := r.m.Names.Mkdir(ctx, admin, "/deep/er/dir", 0o777, true)
	must(err)
	must(r.m.Attributes.SetXattr(ctx, admin, "/deep/er/dir", "sys.forced.space", []byte("fast"), false))
	r.write("/deep/er/dir/file", 10)
	must(r.m.Admin.SetDisk(ctx, 1, "space", "default"))
	refused("sys.forced.space of /deep/er/dir")
	must(r.m.Attributes.RemoveXattr(ctx, admin, "/deep/er/dir", "sys.forced.space"))
	refused("file /deep/er/dir/file")
	must(r.m.Names.Remove(ctx, admin, "/deep/er/dir/file", hemera.KindFile))
	must(r.m.Admin.RemoveSpace(ctx, "fast"))
	if _, ok := r.m.Cluster.View().Space("fast"); ok {
		t.Error("the space is still there")
	}
	r.restart()
	if _, ok := r.m.Cluster.View().Space("fast"); ok {
		t.Error("the space came back")
	}
}
