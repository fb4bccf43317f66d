package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/rules/condition"
	"hemera/rules/policy"
	"hemera/tape/tier"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// codes returns the conditions of the cluster now. Information is left out, as it is what a test has set up.
func (r *rig) codes() (codes []string, s adminapi.ClusterStatus) {
	r.t.Helper()
	s, err := r.m.Status.Status(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, c := range s.Conditions {
		if c.Severity != adminapi.SeverityInfo {
			codes = append(codes, c.Code)
		}
	}
	return codes, s
}

// namesLost returns the paths of lost files; there must be as many as the test says.
func (r *rig) namesLost(want int) (paths []string) {
	r.t.Helper()
	err := r.m.Status.Impaired(r.t.Context(), adminapi.FileLost, func(path string, _ hemera.Entry) error {
		paths = append(paths, path)
		return nil
	})
	if err != nil || len(paths) != want {
		r.t.Fatalf("%q, %v, want %d", paths, err, want)
	}
	return paths
}

// A disk with only copies is removed by force: what is lost stays known, with where the disk was, and
// over a restart; when the disk is added again nothing is lost any more.
func TestLostFilesStayKnownUntilTheDiskIsBack(t *testing.T) {
	running(t, 2, 1, func(t *testing.T, r *rig) {
		ctx := t.Context()
		if err := r.m.Admin.SetSpace(ctx, "default", "policy.layout", "plain"); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			r.write(fmt.Sprintf("/f%d", i), 10)
		}
		if codes, _ := r.codes(); len(codes) != 0 {
			t.Fatalf("%v", codes)
		}
		gone := r.m.Cluster.View().Disks[0]
		held, _, _ := r.m.tree.DiskUsage(ctx, gone.ID)
		if err := r.m.Admin.RemoveDisk(ctx, gone.ID, adminapi.Removal{Force: true, Lose: true}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		_, s := r.codes()
		if held == 0 || s.Health != adminapi.SeverityError || s.Conditions[0].Code != condition.FilesLost || s.Files.Lost != held || s.Files.LostBytes != 10*held || s.Files.Partial {
			t.Errorf("%d held, %+v", held, s)
		}
		info, err := r.m.Maint.FileInfo(ctx, hemera.SystemIdentity(), r.namesLost(int(held))[0])
		if err != nil || !strings.HasPrefix(info.Status, "lost: disk 1, last seen at "+gone.Path+" on node1:1095") || info.Pieces[0].Host != "node1" || info.Pieces[0].Disk.Path != gone.Path {
			t.Errorf("%+v, %v", info, err)
		}
		if report, err := r.m.Maint.Fsck(ctx, false); err != nil || len(report.Problems) != 1 || report.Problems[0].Tag != "lost" || report.Problems[0].Disk != gone.ID || report.Problems[0].Count != held {
			t.Errorf("%+v, %v", report, err)
		}
		removed := r.m.Cluster.View().Removed
		if len(removed) != 1 || removed[0].ID != gone.ID || removed[0].Path != gone.Path || removed[0].Addr != r.nodes[0].addr || removed[0].Removed.IsZero() {
			t.Errorf("%+v", removed)
		}
		if err := r.m.Admin.AddDisk(ctx, gone.Node, hemera.AttachDisk{Path: gone.Path, Space: "default"}); err != nil {
			t.Fatal(err)
		}
		r.nodes[0].register()
		r.namesLost(0)
		if report, err := r.m.Maint.Fsck(ctx, false); err != nil || slices.ContainsFunc(report.Problems, func(p adminapi.FsckProblem) bool { return p.Tag == "lost" }) {
			t.Errorf("%+v, %v", report, err)
		}
		if codes, s := r.codes(); s.Files.Lost != 0 || slices.Contains(codes, condition.FilesLost) {
			t.Errorf("%v, %+v", codes, s.Files)
		}
	})
}

// A node that is away takes files out of reach, which is not lost; one that is short is counted too.
func TestUnreadableIsNotLost(t *testing.T) {
	running(t, 1, 2, func(t *testing.T, r *rig) {
		ctx := t.Context()
		r.write("/f", 10)
		if err := r.m.Admin.SetDisk(ctx, 1, "configstatus", "off"); err != nil {
			t.Fatal(err)
		}
		r.write("/short", 10)
		codes, s := r.codes()
		if !slices.Contains(codes, condition.FilesIncomplete) || s.Files.Incomplete != 1 || s.Files.Unreadable != 0 {
			t.Errorf("%v %+v", codes, s.Files)
		}
		r.nodes[0].stop()
		time.Sleep(2 * hemera.HeartbeatTimeout)
		if codes, s := r.codes(); s.Health != adminapi.SeverityError || !slices.Contains(codes, condition.FilesUnreadable) || s.Files.Unreadable != 2 || s.Files.Lost != 0 {
			t.Errorf("%v %+v", codes, s.Files)
		}
		// Its node cannot count what is on a disk that is switched off, or away.
		if v, err := r.m.Admin.View(ctx); err != nil || v.Disks[0].Pieces != 1 {
			t.Errorf("%v %+v", err, v.Disks[0])
		}
	})
}

// paged is a namespace with files on two disks that are away.
type paged struct{ files, asked int }

func (p *paged) DiskFiles(_ context.Context, disk hemera.DiskID, after hemera.FileID, limit int) (out []hemera.Entry, _ error) {
	p.asked += limit
	for id := after + 1; int(id) <= p.files && len(out) < limit; id++ {
		out = append(out, hemera.Entry{ID: id, Kind: hemera.KindFile, Size: 1, Layout: hemera.Replica(2), Pieces: []hemera.Piece{{Index: 0, Disk: 1}, {Index: 1, Disk: 2}}})
	}
	return out, nil
}
func (p *paged) Incomplete(context.Context, hemera.FileID, int) ([]hemera.Entry, error) {
	return nil, nil
}
func (p *paged) Resolve(context.Context, hemera.FileID) (hemera.Entry, string, error) {
	return hemera.Entry{}, "", nil
}

// One look at the census costs a bounded number of files; the count goes on with the next look, counts
// each file once, and is not begun again while nothing changes.
func TestTheCensusIsBounded(t *testing.T) {
	p := &paged{files: 3 * censusBudget}
	c := &census{files: p, now: time.Now, broken: func() ([]hemera.BadPiece, uint64) { return nil, 0 }}
	v := &hemera.View{Removed: []hemera.RemovedDisk{{ID: 1}, {ID: 2}}}
	for i := 0; ; i++ {
		before := p.asked
		f, err := c.look(t.Context(), v, &tier.Shelf{}, 7)
		if err != nil {
			t.Fatal(err)
		}
		if p.asked-before > censusBudget+3*censusPage {
			t.Fatalf("a look asked for %d files", p.asked-before)
		}
		if !f.Partial {
			want := []adminapi.DiskLoss{{Disk: 1, Lost: f.Lost}, {Disk: 2, Lost: f.Lost}} // each file was on both
			if f.Lost != int64(p.files) || i < 5 || !slices.Equal(f.Disks, want) {
				t.Errorf("look %d: %+v", i, f)
			}
			break
		}
		if f.Lost == 0 || i > 10 {
			t.Fatalf("look %d: %+v", i, f)
		}
	}
	before := p.asked
	if f, _ := c.look(t.Context(), v, &tier.Shelf{}, 7); f.Partial || p.asked != before {
		t.Errorf("counted again: %+v", f)
	}
	if f, _ := c.look(t.Context(), &hemera.View{}, &tier.Shelf{}, 7); f.Partial || f.Lost != 0 {
		t.Errorf("the disks are back: %+v", f)
	}
}

// By force alone a disk goes only when no file is lost by it: who calls the API without having said
// that files may be lost is refused, with how many and a name.
func TestForceAloneLosesNothing(t *testing.T) {
	running(t, 3, 1, func(t *testing.T, r *rig) {
		ctx := t.Context()
		r.write("/two", 10)
		if err := r.m.Admin.SetSpace(ctx, "default", "policy.layout", "plain"); err != nil {
			t.Fatal(err)
		}
		r.write("/one", 10)
		last := r.entry("/one").Pieces[0].Disk
		sum, err := r.m.Status.Impact(ctx, []hemera.DiskID{last})
		if err != nil || sum.Partial || sum.Lost != 1 || sum.LostBytes != 10 || !slices.Equal(sum.Names, []string{"/one"}) {
			t.Errorf("%+v, %v", sum, err)
		}
		if all, err := r.m.Status.Impact(ctx, []hemera.DiskID{1, 2, 3}); err != nil || all.Lost != 2 || all.Weakened != 0 || all.Pieces != 3 {
			t.Errorf("all disks: %+v, %v", all, err)
		}
		err = r.m.Admin.RemoveDisk(ctx, last, adminapi.Removal{Force: true})
		if !errors.Is(err, errs.NotEmpty) || !strings.Contains(err.Error(), "1 files") || !strings.Contains(err.Error(), "/one") {
			t.Errorf("removed: %v", err)
		}
		for _, p := range r.entry("/two").Pieces {
			if p.Disk == last {
				continue
			}
			if sum, err := r.m.Status.Impact(ctx, []hemera.DiskID{p.Disk}); err != nil || sum.Lost != 0 || sum.Weakened != 1 {
				t.Errorf("disk %d: %+v, %v", p.Disk, sum, err)
			}
			if err := r.m.Admin.RemoveDisk(ctx, p.Disk, adminapi.Removal{Force: true}); err != nil {
				t.Errorf("nothing would be lost: %v", err)
			}
			break
		}
		if err := r.m.Admin.RemoveDisk(ctx, last, adminapi.Removal{Force: true, Lose: true}); err != nil {
			t.Error(err)
		}
		if _, err := r.m.Status.Impact(ctx, []hemera.DiskID{last}); !errors.Is(err, errs.NotFound) {
			t.Errorf("a disk that is not there: %v", err)
		}
	})
}

// reasons returns the texts of an explanation, one a line.
func (r *rig) reasons(kind, ref string) string {
	r.t.Helper()
	x, err := r.m.Status.Why(r.t.Context(), hemera.SystemIdentity(), kind, ref)
	if err != nil {
		r.t.Fatal(err)
	}
	lines := []string{x.Subject + ": " + x.State}
	for _, reason := range x.Reasons {
		lines = append(lines, reason.About+": "+reason.Text+" -> "+reason.Remedy)
	}
	return strings.Join(lines, "\n")
}

// What cannot go on is explained at each end: the file that lacks a piece, the disk that is not emptied,
// the name that another holds, and what a new file would get.
func TestWhySaysWhatWaitsForWhat(t *testing.T) {
	running(t, 2, 1, func(t *testing.T, r *rig) {
		ctx := t.Context()
		if err := r.m.Attributes.SetXattr(ctx, hemera.SystemIdentity(), "/", policy.AttrStripes, []byte("3"), false); err != nil {
			t.Fatal(err)
		}
		r.write("/short", 10)
		if err := r.m.Admin.SetDisk(ctx, 1, "configstatus", "drain"); err != nil {
			t.Fatal(err)
		}
		r.mustOpen("/held", hemera.AccessCreate)
		// Not a whole second: jobs try again every few seconds, and hold the file for that moment.
		time.Sleep(10*time.Second + 300*time.Millisecond)
		for ask, want := range map[[2]string][]string{
			{adminapi.WhyFile, "/short"}: {"/short: incomplete: 2 of 3 pieces", "piece 0, disk", "and is being moved away",
				"piece 2: missing: it cannot be made now: 0 of its 2 disks can take", "layout: it asks for 3 pieces and space default has 2 disks"},
			{adminapi.WhyDisk, "1"}: {"disk 1, /disk0 on node1:1095: drain, ok", "content: files have 1 piece on it",
				"drain: stalled", "files: 1 of the first ones, such as /short: it cannot be made now", "add disks"},
			{adminapi.WhyFile, "/held"}: {"/held: it is being written", "lock: is being written by alice"},
			{adminapi.WhyFile, "/new"}:  {"/new: there is no such file", "new files: get layout replica:3 in space default, which has 2 disks, 1 that can be written", "nstripes"},
			{adminapi.WhyNode, "1"}:     {"node 1, node1:1095: online", "disk 1: /disk0 is drain"},
			{adminapi.WhyJobs, ""}:      {"jobs: 2 under way", "drain of disk 1: stalled", "repair of incomplete files"},
		} {
			got := r.reasons(ask[0], ask[1])
			for _, w := range want {
				if !strings.Contains(got, w) {
					t.Errorf("%v does not say %q:\n%s", ask, w, got)
				}
			}
		}
		for _, ask := range [][2]string{{adminapi.WhyDisk, "9"}, {adminapi.WhyNode, "9"}, {adminapi.WhyFile, "fxid:99"}} {
			if _, err := r.m.Status.Why(ctx, hemera.SystemIdentity(), ask[0], ask[1]); !errors.Is(err, errs.NotFound) {
				t.Errorf("%v: %v", ask, err)
			}
		}
	})
}

// TestReportsOfADiskThatIsAwayAgree: while it may come back nothing says that its pieces are made now, and once it is switched off nothing says that
// they will be.
func TestReportsOfADiskThatIsAwayAgree(t *testing.T) {
	running(t, 3, 1, func(t *testing.T, r *rig) {
		ctx := t.Context()
		disk := r.write("/f", 10).Pieces[0].Disk
		d, _ := r.m.Cluster.View().Disk(disk)
		r.node(d.Node).stop()
		time.Sleep(hemera.HeartbeatTimeout + 5*time.Second)
		said := func() string {
			var all []string
			for kind, ref := range map[string]string{adminapi.WhyDisk: disk.String(), adminapi.WhyNode: d.Node.String(), adminapi.WhyJobs: ""} {
				why, err := r.m.Status.Why(ctx, hemera.SystemIdentity(), kind, ref)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, why.State)
				for _, reason := range why.Reasons {
					all = append(all, reason.Text)
				}
			}
			return strings.Join(all, "\n")
		}
		if text := said(); !strings.Contains(text, "is made elsewhere if the disk is still away") || strings.Contains(text, "within seconds") || strings.Contains(text, "rw, ok") {
			t.Errorf("in the grace:\n%s", text)
		}
		if err := r.m.Admin.SetDisk(ctx, disk, "configstatus", "off"); err != nil {
			t.Fatal(err)
		}
		if text := said(); strings.Contains(text, "elsewhere") {
			t.Errorf("switched off:\n%s", text)
		}
	})
}

