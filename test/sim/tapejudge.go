package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hemera/platform/vfs"
	"hemera/test/sim/register"
	"hemera/test/sim/simnet"
	"hemera/test/sim/simtape"
	"hemera/words/adminapi"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// tapeJudge is the part of the judge that looks at tapes.
// It also acts: as the admin who does what the system asks for, and as a user of all files.
type tapeJudge struct {
	w     *world
	judge judge // the checks of the whole cluster
}

// settle waits until everything is archived and all requests are served, and checks that nothing was forgotten. Then it has all files
// recalled, so that they can be read.
func (j tapeJudge) settle(ctx context.Context) {
	if !j.w.plan.tape {
		return
	}
	// In this order: what waits in a queue is not lost yet.
	j.served(ctx)
	j.checkCopies(ctx)
	j.checkRequests(ctx)
	j.recallAll(ctx)
}

// served waits until all queues are empty. An admin helps as far as the system tells that one must: tapes that faults have put aside
// are used again, and what was tried too often is tried once more.
func (j tapeJudge) served(ctx context.Context) {
	// An admin may have put them down. Before the tape server has reported there is no drive to put up.
	h := j.w.head.Load()
	if err := h.Tape.ChangeTape(ctx, "sim", adminapi.TapeChange{Object: "drive", Verb: "set", Name: "all", Values: map[string]string{"desired": "up"}}); err != nil {
		j.w.trace.Add("sim", "drives are put up: %v", err)
	}
	left := ""
	if !j.judge.comes(ctx, 4*time.Hour, func() bool {
		j.useTapes(ctx)
		// What was tried too often waits for a person. The faults are over, so once more is enough.
		if _, err := h.Tape.OrderTape(ctx, "sim", adminapi.TapeOrder{Kind: adminapi.OrderRetry}); err != nil {
			j.w.fail("failed jobs are not tried again: %v", err)
		}
		left = j.waiting(ctx)
		return left == "" || j.w.failed() // to wait longer would say nothing more
	}) {
		picture, _ := h.Tape.TapePicture(ctx)
		j.w.fail("not archived or recalled in time: %s; drives %+v; attention %+v", left, picture.Drives, picture.Attention)
	}
}

// useTapes has tapes used again that were put aside for a fault. A tape that is not what the catalogue says was never the fault of a device.
// It is asked again and again, as a tape may be put aside by work that was under way.
func (j tapeJudge) useTapes(ctx context.Context) {
	h := j.w.head.Load()
	all, err := h.Tape.Tapes(ctx)
	if err != nil {
		j.w.fail("tapes cannot be listed: %v", err)
	}
	for _, t := range all {
		if t.State == tapeapi.Active {
			continue
		}
		// Two writers, a lost file, a wrong number: somebody has broken the one rule on which appends stand.
		if strings.Contains(t.Reason, "catalogue") {
			j.w.fail("tape %s is %s: %s", t.VID, t.State, t.Reason)
		}
		j.w.trace.Add("sim", "tape %s was %s: %s", t.VID, t.State, t.Reason)
		if err := h.Tape.ChangeTape(ctx, "sim", adminapi.TapeChange{Object: "tape", Verb: "set", Name: string(t.VID), Values: map[string]string{"state": "active"}}); err != nil {
			j.w.fail("tape %s cannot be used again: %v", t.VID, err)
		}
	}
}

