package sim

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"

	"hemera"
	"hemera/core/maint"
	"hemera/errs"
)

// judge holds the system to its contract once the faults have ended. It only looks, but for the restart that lets
// everything expire that may be kept for a while.
type judge struct{ *world }

// settle waits until the system should have repaired everything by itself, and then checks the whole contract.
func (w judge) settle(ctx context.Context) {
	rest(ctx, hemera.PendingHold+w.plan.weather.late+10*time.Second)
	w.checkReads(ctx)
	// Later than any write may be under way, with everything restarted.
	const later = 2 * time.Hour
	w.killManager()
	w.managerSkew.Store(int64(later))
	for _, m := range w.machines {
		m.kill(false, nil)
		m.skew.Store(int64(later))
		if err := m.start(); err != nil {
			w.fail("%s does not start again: %v", m.host, err)
		}
	}
	if err := w.startManager(rand.New(rand.NewPCG(w.plan.seed, 7))); err != nil {
		w.fail("the manager does not start again: %v", err)
		return
	}
	w.trace.add("sim", "everything starts again, %s later", later)
	rest(ctx, 10*time.Second)
	w.audit(ctx)
	w.mended(ctx)
	w.arrive(ctx)
	w.checkTree(ctx)
	w.checkQuotas(ctx)
	w.checkReads(ctx)
	w.checkPieces(ctx)
	w.checkDrives(ctx)
}

// audit compares disks and namespace once; what it finds is mended afterwards. Only what crashes
// leave behind may be found, and what the tortured drive lost.
func (w judge) audit(ctx context.Context) {
	report, err := w.head.Load().Fsck(ctx, true)
	if err != nil {
		w.fail("fsck: %v", err)
		return
	}
	for _, p := range report.Problems {
		w.trace.add("sim", "fsck finds %+v", p)
		if p.Tag == "missing" && !w.tortured(p.Disk) || p.Tag == "size_mismatch" {
			w.fail("disk %d: %d pieces %s: %v", p.Disk, p.Count, p.Tag, p.Files)
		}
	}
}

// tortured reports whether the disk is the one that may lose data.
func (w judge) tortured(id hemera.DiskID) bool {
	d, ok := w.head.Load().Cluster().View().Disk(id)
	return ok && w.victim(w.drive(d))
}

// mended waits until there is nothing left to mend. Orphans are removed when they have been seen for
// [maint.OrphanAge]; everything else is mended in minutes.
func (w judge) mended(ctx context.Context) {
	left := w.mendedIn(ctx, 10*time.Minute)
	if strings.Contains(left, "Tag:orphan") {
		rest(ctx, maint.OrphanAge)
		left = w.mendedIn(ctx, 10*time.Minute)
	}
	if left != "" {
		w.fail("not mended in time: %s", left)
	}
}

// mendedIn waits until nothing is left to repair, and returns what is left after the limit.
func (w judge) mendedIn(ctx context.Context, limit time.Duration) (left string) {
	const pause = 5 * time.Second
	for waited := time.Duration(0); waited < limit; waited += pause {
		if left = w.unmended(ctx); left == "" {
			return ""
		}
		rest(ctx, pause)
	}
	return left
}

// unmended says what is left to repair, or "".
func (w judge) unmended(ctx context.Context) string {
	h := w.head.Load()
	report, err := h.Fsck(ctx, true)
	if err != nil {
		return err.Error()
	}
	if w.keeper.again { // what it does not know of is kept
		report.Problems = slices.DeleteFunc(report.Problems, func(p hemera.FsckProblem) bool { return p.Tag == "newer" })
	}
	if len(report.Problems) > 0 {
		return fmt.Sprintf("fsck finds %+v", report.Problems)
	}
	for _, d := range h.Cluster().View().Disks {
		left, err := h.tree.Unlinked(ctx, d.ID, 10)
		if err != nil {
			return err.Error()
		}
		if len(left) > 0 && !w.drive(d).gone.Load() {
			return fmt.Sprintf("disk %d is still to remove %v", d.ID, left)
		}
	}
	return ""
}

// checkTree compares the namespace with the oracle.
func (w judge) checkTree(ctx context.Context) {
	problems, err := w.head.Load().tree.Check(ctx)
	if err != nil {
		w.fail("namespace check: %v", err)
	}
	for _, p := range problems {
		w.fail("namespace check: %s", p)
	}
}

