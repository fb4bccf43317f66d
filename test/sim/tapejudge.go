package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hemera"
	"hemera/platform/vfs"
	"hemera/test/sim/register"
	"hemera/test/sim/simnet"
	"hemera/test/sim/simtape"
)

// tapeJudge is the part of the judge that looks at tapes.
type tapeJudge struct{ judge }

// reader reads as the system, which may read everything, through the network as a client. It waits for files on tape.
func (w judge) reader() *client {
	return &client{w: w.world, name: "reader", host: "reader", who: hemera.SystemIdentity(), rng: w.plan.random("reader"), patience: 30 * time.Minute}
}

// settle waits until everything is archived and all requests are served, and checks that nothing was forgotten. Then it has all files
// recalled, so that they can be read.
func (w tapeJudge) settle(ctx context.Context) {
	if !w.plan.tape {
		return
	}
	w.served(ctx)
	w.checkCopies(ctx)
	w.checkRequests(ctx)
	w.recallAll(ctx)
}

// served waits until all queues are empty. An admin helps as far as the system tells that one must: tapes that faults have put aside
// are used again, and what was tried too often is tried once more.
func (w tapeJudge) served(ctx context.Context) {
	h := w.head.Load()
	if err := h.ChangeTape(ctx, "sim", hemera.TapeChange{Object: "drive", Verb: "set", Name: "all", Values: map[string]string{"desired": "up"}}); err != nil {
		w.trace.Add("sim", "drives are put up: %v", err)
	}
	left := ""
	if !w.comes(ctx, 4*time.Hour, func() bool {
		w.useTapes(ctx)
		if _, err := h.OrderTape(ctx, "sim", hemera.TapeOrder{Kind: hemera.OrderRetry}); err != nil {
			w.fail("failed jobs are not tried again: %v", err)
		}
		left = w.waiting(ctx)
		return left == "" || w.failed() // to wait longer would say nothing more
	}) {
		picture, _ := h.TapePicture(ctx)
		w.fail("not archived or recalled in time: %s; drives %+v; attention %+v", left, picture.Drives, picture.Attention)
	}
}

// useTapes has tapes used again that were put aside for a fault. A tape that is not what the catalogue says was never the fault of a device.
func (w tapeJudge) useTapes(ctx context.Context) {
	h := w.head.Load()
	all, err := h.Tapes(ctx)
	if err != nil {
		w.fail("tapes cannot be listed: %v", err)
	}
	for _, t := range all {
		if t.State == hemera.TapeActive {
			continue
		}
		if strings.Contains(t.Reason, "catalogue") {
			w.fail("tape %s is %s: %s", t.VID, t.State, t.Reason)
		}
		w.trace.Add("sim", "tape %s was %s: %s", t.VID, t.State, t.Reason)
		if err := h.ChangeTape(ctx, "sim", hemera.TapeChange{Object: "tape", Verb: "set", Name: t.VID, Values: map[string]string{"state": "active"}}); err != nil {
			w.fail("tape %s cannot be used again: %v", t.VID, err)
		}
	}
}

// waiting says what is in queues, or "".
func (w tapeJudge) waiting(ctx context.Context) string {
	for _, failed := range []bool{false, true} {
		jobs, err := w.head.Load().TapeJobList(ctx, hemera.TapeJobQuery{Failed: failed})
		if err != nil {
			return err.Error()
		}
		if len(jobs) > 0 {
			return fmt.Sprintf("%d jobs, such as %+v", len(jobs), jobs[0])
		}
	}
	return ""
}

// checkCopies holds that every file has the copies that its class asks for. Nothing waits any more, so what lacks one was forgotten.
func (w tapeJudge) checkCopies(ctx context.Context) {
	files, _, err := w.world.tree(ctx)
	if err != nil {
		w.fail("the tree cannot be listed: %v", err)
	}
	for path, e := range files {
		w.checkEvicted(path, &e)
		if numbers := missing(&e); len(numbers) > 0 {
			w.fail("%s, fxid %s gen %d of class %s, has no copies %v on tape, and no job", path, e.ID.Hex(), e.Gen, e.StorageClass(), numbers)
		}
	}
}

// checkRequests holds that each request that was acknowledged, and not withdrawn, was served: its files are on disk, or are gone, unless
// somebody let them go since.
func (w tapeJudge) checkRequests(ctx context.Context) {
	for _, r := range w.ledger.Owed() {
		s, err := w.head.Load().StageStatus(ctx, r.Who, r.ID)
		if err != nil {
			w.fail("request %s was acknowledged and is not known: %v", r.ID, err)
			continue
		}
		for _, f := range s.Files {
			if _, owed := r.Files[f.Path]; owed && !f.OnDisk && !f.Cancelled && f.Error == "" {
				w.fail("request %s was acknowledged, and %s (%s) is not on disk: %+v", r.ID, f.Path, r.Files[f.Path].Hex(), f)
			}
		}
	}
}

