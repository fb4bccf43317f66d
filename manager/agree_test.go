package manager

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera/rules/condition"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// TestAllReportsAgree: in thirty states of a cluster the counts and conditions of the status, the lists by standing, the words about each file and
// fsck say the same of each file.
func TestAllReportsAgree(t *testing.T) {
	seen := map[adminapi.FileStanding]int{}
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 4, 2)
			r.lost = time.Hour // no repair changes what is compared
			r.restart()
			for _, n := range r.nodes {
				n.register()
			}
			defer r.start()()
			paths := r.harm(rand.New(rand.NewPCG(seed, 0)))
			time.Sleep(time.Minute)
			for standing, n := range r.agree(fmt.Sprintf("seed %d", seed), paths) {
				seen[standing] += n
			}
		})
	}
	for _, standing := range []adminapi.FileStanding{adminapi.FileLost, adminapi.FileUnreadable, adminapi.FileDegraded, ""} {
		if seen[standing] == 0 {
			t.Errorf("no file was ever %q", standing)
		}
	}
}

// harm writes files of several layouts, some of them on tape only, and has disks, nodes, pieces and tapes fail by chance.
func (r *rig) harm(random *rand.Rand) (paths []string) {
	r.t.Helper()
	ctx := r.t.Context()
	for _, layout := range []string{"plain", "replica:2", "replica:3", "rs:2+1"} {
		if err := r.m.Admin.SetSpace(ctx, "default", "policy.layout", layout); err != nil {
			r.t.Fatal(err)
		}
		for i := range 5 {
			path := fmt.Sprintf("/%s-%d", strings.NewReplacer(":", "-", "+", "-").Replace(layout), i)
			r.writeCoded(path, 1<<20)
			paths = append(paths, path)
		}
	}
	for i := range 2 {
		path := fmt.Sprintf("/taped-%d", i)
		e := r.archive(r.writeCoded(path, 1<<20), "single")
		if _, err := r.m.tree.Evict(ctx, e.ID, func(*hemera.Entry) error { return nil }); err != nil {
			r.t.Fatal(err)
		}
		paths = append(paths, path)
	}
	if random.IntN(3) == 0 {
		err := r.m.tree.Tapes.ChangeTape(ctx, "TAPE01", func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
			now := *old
			now.State, now.Reason = tapeapi.Broken, "broken leader pin"
			return &now, nil
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	for range random.IntN(4) {
		disk := hemera.DiskID(1 + random.IntN(8))
		switch d, there := r.m.Cluster.View().Disk(disk); {
		case !there:
		case random.IntN(3) == 0:
			if err := r.m.Admin.SetDisk(ctx, disk, "configstatus", "off"); err != nil {
				r.t.Fatal(err)
			}
		case random.IntN(2) == 0:
			if err := r.m.Admin.RemoveDisk(ctx, disk, adminapi.Removal{Force: true, Lose: true}); err != nil {
				r.t.Fatal(err)
			}
		default:
			if err := r.m.Admin.SetNode(ctx, d.Node, "status", "off"); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	return paths
}

// agreeOn compares what an explanation, a check and an open say of a file with its standing and the words of its report.
func (r *rig) agreeOn(when, path string, standing adminapi.FileStanding, words string) {
	r.t.Helper()
	why, err := r.m.Status.Why(r.t.Context(), hemera.SystemIdentity(), adminapi.WhyFile, path)
	if err != nil || why.State != words {
		r.t.Errorf("%s: why %s says %q, its report %q: %v", when, path, why.State, words, err)
	}
	for _, reason := range why.Reasons {
		if strings.HasPrefix(reason.About, "piece") && reason.Remedy == "" && !strings.HasPrefix(reason.Text, "can be read") && !strings.HasPrefix(reason.Text, "missing") {
			r.t.Errorf("%s: why %s: no remedy for %+v", when, path, reason)
		}
	}
	cannot := standing == adminapi.FileLost || standing == adminapi.FileUnreadable
	checks, err := r.m.Maint.CheckFile(r.t.Context(), path, false)
	away := slices.ContainsFunc(checks, func(c adminapi.PieceCheck) bool { return !c.OK })
	if (err != nil || away) != (standing != "") {
		r.t.Errorf("%s: %s is %q, its check finds %+v: %v", when, path, standing, checks, err)
	}
	_, err = r.open(path, hemera.AccessRead)
	if kind := errs.KindOf(err); cannot != (err != nil && kind != errs.Unavailable) || cannot && (errs.RemedyOf(err) == "" || kind != errs.NoReplicas && kind != errs.IO) {
		r.t.Errorf("%s: %s is %q, its open says %v, and to do %q", when, path, standing, err, errs.RemedyOf(err))
	}
	// The disks have the same words in both.
	if kind := errs.KindOf(err); kind == errs.NoReplicas && standing == adminapi.FileUnreadable && !strings.HasSuffix(err.Error(), strings.TrimPrefix(words, "offline: ")) {
		r.t.Errorf("%s: %s: the open says %v, the report %q", when, path, err, words)
	}
}

// agree compares all that is said of the files, and returns how many have each standing.
func (r *rig) agree(when string, paths []string) map[adminapi.FileStanding]int {
	r.t.Helper()
	ctx, is := r.t.Context(), map[string]adminapi.FileStanding{}
	count := map[adminapi.FileStanding]int{}
	for _, standing := range []adminapi.FileStanding{adminapi.FileLost, adminapi.FileUnreadable, adminapi.FileDegraded} {
		err := r.m.Status.Impaired(ctx, standing, func(path string, _ hemera.Entry) error {
			if was := is[path]; was != "" {
				r.t.Errorf("%s: %s is %s and %s", when, path, was, standing)
			}
			is[path] = standing
			count[standing]++
			return nil
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	words := map[adminapi.FileStanding][]string{
		adminapi.FileLost: {"lost: "}, adminapi.FileUnreadable: {"offline: ", "on tape only, and cannot be read"}, adminapi.FileDegraded: {"degraded: ", "incomplete: "},
		"": {"healthy", "incomplete: ", "on tape only; a read"},
	}
	for _, path := range paths {
		info, err := r.m.Maint.FileInfo(ctx, hemera.SystemIdentity(), path)
		if err != nil || !slices.ContainsFunc(words[is[path]], func(word string) bool { return strings.HasPrefix(info.Status, word) }) {
			r.t.Errorf("%s: %s is %q in the lists, and %q by itself: %v", when, path, is[path], info.Status, err)
		}
		r.agreeOn(when, path, is[path], info.Status)
	}
	count[""] = len(paths) - len(is)
	s, err := r.m.Status.Status(ctx)
	if f := s.Files; err != nil || f.Partial || f.Lost != int64(count[adminapi.FileLost]) || f.Unreadable != int64(count[adminapi.FileUnreadable]) || f.Degraded != int64(count[adminapi.FileDegraded]) {
		r.t.Errorf("%s: the status counts %+v, the lists %v: %v", when, f, count, err)
	}
	said := map[string]int64{}
	for _, c := range s.Conditions {
		said[c.Code] += c.Count
	}
	if said[condition.FilesLost] != s.Files.Lost || said[condition.FilesUnreadable] != s.Files.Unreadable || said[condition.FilesDegraded] != s.Files.Degraded ||
		said[condition.FilesIncomplete] != s.Files.Incomplete || (s.Files.Lost+s.Files.Unreadable > 0) && s.Health != adminapi.SeverityError {
		r.t.Errorf("%s: conditions %+v, counts %+v", when, s.Conditions, s.Files)
	}
	report, err := r.m.Maint.Fsck(ctx, false)
	found := map[string]int64{}
	for _, p := range report.Problems {
		found[p.Tag] += p.Count
	}
	if err != nil || found["tape_unreadable"] != s.Files.UnreadableOnTape || found["lost"] < s.Files.Lost {
		r.t.Errorf("%s: fsck finds %v, the status %+v: %v", when, found, s.Files, err)
	}
	return count
}
