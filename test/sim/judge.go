package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"hemera/maint"
	"hemera/rules/layout"
	"hemera/test/sim/register"
	"hemera/test/sim/simnet"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// judge holds the system to its contract once the faults have ended. It only looks, but for the restart that lets
// everything expire that may be kept for a while.
// Nobody else works by then, so what it lists stays as it is.
type judge struct{ w *world }

// audit compares disks and namespace once; what it finds is mended afterwards. Only what crashes
// leave behind may be found, what the tortured drive lost, and what a manager over an older store has moved: the audit finds such
// a piece on its new disk, but perhaps after it has missed it on the old one.
func (j judge) audit(ctx context.Context) {
	report, err := j.w.head.Load().Maint.Fsck(ctx, true)
	if err != nil {
		j.w.fail("fsck: %v", err)
		return
	}
	for _, p := range report.Problems {
		j.w.trace.Add("sim", "fsck finds %+v", p)
		// A size that differs is never left behind by a crash: a commit names the sizes of sealed pieces.
		if p.Tag == "missing" && !j.tortured(p.Disk) && !j.w.keeper.ruled || p.Tag == "size_mismatch" {
			j.w.fail("disk %d: %d pieces %s: %v", p.Disk, p.Count, p.Tag, p.Files)
		}
	}
}

// tortured reports whether the disk is one that may lose data.
func (j judge) tortured(id hemera.DiskID) bool {
	d, ok := j.w.head.Load().Cluster.View().Disk(id)
	return ok && j.w.victim(j.w.drive(d))
}

// mended waits until there is nothing left to repair. Orphans are removed when they have been seen for
// [maint.OrphanAge]; everything else is repaired in minutes.
func (j judge) mended(ctx context.Context) {
	left := j.mendedIn(ctx, 10*time.Minute)
	// The pieces of a file may need every disk that there is.
	if left != "" && len(j.distrusted()) > 0 {
		j.forgiven(ctx)
		left = j.mendedIn(ctx, 10*time.Minute)
	}
	// Only then is the long wait worth its time.
	if strings.Contains(left, "Tag:orphan") || strings.HasPrefix(left, youngLeft) {
		simnet.Rest(ctx, maint.OrphanAge)
		left = j.mendedIn(ctx, 10*time.Minute)
	}
	if left != "" {
		j.w.fail("not mended in time: %s", left)
	}
}