// recallAll has every file brought to disk.
func (w tapeJudge) recallAll(ctx context.Context) {
	files, _, err := w.world.tree(ctx)
	if err != nil {
		w.fail("the tree cannot be listed: %v", err)
	}
	maps.DeleteFunc(files, func(_ string, e hemera.Entry) bool { return !e.Evicted() })
	if len(files) == 0 {
		return
	}
	var r hemera.StageRequest
	for _, path := range slices.Sorted(maps.Keys(files)) {
		r.Files = append(r.Files, hemera.StageFile{Path: path})
	}
	h := w.head.Load()
	id, err := h.Stage(ctx, hemera.SystemIdentity(), r)
	if err != nil {
		w.fail("the files on tape cannot be staged: %v", err)
		return
	}
	left := ""
	if !w.comes(ctx, 4*time.Hour, func() bool {
		left = ""
		s, err := h.StageStatus(ctx, hemera.SystemIdentity(), id)
		if err != nil {
			left = err.Error()
		}
		for _, f := range s.Files {
			if !f.OnDisk {
				left = fmt.Sprintf("%+v", f)
			}
		}
		return left == "" || w.failed()
	}) {
		w.fail("not recalled in time: %s", left)
	}
}

// release lets all disk copies go that may, so that what follows is done with files on tape only.
func (w tapeJudge) release(ctx context.Context) {
	if !w.plan.tape {
		return
	}
	files, _, _ := w.world.tree(ctx)
	paths := slices.Sorted(maps.Keys(files))
	// Every second one: the others stay for the collector.
	for i := range paths {
		if i%2 == 0 {
			if _, err := w.head.Load().Release(ctx, hemera.SystemIdentity(), "", paths[i:i+1]); err != nil {
				w.fail("%s cannot be released: %v", paths[i], err)
			}
		}
	}
}

// collect has the disks nearly full until files on tape have made room, and recalls everything.
func (w tapeJudge) collect(ctx context.Context) {
	if !w.plan.tape {
		return
	}
	before := w.evictable(ctx)
	w.eachDrive(func(d *drive) {
		d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpSpace}, Space: &vfs.Space{Total: 1 << 30, Free: 1 << 30 / 20}})
	})
	if before > 0 && !w.comes(ctx, 30*time.Minute, func() bool { return w.evictable(ctx) == 0 }) {
		w.fail("disks are full, and %d of %d files on tape do not make room", w.evictable(ctx), before)
	}
	w.eachDrive(func(d *drive) { d.faulty.Heal() })
	w.checkCopies(ctx)
	simnet.Rest(ctx, 2*time.Minute) // nodes tell of the room
	w.recallAll(ctx)
	if left := w.waiting(ctx); left != "" {
		w.fail("jobs are left when all is done: %s", left)
	}
}

// evictable counts the files on disk that may make room: nobody uses them, and all their copies are on tape.
func (w tapeJudge) evictable(ctx context.Context) (count int) {
	files, _, _ := w.world.tree(ctx)
	for _, e := range files {
		if len(e.Pieces) > 0 && len(e.Tape) > 0 && len(missing(&e)) == 0 && e.Xattrs[hemera.AttrEvictCounter] == nil {
			count++
		}
	}
	return count
}

// checkCartridges cuts the power of all drives and reads the cartridges: each tape file that the catalogue has must be there, and the
// bytes of each live one must be those that were written.
func (w tapeJudge) checkCartridges(ctx context.Context) {
	if !w.plan.tape {
		return
	}
	w.tapes.kill(true, nil)
	h := w.head.Load()
	all, err := h.Tapes(ctx)
	if err != nil {
		w.fail("tapes cannot be listed: %v", err)
	}
	for _, t := range all {
		files, err := simtape.Read(w.tapes.library.dir, t.VID, t.LastFSeq)
		if err != nil {
			w.fail("tape %s with %d files: %v", t.VID, t.LastFSeq, err)
		}
		rows, err := h.TapeFiles(ctx, t.VID, 0, true)
		if err != nil {
			w.fail("files of tape %s cannot be listed: %v", t.VID, err)
		}
		for _, row := range rows {
			w.taped++
			if wrong := w.differs(row, files[row.FSeq]); wrong != "" {
				w.fail("tape %s, file %d.%d of fxid %s, archive id %d: %s", t.VID, row.FSeq, row.Member, row.File.Hex(), row.ArchiveID, wrong)
			}
		}
	}
}

// differs says what is wrong with a tape file, by its row in the catalogue.
func (w tapeJudge) differs(row hemera.TapeFile, f simtape.File) string {
	id, data := f.ArchiveID, f.Data
	if row.Member > 0 {
		i := slices.IndexFunc(f.Members, func(m simtape.Member) bool { return m.Number == row.Member })
		if i < 0 {
			return "there is no such member"
		}
		id, data = f.Members[i].ArchiveID, f.Members[i].Data
	}
	may := w.oracle.Archived(row.ArchiveID)
	switch {
	case f.Block != row.Block:
		return fmt.Sprintf("it is at block %d, not %d", f.Block, row.Block)
	case id != row.ArchiveID:
		return fmt.Sprintf("it has archive id %d", id)
	case !slices.Contains(may, register.ContentOf(data)):
		return fmt.Sprintf("it has %s, and may have %v only", register.ContentOf(data), may)
	}
	return ""
}