// TestADrainIsToldAtOnce: an admin who asks right after the wish sees the job, not that of before.
func TestADrainIsToldAtOnce(t *testing.T) {
	running(t, 3, 1, func(t *testing.T, r *rig) {
		disk := r.write("/f", 10).Pieces[0].Disk
		if err := r.m.Admin.SetDisk(t.Context(), disk, "configstatus", "drain"); err != nil {
			t.Fatal(err)
		}
		jobs, err := r.m.Maint.Jobs(t.Context())
		if err != nil || !slices.ContainsFunc(jobs, func(j adminapi.JobStatus) bool { return j.Kind == "drain" && j.Disk == disk && j.FilesLeft == 1 }) {
			t.Errorf("%+v, %v", jobs, err)
		}
		time.Sleep(time.Minute)
		if jobs, err := r.m.Maint.Jobs(t.Context()); err != nil || len(jobs) != 1 || jobs[0].State != "done" {
			t.Errorf("a minute later: %+v, %v", jobs, err)
		}
	})
}

// TestTheStatusHasWhatTapeNeeds: what `hemera tape status` lists is a condition, with the command to type.
func TestTheStatusHasWhatTapeNeeds(t *testing.T) {
	running(t, 2, 1, func(t *testing.T, r *rig) {
		r.archive(r.write("/f", 10), "single")
		if codes, _ := r.codes(); len(codes) != 0 {
			t.Errorf("before: %q", codes)
		}
		err := r.m.tree.Tapes.ChangeTape(t.Context(), "TAPE01", func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
			now := *old
			now.State, now.Reason = tapeapi.Disabled, "torn"
			return &now, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		codes, s := r.codes()
		if !slices.Equal(codes, []string{condition.TapeAttention}) || s.Health != adminapi.SeverityWarning {
			t.Fatalf("%q, %+v", codes, s)
		}
		for _, c := range s.Conditions {
			if c.Code == condition.TapeAttention && (c.Subject != "tape TAPE01" || !strings.Contains(c.Text, "torn") || !strings.Contains(c.Remedy, "hemera tape tape set TAPE01")) {
				t.Errorf("%+v", c)
			}
		}
	})
}