// waiting says what is in queues, or "".
// It is empty for a moment only if clients still work; here nobody does.
func (j tapeJudge) waiting(ctx context.Context) string {
	// Failed jobs too: they are in a list of their own, with their errors.
	for _, failed := range []bool{false, true} {
		jobs, err := j.w.head.Load().Tape.TapeJobList(ctx, adminapi.TapeJobQuery{Failed: failed})
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
func (j tapeJudge) checkCopies(ctx context.Context) {
	files, _, err := j.w.tree(ctx)
	if err != nil {
		j.w.fail("the tree cannot be listed: %v", err)
	}
	checkReadBack(ctx, j.w, files)
	for path, e := range files {
		checkEvicted(j.w, path, &e)
		// A copy that is on its way is a job, and there are none.
		if numbers := simtape.Missing(&e); len(numbers) > 0 {
			j.w.fail("%s, fxid %s gen %d of class %s, has no copies %v on tape, and no job", path, e.ID.Hex(), e.Gen, e.StorageClass(), numbers)
		}
	}
}

// checkRequests holds that each request that was acknowledged, and not withdrawn, was served: its files are on disk, or are gone, unless
// somebody let them go since.
func (j tapeJudge) checkRequests(ctx context.Context) {
	for _, r := range j.w.ledger.Owed() {
		// As its maker: others may not look.
		s, err := j.w.head.Load().Staging.StageStatus(ctx, r.Who, r.ID)
		if err != nil {
			j.w.fail("request %s was acknowledged and is not known: %v", r.ID, err)
			continue
		}
		for _, f := range s.Files {
			// An error says that nothing is to be waited for: the file is gone, or in a bin.
			if _, owed := r.Files[f.Path]; owed && !f.OnDisk && !f.Cancelled && f.Error == "" {
				j.w.fail("request %s was acknowledged, and %s (%s) is not on disk: %+v", r.ID, f.Path, r.Files[f.Path].Hex(), f)
			}
		}
	}
}

// recallAll has every file brought to disk.
// It fails if one does not come in hours, which is more than all retries take.
func (j tapeJudge) recallAll(ctx context.Context) {
	files, _, err := j.w.tree(ctx)
	if err != nil {
		j.w.fail("the tree cannot be listed: %v", err)
	}
	// Those on disk would only be pinned there.
	maps.DeleteFunc(files, func(_ string, e hemera.Entry) bool { return !e.Evicted() })
	if len(files) == 0 {
		return
	}
	var r tapeapi.StageRequest
	for _, path := range slices.Sorted(maps.Keys(files)) {
		r.Files = append(r.Files, tapeapi.StageFile{Path: path})
	}
	h := j.w.head.Load()
	// One request for all of them, so that each tape is mounted once.
	id, err := h.Staging.Stage(ctx, hemera.SystemIdentity(), r)
	if err != nil {
		j.w.fail("the files on tape cannot be staged: %v", err)
		return
	}
	left := ""
	if !j.judge.comes(ctx, 4*time.Hour, func() bool {
		left = ""
		s, err := h.Staging.StageStatus(ctx, hemera.SystemIdentity(), id)
		if err != nil {
			left = err.Error()
		}
		for _, f := range s.Files {
			if !f.OnDisk {
				left = fmt.Sprintf("%+v", f)
			}
		}
		return left == "" || j.w.failed()
	}) {
		j.w.fail("not recalled in time: %s", left)
	}
}

// release lets all disk copies go that may, so that what follows is done with files on tape only.
func (j tapeJudge) release(ctx context.Context) {
	if !j.w.plan.tape {
		return
	}
	files, _, _ := j.w.tree(ctx)
	// In order, so that the same seed releases the same files.
	paths := slices.Sorted(maps.Keys(files))
	// Every second one: the others stay for the collector.
	for i := range paths {
		if i%2 == 0 {
			if _, err := j.w.head.Load().Staging.Release(ctx, hemera.SystemIdentity(), "", paths[i:i+1]); err != nil {
				j.w.fail("%s cannot be released: %v", paths[i], err)
			}
		}
	}
}

// collect has the disks nearly full until files on tape have made room, and recalls everything.
func (j tapeJudge) collect(ctx context.Context) {
	if !j.w.plan.tape {
		return
	}
	// What nodes found after the restart, and committed, was written minutes ago.
	young := adminapi.TapeChange{Object: "buffer", Verb: "set", Name: "default", Values: map[string]string{"evictMinAge": "1m"}}
	if err := j.w.head.Load().Tape.ChangeTape(ctx, "sim", young); err != nil {
		j.w.fail("young files cannot be made to make room: %v", err)
	}
	before := len(j.evictable(ctx))
	j.w.eachDrive(func(d *drive) {
		d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpSpace}, Space: &vfs.Space{Total: 1 << 30, Free: 1 << 30 / 20}})
	})
	// Five percent are free, and the collector wants fifteen: it never gets them, and takes all it may.
	if before > 0 && !j.judge.comes(ctx, 30*time.Minute, func() bool { return len(j.evictable(ctx)) == 0 }) {
		stay := j.evictable(ctx)
		j.w.fail("disks are full, and %d of %d files on tape do not make room: %v; %v", len(stay), before, stay, j.tapes(ctx))
	}
	j.w.eachDrive(func(d *drive) { d.faulty.Heal() })
	j.checkCopies(ctx)
	simnet.Rest(ctx, 2*time.Minute) // nodes tell of the room
	j.recallAll(ctx)
	// Nothing is archived or recalled after that: cartridges are compared next.
	if left := j.waiting(ctx); left != "" {
		j.w.fail("jobs are left when all is done: %s", left)
	}
}