// distrusted returns the disks that take no pieces because they had many bad ones.
func (j judge) distrusted() (ids []hemera.DiskID) {
	for _, d := range j.w.head.Load().Cluster.View().Disks {
		if d.Health == hemera.HealthFailing && !j.w.drive(d).gone.Load() {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// forgiven waits until disks with many bad pages are trusted again: pages that are lost for good count once against them, and are
// not read again and again.
// An hour is twice what a disk of a simulation takes to be forgiven.
func (j judge) forgiven(ctx context.Context) {
	if !j.comes(ctx, time.Hour, func() bool { return len(j.distrusted()) == 0 }) {
		j.w.fail("disks %v are still failing, an hour after bits were flipped", j.distrusted())
	}
}

// mendedIn waits until nothing is left to repair, and returns what is left after the limit.
// It asks every few simulated seconds.
func (j judge) mendedIn(ctx context.Context, limit time.Duration) (left string) {
	// Not the pause of any server: what fsck looks at is locked, and the server that wants it would find it so each time.
	const pause = 4300 * time.Millisecond
	for waited := time.Duration(0); waited < limit; waited += pause {
		if left = j.unmended(ctx); left == "" {
			return ""
		}
		simnet.Rest(ctx, pause)
	}
	jobs, err := j.w.head.Load().Maint.Jobs(ctx)
	return fmt.Sprintf("%s; jobs: %+v %v", left, jobs, err)
}

// youngLeft begins what unmended says of pieces that audits do not judge yet: of a write that was dropped in doubt.
const youngLeft = "pieces too young to judge: "

// unmended says what is left to repair, or "".
// A reason is text for the failure; nobody parses it.
func (j judge) unmended(ctx context.Context) string {
	h := j.w.head.Load()
	report, err := h.Maint.Fsck(ctx, true)
	if err != nil {
		return err.Error()
	}
	// After a restore: what is newer than it may be all that is left of a file.
	if j.w.keeper.again { // what it does not know of is kept
		report.Problems = slices.DeleteFunc(report.Problems, func(p adminapi.FsckProblem) bool { return p.Tag == "newer" })
	}
	if wrong := j.losses(&report); wrong != "" {
		return wrong
	}
	report.Problems = slices.DeleteFunc(report.Problems, func(p adminapi.FsckProblem) bool { return p.Tag == "under_replicated" && j.fewDisks(ctx, p.Files) })
	if len(report.Problems) > 0 {
		return fmt.Sprintf("fsck finds %+v", report.Problems)
	}
	if report.Young > 0 {
		return youngLeft + strconv.FormatInt(report.Young, 10)
	}
	for _, d := range h.Cluster.View().Disks {
		// Ten of them are enough to name.
		left, err := h.tree.Pieces.Unlinked(ctx, d.ID, 10)
		if err != nil {
			return err.Error()
		}
		// A drive that is gone confirms nothing.
		if len(left) > 0 && !j.w.drive(d).gone.Load() {
			return fmt.Sprintf("disk %d is still to remove %v", d.ID, left)
		}
	}
	return ""
}

// checkTree has the namespace check what it stores twice: totals, lists of disks, places, quotas.
func (j judge) checkTree(ctx context.Context) {
	problems, err := j.w.head.Load().tree.Inspection.Check(ctx)
	if err != nil {
		j.w.fail("namespace check: %v", err)
	}
	for _, p := range problems {
		j.w.fail("namespace check: %s", p)
	}
}

// checkReads reads every path that was ever written, and every file there is.
func (j judge) checkReads(ctx context.Context) {
	files, _, err := j.w.tree(ctx)
	if err != nil {
		j.w.fail("the tree cannot be listed: %v", err)
	}
	paths := j.w.oracle.Known()
	// Nobody holds the oracle's lock any more, nor changes it.
	// A file that nobody wrote came from a mix of others.
	for path := range files {
		if !j.w.oracle.Knows(path) && !isVersion(path) {
			j.w.fail("%s: there is a file that nobody wrote", path)
		}
	}
	// As the system, which may read everything, through the network as a client.
	reader := j.reader()
	for _, path := range paths {
		start := j.w.oracle.Tick()
		found, err := reader.fetch(ctx, path)
		// The parent is missing, which open reports with another text.
		if errs.KindOf(err) == errs.NotFound && strings.Contains(err.Error(), "no such") {
			found, err = register.Absent, nil // its directory was renamed
		}
		if j.w.lost[files[path].ID] {
			j.checkLost(path, found, err)
			continue
		}
		if err != nil {
			j.w.fail("%s (%s) cannot be read: %v", path, files[path].ID.Hex(), err)
			continue
		}
		if wrong := j.w.oracle.Read(path, start, found); wrong != "" {
			j.w.fail("at the end: fxid %s gen %d: %s", files[path].ID.Hex(), files[path].Gen, wrong)
		}
	}
}

// reader reads as the system, which may read everything, through the network as a client. It waits for files on tape.
// The patience is more than any recall takes once the faults are over.
func (j judge) reader() *client {
	return &client{w: j.w, name: "reader", host: "reader", who: hemera.SystemIdentity(), rng: j.w.plan.random("reader"), patience: 30 * time.Minute}
}

// checkPieces reads every piece of every file.
// It repairs what it finds on the drive that may lose data, and only there.
func (j judge) checkPieces(ctx context.Context) {
	files, _, _ := j.w.tree(ctx)
	for path, e := range files {
		want := min(layout.Count(e.Layout, e.Size), j.usable())
		// It has no disk copies, and must have none.
		if e.Evicted() {
			want = 0
		}
		var checks []adminapi.PieceCheck
		// A file that the judge itself had recalled may be short of a piece, which repair makes.
		j.comes(ctx, 5*time.Minute, func() bool {
			var err error
			if checks, err = j.w.head.Load().Maint.CheckFile(ctx, path, true); err != nil {
				j.w.fail("file check %s: %v", path, err)
			}
			checks = slices.DeleteFunc(checks, func(c adminapi.PieceCheck) bool { return c.Empty })
			return len(checks) >= want || len(e.Tape) == 0
		})
		if len(checks) != want {
			j.w.fail("%s has %d pieces, not %d", path, len(checks), want)
		}
		for _, c := range checks {
			if !c.OK && !(c.Repaired && j.tortured(c.Piece.Disk)) {
				j.w.fail("%s: piece %d on disk %d: %s", path, c.Piece.Index, c.Piece.Disk, c.Error)
			}
		}
	}
}

// checkDrives counts what drives hold against what the namespace has there.
// It looks at the drives themselves: a disk that forgot a file must not hide it.
func (j judge) checkDrives(ctx context.Context) {
	h := j.w.head.Load()
	simnet.Rest(ctx, 30*time.Second) // what the last checks replaced is removed
	for _, d := range h.Cluster.View().Disks {
		drive := j.w.drive(d)
		pieces, _, err := h.tree.Pieces.DiskUsage(ctx, d.ID)
		if err != nil {
			j.w.fail("disk %d: %v", d.ID, err)
		}
		if drive.gone.Load() {
			if pieces > 0 {
				j.w.fail("disk %d is gone, and the namespace has %d pieces there", d.ID, pieces)
			}
			continue
		}
		// Nothing may be held: the last restart was later than any hold.
		if held, bytes, err := h.tree.Pieces.DiskHeld(ctx, d.ID); err != nil || held != 0 || bytes != 0 {
			j.w.fail("disk %d still holds %d pieces, %d bytes, of content that is gone: %v", d.ID, held, bytes, err)
		}
		if j.tortured(d.ID) {
			continue // a piece that lost its footer stays; nobody can tell whose it was
		}
		files := drive.files()
		if j.w.keeper.again {
			files = slices.DeleteFunc(files, func(name string) bool { return j.forgotten(drive, name) })
		}
		// A file too few is as wrong as one too many.
		if len(files) != int(pieces) {
			j.w.fail("disk %d (node %d, %s) holds %d files, the namespace has %d pieces there; it should not have %v",
				d.ID, d.Node, d.Path, len(files), pieces, j.surplus(ctx, d.ID, files))
		}
	}
}

// forgotten reports true if the file is a piece of content that a restored namespace may have forgotten as a whole. Such
// pieces are kept on purpose: they may be all that is left of a file.
func (j judge) forgotten(d *drive, name string) bool {
	h := j.w.head.Load()
	p, err := hemera.ParsePieceID(path.Base(name))
	if err != nil {
		return false
	}
	r, err := d.store.Load().Disk.Open(p)
	if err != nil {
		return false
	}
	// The time decides, with the number of the file and its generation.
	sealed := r.Stat().Sealed
	_ = r.Close()
	e, _, err := h.tree.Inspection.Resolve(context.Background(), p.File)
	has := err == nil && e.Gen == p.Gen && slices.ContainsFunc(e.Pieces, func(q hemera.Piece) bool {
		disk, ok := h.Cluster.View().Disk(q.Disk)
		return ok && q.Index == p.Index && j.w.drive(disk) == d
	})
	return !has && h.tree.Past.NewerThanRestore(p, sealed)
}

// surplus returns the files of a disk that no entry has.
// It is for the message only.
func (j judge) surplus(ctx context.Context, id hemera.DiskID, files []string) []string {
	entries, _ := j.w.head.Load().tree.Pieces.DiskFiles(ctx, id, 0, math.MaxInt) // fewer than it lists at once
	return slices.DeleteFunc(files, func(name string) bool {
		p, err := hemera.ParsePieceID(path.Base(name))
		return err == nil && slices.ContainsFunc(entries, func(e hemera.Entry) bool {
			return e.ID == p.File && e.Gen == p.Gen && slices.Contains(e.Pieces, hemera.Piece{Index: p.Index, Disk: id})
		})
	})
}

// usable counts the disks that can have pieces, now that every fault but the loss of drives is over.
func (j judge) usable() (count int) {
	for _, d := range j.w.head.Load().Cluster.View().Disks {
		if !j.w.drive(d).gone.Load() {
			count++
		}
	}
	return count
}

// fewDisks reports whether each of the files is lost, or has a piece on every disk and lacks only what there is no disk for.
func (j judge) fewDisks(ctx context.Context, files []hemera.FileID) bool {
	return !slices.ContainsFunc(files, func(id hemera.FileID) bool {
		e, _, err := j.w.head.Load().tree.Inspection.Resolve(ctx, id)
		left := slices.DeleteFunc(slices.Clone(e.Pieces), func(p hemera.Piece) bool { return !j.there(p.Disk) })
		return err != nil || !j.w.lost[id] && len(left) < min(layout.Count(e.Layout, e.Size), j.usable())
	})
}

// losses compares the files that fsck counts as lost with those that are, and removes them from the report. It returns what
// differs, or "".
func (j judge) losses(report *adminapi.FsckReport) string {
	told := map[hemera.FileID]bool{}
	report.Problems = slices.DeleteFunc(report.Problems, func(p adminapi.FsckProblem) bool {
		if p.Tag != "lost" {
			return false
		}
		for _, id := range p.Files {
			told[id] = true
		}
		return true
	})
	if !maps.Equal(told, j.w.lost) {
		return fmt.Sprintf("fsck counts the files %v as lost, and these are: %v", slices.Sorted(maps.Keys(told)), slices.Sorted(maps.Keys(j.w.lost)))
	}
	return ""
}

// checkLost fails unless the read of a lost file failed, and said so.
// How it says so depends on where the read got to.
func (j judge) checkLost(path string, found register.Content, err error) {
	switch {
	case err == nil:
		j.w.fail("%s is lost, and a client reads %s", path, found)
	case !errors.Is(err, errs.NoReplicas) && !errors.Is(err, errs.Corrupt) && !simnet.Lost(err) && errs.KindOf(err) != errs.IO:
		j.w.fail("%s is lost, and a client is told: %v", path, err)
	}
}

// comes looks every ten seconds whether something has happened, until the limit.
func (j judge) comes(ctx context.Context, limit time.Duration, happened func() bool) bool {
	for waited := time.Duration(0); waited < limit; waited += 10 * time.Second {
		if happened() {
			return true
		}
		simnet.Rest(ctx, 10*time.Second)
	}
	return happened()
}

// there reports whether the disk is in the cluster, with its drive.
func (j judge) there(id hemera.DiskID) bool {
	d, ok := j.w.head.Load().Cluster.View().Disk(id)
	return ok && !j.w.drive(d).gone.Load()
}

// dropKept drops what nodes keep for a person. The last restart had nodes find what was synced before it, and wait for its clients; what
// they could commit is committed by then.
func (j judge) dropKept(ctx context.Context) {
	h := j.w.head.Load()
	var left []hemera.WriteInfo
	kept := func() (err error) {
		left, err = h.Writes.Writes(ctx, hemera.SystemIdentity())
		for _, l := range left {
			if err == nil && l.State != hemera.WriteKept {
				err = fmt.Errorf("the write %+v is still under way", l)
			}
		}
		return err
	}
	if !j.comes(ctx, hemera.PendingHold+5*time.Minute, func() bool { return kept() == nil }) {
		j.w.fail("writes do not end: %v", kept())
	}
	for _, l := range left {
		_, err := h.Writes.EndWrite(ctx, hemera.SystemIdentity(), l.ID, false)
		j.w.trace.Add("sim", "a person drops %s, fxid %s gen %d: %v", l.Path, l.File.Hex(), l.Gen, err)
		if err != nil {
			j.w.fail("the kept write %+v cannot be dropped: %v", l, err)
		}
	}
}