// checkReads reads every path that was ever written, and every file there is.
func (w judge) checkReads(ctx context.Context) {
	files, _, err := w.tree(ctx)
	if err != nil {
		w.fail("the tree cannot be listed: %v", err)
	}
	paths := w.oracle.known()
	for path := range files {
		if len(w.oracle.paths[path]) == 0 {
			w.fail("%s: there is a file that nobody wrote", path)
		}
	}
	reader := &client{w: w.world, name: "reader", host: "reader", who: hemera.SystemIdentity(), rng: w.plan.random("reader")}
	for _, path := range paths {
		start := w.oracle.tick()
		found, err := reader.fetch(ctx, path)
		if errs.KindOf(err) == errs.NotFound && strings.Contains(err.Error(), "no such") {
			found, err = absent, nil // its directory was renamed
		}
		if err != nil {
			w.fail("%s (%s) cannot be read: %v", path, files[path].ID.Hex(), err)
			continue
		}
		if wrong := w.oracle.read(path, start, found); wrong != "" {
			w.fail("at the end: fxid %s gen %d: %s", files[path].ID.Hex(), files[path].Gen, wrong)
		}
	}
}

// checkPieces reads every piece of every file.
func (w judge) checkPieces(ctx context.Context) {
	files, _, _ := w.tree(ctx)
	for path, e := range files {
		checks, err := w.head.Load().CheckFile(ctx, path, true)
		if err != nil {
			w.fail("file check %s: %v", path, err)
		}
		want := int(e.Layout.Pieces)
		if e.Size == 0 {
			want = 0
		}
		if len(checks) != want {
			w.fail("%s has %d pieces, not %d", path, len(checks), want)
		}
		for _, c := range checks {
			if !c.OK && !(c.Repaired && w.tortured(c.Piece.Disk)) {
				w.fail("%s: piece %d on disk %d: %s", path, c.Piece.Index, c.Piece.Disk, c.Error)
			}
		}
	}
}

// checkDrives counts what drives hold against what the namespace has there.
func (w judge) checkDrives(ctx context.Context) {
	h := w.head.Load()
	rest(ctx, 30*time.Second) // what the last checks replaced is removed
	for _, d := range h.Cluster().View().Disks {
		drive := w.drive(d)
		pieces, _, err := h.tree.DiskUsage(ctx, d.ID)
		if err != nil {
			w.fail("disk %d: %v", d.ID, err)
		}
		if drive.gone.Load() {
			if pieces > 0 {
				w.fail("disk %d is gone, and the namespace has %d pieces there", d.ID, pieces)
			}
			continue
		}
		if held, bytes, err := h.tree.DiskHeld(ctx, d.ID); err != nil || held != 0 || bytes != 0 {
			w.fail("disk %d still holds %d pieces, %d bytes, of content that is gone: %v", d.ID, held, bytes, err)
		}
		if w.tortured(d.ID) {
			continue // a piece that lost its footer stays; nobody can tell whose it was
		}
		files := drive.files()
		if w.keeper.again {
			files = slices.DeleteFunc(files, func(name string) bool { return w.forgotten(drive, name) })
		}
		if len(files) != int(pieces) {
			w.fail("disk %d (node %d, %s) holds %d files, the namespace has %d pieces there; it should not have %v",
				d.ID, d.Node, d.Path, len(files), pieces, w.surplus(ctx, d.ID, files))
		}
	}
}

// forgotten is true if the file is a piece of content that a restored namespace may have forgotten as a whole.
func (w judge) forgotten(d *drive, name string) bool {
	h := w.head.Load()
	p, err := hemera.ParsePieceID(path.Base(name))
	if err != nil {
		return false
	}
	r, err := d.store.Load().Disk.Open(p)
	if err != nil {
		return false
	}
	sealed := r.Stat().Sealed
	_ = r.Close()
	e, _, err := h.tree.Resolve(context.Background(), p.File)
	has := err == nil && e.Gen == p.Gen && slices.ContainsFunc(e.Pieces, func(q hemera.Piece) bool {
		disk, ok := h.Cluster().View().Disk(q.Disk)
		return ok && q.Index == p.Index && w.drive(disk) == d
	})
	return !has && h.tree.NewerThanRestore(p, sealed)
}

// surplus are the files of a disk that no entry has.
func (w judge) surplus(ctx context.Context, id hemera.DiskID, files []string) []string {
	entries, _ := w.head.Load().tree.DiskFiles(ctx, id, 0, math.MaxInt) // fewer than it lists at once
	return slices.DeleteFunc(files, func(name string) bool {
		p, err := hemera.ParsePieceID(path.Base(name))
		return err == nil && slices.ContainsFunc(entries, func(e hemera.Entry) bool {
			return e.ID == p.File && e.Gen == p.Gen && slices.Contains(e.Pieces, hemera.Piece{Index: p.Index, Disk: id})
		})
	})
}