// evictable names the files on disk that may make room: nobody uses them, and all their copies are on tape.
// A file that lacks a copy is none of them, however full disks are.
func (j tapeJudge) evictable(ctx context.Context) (which []string) {
	files, _, _ := j.w.tree(ctx)
	for path, e := range files {
		if len(e.Pieces) > 0 && len(e.Tape) > 0 && len(simtape.Missing(&e)) == 0 && e.Xattrs[hemera.AttrEvictCounter] == nil {
			why, _ := j.w.head.Load().Tape.ExplainTape(ctx, path)
			which = append(which, path+" "+strings.Join(why, "; "))
		}
	}
	return which
}

// tapes says of each tape that has a file what its lists and `hemera tape why` say.
func (j tapeJudge) tapes(ctx context.Context) (all []string) {
	tapes, err := j.w.head.Load().Tape.Tapes(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	for _, t := range tapes {
		why, _ := j.w.head.Load().Tape.ExplainTape(ctx, string(t.VID))
		all = append(all, fmt.Sprintf("%+v %s", t, strings.Join(why, "; ")))
	}
	return all
}

// checkCartridges cuts the power of all drives and reads the cartridges: each tape file that the catalogue has must be there, and the
// bytes of each live one must be those that were written.
func (j tapeJudge) checkCartridges(ctx context.Context) {
	if !j.w.plan.tape {
		return
	}
	// With the power: what a drive has only in its buffer must be in no row.
	j.w.tapes.kill(true, nil)
	h := j.w.head.Load()
	all, err := h.Tape.Tapes(ctx)
	if err != nil {
		j.w.fail("tapes cannot be listed: %v", err)
	}
	for _, t := range all {
		files, err := simtape.Read(j.w.tapes.library.dir, string(t.VID), t.LastFSeq)
		if err != nil {
			j.w.fail("tape %s with %d files: %v", t.VID, t.LastFSeq, err)
		}
		// The number is that of a write, and no two writes have the same. Dead rows count too: what they say can be brought back until the tape is reclaimed.
		rows, err := h.Tape.TapeFiles(ctx, t.VID, 0, true)
		if err != nil {
			j.w.fail("files of tape %s cannot be listed: %v", t.VID, err)
		}
		for _, row := range rows {
			// What a job left that failed on the way is no file's, and may have any bytes.
			if row.File == 0 {
				continue
			}
			j.w.taped++
			good := func(b []byte) bool { return slices.Contains(j.w.oracle.Archived(row.ArchiveID), register.ContentOf(b)) }
			if wrong := files[row.FSeq].Differs(row, good); wrong != "" {
				j.w.fail("tape %s, file %d.%d of fxid %s, archive id %d: %s", t.VID, row.FSeq, row.Member, row.File.Hex(), row.ArchiveID, wrong)
			}
		}
	}
}
