package manager

import (
	"testing"

	"hemera"
	"hemera/core/namespace/tapes"
	"hemera/errs"
)

// A recall does with as few disks as a write may have: somebody waits for it. The pieces that it makes say whose the file is.
func TestARecallIntoAClusterThatLacksDisks(t *testing.T) {
	r := newRig(t, 2, 1)
	if err := r.m.SetSpace(t.Context(), "default", "policy.minpieces", "1"); err != nil {
		t.Fatal(err)
	}
	e := r.write("/f", 100)
	cat := r.m.tree.Tapes
	cat.UseRoutes(func(string) ([]string, error) { return []string{"pool"}, nil })
	if err := cat.Archive(t.Context(), e.ID, "class"); err != nil {
		t.Fatal(err)
	}
	e = r.entry("/f")
	if err := cat.ChangeTape(t.Context(), "TAPE01", func(*hemera.Tape) (*hemera.Tape, error) { return &hemera.Tape{Pool: "pool"}, nil }); err != nil {
		t.Fatal(err)
	}
	sum, _ := hemera.FindChecksum(e.Checksums, hemera.Adler32)
	job := hemera.TapeJobKey{File: e.ID, Kind: hemera.TapeArchive, Copy: 1}
	if _, err := cat.Written(t.Context(), tapes.Report{VID: "TAPE01", Drive: "drive", Files: []hemera.TapeWritten{{Job: job, ArchiveID: e.ArchiveID(), FSeq: 1, Size: e.Size, Sum: sum}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.m.tree.Evict(t.Context(), e.ID, func(*hemera.Entry) error { return nil }); err != nil {
		t.Fatal(err)
	}
	e = r.entry("/f")
	disk := r.m.cluster.View().Disks[0].ID
	if err := r.m.SetDisk(t.Context(), disk, "configstatus", "ro"); err != nil {
		t.Fatal(err)
	}
	grant := func() (hemera.Capability, error) {
		g, err := tapeGrants{r.m.converter}.GrantRecall(t.Context(), e.ID, e.Gen)
		if err != nil {
			return hemera.Capability{}, err
		}
		return r.m.cluster.Ring().Verify(g.Token, r.m.now())
	}
	c, err := grant()
	if err != nil || len(c.Targets) != 1 || c.PiecesMin != 1 || c.Layout != e.Layout {
		t.Errorf("%+v, %v", c, err)
	}
	if c.Owner == nil || c.Owner.UID != e.UID || c.Owner.GID != e.GID || c.Owner.Mode != e.Mode {
		t.Errorf("the owner is %+v, of %+v", c.Owner, e)
	}
	// Where each close takes two pieces, a recall does too.
	if err := r.m.SetSpace(t.Context(), "default", "policy.minpieces", "2"); err != nil {
		t.Fatal(err)
	}
	_, err = grant()
	wantKind(t, err, errs.NoSpace)
}
