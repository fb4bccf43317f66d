package catalogue

import (
	"context"
	"slices"
	"strconv"
	"time"

	"hemera/namespace/schema"
	"hemera/tape/tapeconfig"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// writtenBatch is the number of tape files that one change records.
const writtenBatch = 200

// Report is tape files that are durable on their tape, in the order of fSeq.
type Report struct {
	VID   hemera.VID
	Drive string
	Key   string // name of the encryption key that they were written with, "" for none: the first ones give it to the tape
	Files []tapeapi.Written
	// Given reports whether the session that wrote them was given a job; nil: nobody knows any more, and
	// each job that waits may have been given.
	Given func(k tapeapi.JobKey, archiveID uint64) bool
	// ReadBack: what is new waits for being read back.
	ReadBack bool
}

// Recorded is the result for each of them.
type Recorded struct {
	Complete []hemera.FileID   // have all their copies now
	Unfit    []tapeapi.Failure // what was written is not the file's content: their jobs still wait
}

// Written records a report. It may be called again with the same: what is recorded is skipped, and Complete names the
// files again. Conflict when fSeq does not follow that of the tape, or the key is another one: somebody else wrote on
// it, or the catalogue is older than the tape.
func (c *Catalogue) Written(ctx context.Context, r Report) (out Recorded, err error) {
	for chunk := range slices.Chunk(r.Files, writtenBatch) {
		var w writing
		err := c.update(ctx, func(t Txn) error {
			now, err := t.Tape(r.VID)
			if err != nil {
				return err
			}
			if now == nil {
				return refuse(errs.NotFound, "Written", string(r.VID), "the tape is not in the catalogue")
			}
			// Many files of one tape: its record is changed in memory, and stored once. A change may run
			// several times, and each time begins with nothing recorded.
			w = writing{txn: t, tape: *now, rules: c.Settings(), given: r.Given}
			if w.tape.LastFSeq == 0 {
				w.tape.Key = r.Key
			}
			if w.tape.Key != r.Key {
				return refuse(errs.Conflict, "Written", string(r.VID), "it was written with key "+strconv.Quote(r.Key)+", and is one of key "+strconv.Quote(w.tape.Key))
			}
			first := w.tape.LastFSeq + 1
			for _, f := range chunk {
				if err := w.add(f); err != nil {
					return err
				}
			}
			// A scan may have moved the end back to before what waited.
			if waits := w.tape.UnreadFSeq; r.ReadBack && w.tape.LastFSeq >= first && (waits == 0 || waits > first) {
				w.tape.UnreadFSeq = first
			}
			w.tape.Written, w.tape.WrittenBy = t.Now(), r.Drive
			return t.putTape(&w.tape)
		})
		if err != nil {
			return out, err
		}
		out.Complete, out.Unfit = append(out.Complete, w.out.Complete...), append(out.Unfit, w.out.Unfit...)
	}
	return out, nil
}

// writing adds tape files to a tape within one transaction.
type writing struct {
	txn   Txn
	tape  tapeapi.Tape // changed here, stored at the end
	rules *tapeconfig.Settings
	given func(tapeapi.JobKey, uint64) bool
	out   Recorded
}

// add records one tape file, or a member of a container.
func (w *writing) add(f tapeapi.Written) error {
	row, err := w.txn.file(hemera.TapeCopy{VID: w.tape.VID, FSeq: f.FSeq, Member: f.Member})
	if err != nil {
		return err
	}
	// Members of a container share its fSeq.
	follows := f.FSeq == w.tape.LastFSeq+1 || f.FSeq == w.tape.LastFSeq && f.Member > 0
	switch {
	case row != nil && row.ArchiveID == f.ArchiveID:
		return w.again(f)
	case row == nil && f.Job.Kind == 0 && f.FSeq <= w.tape.LastFSeq:
		return nil // the same, of what has no row
	case row != nil || !follows:
		return refuse(errs.Conflict, "Written", string(w.tape.VID), "the tape file does not follow the last one that is known of the tape")
	}
	w.tape.LastFSeq, w.tape.Occupancy = f.FSeq, w.tape.Occupancy+f.Bytes
	w.tape.ReclaimedFSeq, w.tape.ReclaimedID = 0, 0
	if f.Member == 0 {
		w.tape.LastID = f.ArchiveID
	}
	// Nothing of the tree is behind an index, or behind a file that failed in the middle: only its
	// place on the tape is taken.
	if f.Job.Kind == 0 {
		return nil
	}
	return w.record(f)
}

// again handles a tape file that is recorded already. The manager may have ended between that and what follows from it.
func (w *writing) again(f tapeapi.Written) error {
	e, err := w.txn.fileOf(f.Job.File, f.ArchiveID)
	if err == nil && e != nil && len(e.Tape) >= wanted(e, w.rules) {
		w.out.Complete = append(w.out.Complete, e.ID)
	}
	return err
}

// record gives a file its copy and ends the job. What cannot be the file's content, or was not asked for,
// is a dead file of the tape, and its job goes on waiting.
func (w *writing) record(f tapeapi.Written) error {
	to := hemera.TapeCopy{Number: f.Job.Copy, VID: w.tape.VID, FSeq: f.FSeq, Block: f.Block, Member: f.Member}
	row := &tapeapi.File{TapeCopy: to, ArchiveID: f.ArchiveID, File: f.Job.File, Size: f.Size, Written: w.txn.Now()}
	e, err := w.txn.fileOf(f.Job.File, f.ArchiveID)
	if err != nil {
		return err
	}
	j, err := w.txn.Job(f.Job)
	if err != nil {
		return err
	}
	if j != nil && j.ArchiveID != f.ArchiveID {
		j = nil // it is for a later content
	}
	// What is on the tape is on the tape: the row says so, and the file gets no copy.
	why := unfit(e, f)
	switch {
	case why != "" && j != nil:
		w.out.Unfit = append(w.out.Unfit, tapeapi.Failure{Job: f.Job, Error: "what was written to tape " + string(w.tape.VID) + " is not the file: " + why})
	case why == "" && !w.wasGiven(f, j):
		why = "no session was given the file to write"
	}
	if why != "" {
		row.Dead = &tapeapi.DeadFile{Removed: w.txn.Now(), Why: why}
		return w.txn.putFile(row)
	}
	if j != nil {
		if err := w.txn.dequeue(j); err != nil {
			return err
		}
	}
	if err := w.txn.putFile(row); err != nil {
		return err
	}
	w.tape.Files, w.tape.Bytes = w.tape.Files+1, w.tape.Bytes+f.Size
	return w.give(e, to)
}

// wasGiven reports whether a session had the job of a tape file; j is the job, nil if it is not there.
func (w *writing) wasGiven(f tapeapi.Written, j *tapeapi.Job) bool {
	switch {
	case f.Job.Kind != tapeapi.Archive:
		return false
	// A session of before the manager's start: it may have been given what waits in the queue of its tape's pool.
	case w.given == nil:
		return j != nil && tapeapi.PoolName(j.Queue) == w.tape.Pool
	}
	return w.given(f.Job, f.ArchiveID)
}

// unfit says why a tape file is no copy of the entry's content, "" if it is one.
func unfit(e *hemera.Entry, f tapeapi.Written) string {
	switch {
	case e == nil:
		return "the content was removed or replaced while it was written"
	case e.Size != f.Size:
		return "it has another size"
	}
	if is, ok := hemera.FindChecksum(e.Checksums, hemera.Adler32); ok && is != f.Sum {
		return "it has another checksum"
	}
	return ""
}

// give adds the copy to the entry, in place of one with the same number, which is dead then.
func (w *writing) give(e *hemera.Entry, to hemera.TapeCopy) error {
	out := attributed(e, map[string]string{hemera.AttrArchiveError: ""})
	out.Tape = slices.Clone(e.Tape) // readers share the old slice
	if at := slices.IndexFunc(out.Tape, func(c hemera.TapeCopy) bool { return c.Number == to.Number }); at >= 0 {
		old := out.Tape[at]
		if err := w.txn.bury(e, old, "", "another tape has the copy now"); err != nil {
			return err
		}
		// The old copy may be on this very tape: then its counts were changed below ours.
		if old.VID == w.tape.VID {
			w.tape.Files, w.tape.Bytes = w.tape.Files-1, w.tape.Bytes-e.Size
		}
		out.Tape[at] = to
	} else {
		out.Tape = append(out.Tape, to)
	}
	// By number, so that equal entries have equal records.
	slices.SortFunc(out.Tape, func(a, b hemera.TapeCopy) int { return int(a.Number) - int(b.Number) })
	w.txn.PutEntry(out)
	if len(out.Tape) >= wanted(out, w.rules) {
		w.out.Complete = append(w.out.Complete, out.ID)
	}
	return nil
}

// wanted returns the number of copies that the storage class of a file asks for; more than there can be when it is not
// known. An empty file needs none.
func wanted(e *hemera.Entry, rules *tapeconfig.Settings) int {
	if e.Size == 0 {
		return 0
	}
	// Nobody knows how many: then no file is complete, and nothing is evicted.
	if rules == nil {
		return hemera.TapeCopiesMax + 1
	}
	pools, err := rules.PoolsOf(e.StorageClass(), 0)
	if err != nil || len(pools) == 0 {
		return hemera.TapeCopiesMax + 1
	}
	return len(pools)
}

// Complete reports whether a file has all the tape copies that its class asks for.
func (c *Catalogue) Complete(e *hemera.Entry) bool {
	return e.OnTape() && len(e.Tape) >= wanted(e, c.Settings())
}

// ChangeJob changes a job, or removes it when change returns nil. What change says in Error is
// shown with the file too. No job, no change.
func (c *Catalogue) ChangeJob(ctx context.Context, k tapeapi.JobKey, change func(j tapeapi.Job, now time.Time) *tapeapi.Job) error {
	return c.update(ctx, func(t Txn) error {
		was, err := t.Job(k)
		if err != nil || was == nil {
			return err
		}
		// Taken out and put in again: its place in the order, and whether it counts as failed, may be
		// others afterwards.
		if err := t.dequeue(was); err != nil {
			return err
		}
		j := change(*was, t.Now())
		if j == nil {
			return nil
		}
		if err := t.putJob(j); err != nil || j.Error == was.Error {
			return err
		}
		return t.noteError(j)
	})
}

// noteError writes the error of a job to the attributes of its file.
func (t Txn) noteError(j *tapeapi.Job) error {
	name := map[tapeapi.JobKind]string{tapeapi.Archive: hemera.AttrArchiveError, tapeapi.Recall: hemera.AttrRecallError}[j.Kind]
	e, err := t.fileOf(j.File, j.ArchiveID)
	if err != nil || e == nil || name == "" {
		return err
	}
	t.PutEntry(attributed(e, map[string]string{name: short(j.Error)}))
	return nil
}

// Archive queues a file for the copies that its class asks for and that it does not have. The other class
// is for a file that has none, or one that cannot be used. It returns how many it queued, one for a content that no pool takes. Exists when it has all.
func (c *Catalogue) Archive(ctx context.Context, file hemera.FileID, class string) (queued int, err error) {
	err = c.update(ctx, func(t Txn) error {
		queued = 0
		e, err := t.ByID(file)
		if err != nil {
			return err
		}
		rules := c.Settings()
		switch {
		case e == nil || e.IsDir():
			return refuse(errs.Invalid, "Archive", "fid:"+file.String(), "only files are archived").WithRemedy("name its files, or add -r")
		case rules == nil:
			return refuse(errs.Unsupported, "Archive", "fid:"+file.String(), "the cluster has no tapes").
				WithRemedy("an admin adds a tape server: docs/operations.md")
		// Nothing to do is an error here: who asked wants to know.
		case e.ArchiveID() != 0 && c.Complete(e):
			return refuse(errs.Exists, "Archive", "fid:"+file.String(), "it is archived already: "+archived(e)).
				WithRemedy("nothing is to be done: `hemera tape why PATH` shows its copies; `hemera tape evict PATH` gives back the room on disk")
		}
		out := *e
		// It was written before its directory asked for tapes.
		if e.ArchiveID() == 0 {
			if queued, err = t.enlist(&out, class, rules); err != nil {
				return err
			}
			t.PutEntry(&out)
			return nil
		}
		// It is held: what was asked for now is what counts.
		if _, err := rules.PoolsOf(e.StorageClass(), e.Size); err != nil && len(e.Tape) == 0 {
			e = attributed(e, map[string]string{hemera.AttrStorageClass: class, hemera.AttrArchiveError: ""})
			t.PutEntry(e)
		}
		jobs, err := t.missing(e, rules)
		if err != nil {
			return err
		}
		queued = len(jobs)
		return t.replaceJobs(jobs)
	})
	return queued, err
}

// archived says of a complete file where it is.
func archived(e *hemera.Entry) string {
	if e.Size == 0 {
		return "an empty file needs no tape"
	}
	return "all its tape copies are there"
}

// replaceJobs adds jobs in place of those for earlier contents.
func (t Txn) replaceJobs(jobs []tapeapi.Job) error {
	for _, j := range jobs {
		if err := t.replaceJob(j); err != nil {
			return err
		}
	}
	return nil
}

// missing returns the jobs for the copies that a file lacks by its class.
func (t Txn) missing(e *hemera.Entry, rules *tapeconfig.Settings) (jobs []tapeapi.Job, err error) {
	if e.Size == 0 {
		return nil, nil
	}
	// A content that has a copy was taken: a limit that came later is not for it.
	size := e.Size
	if len(e.Tape) > 0 {
		size = 0
	}
	pools, err := rules.PoolsOf(e.StorageClass(), size)
	if err != nil {
		return nil, err
	}
	// What is on tape already stays there, also when the class has other pools now.
	for i, pool := range pools {
		number := uint8(i + 1)
		if slices.ContainsFunc(e.Tape, func(c hemera.TapeCopy) bool { return c.Number == number }) {
			continue
		}
		jobs = append(jobs, archiveJob(t, e, number, tapeapi.PoolName(pool), rules))
	}
	return jobs, nil
}

// queueMissing queues the copies that a file lacks. A class that cannot be used asks for none.
func (t Txn) queueMissing(e *hemera.Entry, rules *tapeconfig.Settings) error {
	if rules == nil {
		return nil
	}
	jobs, err := t.missing(e, rules)
	if err != nil {
		return nil //nolint:nilerr // the class is gone, or has no routes
	}
	return t.replaceJobs(jobs)
}

// tapeFileKeys bounds the rows of a tape behind an fSeq.
func tapeFileKeys(vid hemera.VID, after uint64) (lo, hi []byte) {
	prefix := schema.TapeKey(schema.TableTapeFile, vid)
	return schema.TapeFileKey(vid, after+1, 0), schema.PrefixEnd(prefix)
}
