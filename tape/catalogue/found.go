package catalogue

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/tape/tapeconfig"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A scan tells what is on a tape, the last file first. What the catalogue knows already stays as it
// is. Everything else gets a row in the list of its tape: a live one where a file gets the copy, a
// dead one where nobody may say that the content is a file's now. A dead row loses nothing: the
// content can be undeleted.
//
// # Whose numbers
//
// Ids of files and archive ids on a tape are of the system that wrote it. On a tape of this system
// the ids are those of the tree, and a content whose number was handed out and that no file has was
// removed since. On a foreign tape (tapeapi.Tape.Foreign) they say only which contents belong
// together: files get new ids, and a record has the new id for each old one. So a second
// tape adds its copies to the same files, and a file that was removed since is not made again.
// A namespace that was restored, or prepared for a rebuild, is the system whose ids it lacks.

// FoundFiles is the list of files that a scan found on a tape, or a part of it.
type FoundFiles struct {
	VID     hemera.VID
	Foreign bool // see tapeapi.Tape
	Who     string
	DryRun  bool // say what would be done
	Files   []FoundFile
}

// FoundFile is one of them, with the form of its disk copies.
type FoundFile struct {
	tapeapi.Scanned
	Layout hemera.Layout
	Space  hemera.SpaceName
}

// foundBatch is the number of files in one change.
const foundBatch = 100

// Unknown returns those of the files that the catalogue does not have, in their order. It reads a
// record for each.
func (c *Catalogue) Unknown(ctx context.Context, vid hemera.VID, files []tapeapi.Scanned) (out []tapeapi.Scanned, err error) {
	// One read for all of them, outside of any change: most scans meet a tape that is known, and
	// those must not keep commits waiting.
	keys := make([][]byte, len(files))
	for i, f := range files {
		keys[i] = schema.TapeFileKey(vid, f.Written.FSeq, f.Written.Member)
	}
	raws, err := c.records.Engine().GetMany(ctx, keys)
	if err != nil {
		return nil, err
	}
	// In the order of the question.
	for i, raw := range raws {
		if raw != nil {
			row, err := schema.DecodeTapeFile(keys[i], raw)
			if err != nil {
				return nil, schema.Damaged(keys[i], err)
			}
			// Another archive id at the place is for TakeFound to tell.
			if row.ArchiveID == files[i].Written.ArchiveID {
				continue
			}
		}
		out = append(out, files[i])
	}
	return out, c.records.Settle(ctx)
}

// NoteEnd takes what a scan says of a tape as a whole: its last file, and how much is written. It
// adds a tape that the catalogue does not have, as make says. The catalogue's own last file stays
// when it is as far.
func (c *Catalogue) NoteEnd(ctx context.Context, vid hemera.VID, drive string, end tapeapi.End, made func() tapeapi.Tape) (out tapeapi.Tape, err error) {
	err = c.update(ctx, func(t Txn) error {
		old, err := t.Tape(vid)
		if err != nil {
			return err
		}
		if old == nil {
			out = made()
			out.VID = vid
		} else {
			out = *old
		}
		// A tape that this system neither labelled nor wrote.
		if out.Labelled.IsZero() && out.LastFSeq == 0 {
			out.Foreign, out.Labelled, out.LabelBy = end.FSeq > 0, t.Now(), drive
		}
		// Both move together: an append compares the archive id with what stands there.
		if end.FSeq > out.LastFSeq {
			out.LastFSeq, out.LastID = end.FSeq, end.ArchiveID
			out.ReclaimedFSeq, out.ReclaimedID = 0, 0
		}
		out.Occupancy = max(out.Occupancy, end.Bytes)
		out.Read, out.ReadBy = t.Now(), drive
		return t.putTape(&out)
	})
	return out, err
}

// ScanEnd is the knowledge of a tape when a scan of it has ended.
type ScanEnd struct {
	VID     hemera.VID
	End     tapeapi.End
	Tail    bool  // only what stands behind a last file was scanned, and End has its bytes
	Differs int64 // files at whose place the catalogue has something else
	Believe bool  // the catalogue forgets the files behind the end of the tape
	Looked  bool  // nothing was taken: the tape is as it was reclaimed
}

// NoteScanned ends what keeps a tape from being written until it is scanned, unless the catalogue still has other files on it than
// the tape. Those stay, and the tape says what to do. It may be called again with the same.
func (c *Catalogue) NoteScanned(ctx context.Context, s ScanEnd) error {
	beyond := false
	if !s.Looked {
		var err error
		if beyond, err = c.beyond(ctx, s); err != nil {
			return err
		}
	}
	return c.update(ctx, func(t Txn) error {
		old, err := t.Tape(s.VID)
		if err != nil || old == nil || c.unscanned(old) == "" {
			return err
		}
		tape := *old
		switch {
		case s.Differs > 0:
			tape.Doubt = "the tape has other content at " + strconv.FormatInt(s.Differs, 10) + " places where the catalogue has the only copies of files: scan the other tapes first, and then this one again"
		case beyond:
			tape.Doubt = "the tape ends at file " + strconv.FormatUint(s.End.FSeq, 10) + ", and the catalogue has files behind it: the tape was begun again, or its end is damaged; " +
				"a scan with --force forgets those that are on disk or on other tapes"
		case s.Tail:
			if old.Doubt != "" {
				tape.Occupancy += s.End.Bytes
			}
			tape.Doubt = ""
		case s.Looked:
			tape.Life, tape.Doubt = c.life, ""
		default:
			tape.LastFSeq, tape.LastID, tape.Life, tape.Doubt = s.End.FSeq, s.End.ArchiveID, c.life, ""
		}
		return t.putTape(&tape)
	})
}

// beyond reports whether the catalogue has files behind the end of a tape. With Believe it forgets them first, as far as other copies give them.
func (c *Catalogue) beyond(ctx context.Context, s ScanEnd) (bool, error) {
	for after := s.End.FSeq; ; {
		rows, err := c.Files(ctx, s.VID, after, reclaimBatch, true)
		if err != nil || len(rows) == 0 {
			return after > s.End.FSeq, err
		}
		if !s.Believe {
			return true, nil
		}
		kept := false
		err = c.update(ctx, func(t Txn) error {
			kept = false
			for _, row := range rows {
				gone, err := returning{t}.vanish(&row, c.Settings())
				if err != nil {
					return err
				}
				kept = kept || !gone
			}
			return nil
		})
		if err != nil || kept {
			return kept, err
		}
	}
}

// vanish removes a row that the tape does not have any more, and reports whether it did: not that of the only copy of a file. What the file
// lacks then is queued.
func (t returning) vanish(row *tapeapi.File, rules *tapeconfig.Settings) (bool, error) {
	now, err := t.txn.file(row.TapeCopy)
	if err != nil || now == nil {
		return err == nil, err
	}
	if now.Dead != nil {
		t.txn.Remove(schema.TapeFileKey(now.VID, now.FSeq, now.Member))
		if now.Dead.Inferred {
			return true, t.txn.countInferred(now.VID, -1)
		}
		return true, nil
	}
	e, err := t.txn.fileOf(now.File, now.ArchiveID)
	if err != nil {
		return false, err
	}
	if e != nil {
		if len(e.Pieces) == 0 && len(e.Tape) < 2 {
			return false, nil
		}
		out := attributed(e, nil)
		out.Tape = slices.DeleteFunc(slices.Clone(e.Tape), func(c hemera.TapeCopy) bool { return c == now.TapeCopy })
		t.txn.PutEntry(out)
		if err := t.txn.queueMissing(out, rules); err != nil {
			return false, err
		}
	}
	t.txn.Remove(schema.TapeFileKey(now.VID, now.FSeq, now.Member))
	return true, t.txn.count(now.VID, -1, -now.Size)
}

// TakeFound takes what a scan found, and says of each file in their order what became of it. It may
// be called again with the same. Each batch is durable by itself.
func (c *Catalogue) TakeFound(ctx context.Context, f FoundFiles) (out []tapeapi.Taken, err error) {
	for chunk := range slices.Chunk(f.Files, foundBatch) {
		taken, err := c.takeChunk(ctx, f, chunk)
		out = append(out, taken...)
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// takeTurns bounds how often a batch is tried while others remove directories above its files.
const takeTurns = 4

// errNoPlace: a directory that the files need is missing; the next turn makes it.
var errNoPlace = errors.New("a directory is missing")

// takeChunk takes the files of one batch.
func (c *Catalogue) takeChunk(ctx context.Context, f FoundFiles, chunk []FoundFile) (out []tapeapi.Taken, err error) {
	// Numbers and directories are made outside of the change, which cannot wait for others.
	numbers, err := c.numbersFor(ctx, f, chunk)
	if err != nil {
		return nil, err
	}
	for range takeTurns {
		if err := c.makePlaces(ctx, f, chunk); err != nil {
			return nil, err
		}
		change := func(t Txn) error {
			out = out[:0] // a change may run several times
			for i := range chunk {
				taken, err := finding{made: returning{t}, c: c, all: &f, f: &chunk[i], fresh: hemera.FileID(numbers[i])}.take()
				if err != nil {
					return err
				}
				out = append(out, taken)
			}
			return nil
		}
		if f.DryRun {
			err = c.draft(ctx, change)
		} else {
			err = c.update(ctx, change)
		}
		if !errors.Is(err, errNoPlace) {
			return out, err
		}
	}
	return nil, refuse(errs.Conflict, "TakeFound", string(f.VID), "the directories above its files change all the time")
}

// draft runs a change and forgets it.
func (c *Catalogue) draft(ctx context.Context, fn func(t Txn) error) error {
	_, err := c.records.Draft(ctx, func(t *record.Txn) error { return fn(txnOf(t)) })
	return err
}

// numbersMax is above the numbers of all systems: those of a rebuilt one begin at the seconds since
// 1970 times 2^20.
const numbersMax = 1 << 53

// numbersFor takes an id for each file, and keeps the numbers of a foreign system out of use here:
// the archive ids of two contents are not to be the same.
func (c *Catalogue) numbersFor(ctx context.Context, f FoundFiles, chunk []FoundFile) ([]uint64, error) {
	numbers := make([]uint64, len(chunk))
	if f.DryRun { // different ones; nothing is stored
		for i := range numbers {
			numbers[i] = c.numbers.Next() + uint64(i)
		}
		return numbers, nil
	}
	// Ids and archive ids of Hemera are one sequence.
	past := uint64(0)
	for _, one := range chunk {
		// Of a tape that tells no ids, numbers are of a program whose numbers say nothing here.
		if one.File != 0 {
			past = max(past, uint64(one.File), one.Written.ArchiveID)
		}
	}
	// A number that no clock could have made is no reason to use up what is left.
	if past > 0 && past < numbersMax {
		if err := c.numbers.Raise(ctx, past); err != nil {
			return nil, err
		}
	}
	// One for each file, used or not: to find out would take a second look at all of them, and there
	// are 2^63.
	for i := range numbers {
		var err error
		if numbers[i], err = c.numbers.Take(ctx); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

// makePlaces makes the directories that the files of a batch may need.
func (c *Catalogue) makePlaces(ctx context.Context, f FoundFiles, chunk []FoundFile) error {
	if f.DryRun {
		return nil
	}
	// Files of a directory stand together on tape, in most cases.
	done := map[string]bool{}
	for _, one := range chunk {
		dir, mode := one.Path[:strings.LastIndexByte(one.Path, '/')+1], uint32(parentsMode)
		// Labels know no path, and what an index says may be no good one.
		if namesOf(one.Path) == nil {
			dir, mode = LostDir+"/"+string(f.VID)+"/", lostMode
		}
		if done[dir] {
			continue
		}
		done[dir] = true
		err := c.tree.MakeParents(ctx, dir+"x", mode)
		// A file is where a directory must be: the file is put elsewhere.
		if errors.Is(err, errs.NotDirectory) {
			err = c.tree.MakeParents(ctx, LostDir+"/"+string(f.VID)+"/x", lostMode)
		}
		if err != nil && !errors.Is(err, errs.NotDirectory) {
			return err
		}
	}
	return nil
}

// finding is one file of a scan within a transaction.
type finding struct {
	made  returning
	c     *Catalogue
	all   *FoundFiles
	f     *FoundFile
	fresh hemera.FileID // an id that no file has; zero in a dry run
}

// take decides what the file is here, and records it.
func (t finding) take() (out tapeapi.Taken, err error) {
	w := t.f.Written
	// The place on tape comes first: what is there already, of a live or a removed file, stays.
	row, err := t.made.txn.file(t.place(1))
	switch {
	case err != nil:
		return out, err
	case row != nil && row.ArchiveID == w.ArchiveID:
		return t.says(tapeapi.TookKnown, ""), nil
	case row != nil:
		gone, err := t.overwritten(row)
		if err != nil {
			return out, err
		}
		if !gone {
			return t.says(tapeapi.TookDiffers, "the catalogue has archive id "+strconv.FormatUint(row.ArchiveID, 10)+" at this place"), nil
		}
	}
	c := t.content()
	if err := c.check(); err != nil {
		return t.says(tapeapi.TookNot, err.Error()), nil
	}
	e, removed, err := t.owner()
	switch {
	case err != nil:
		return out, err
	case removed:
		return t.dead(0, "it was removed since")
	case e != nil && e.IsDir():
		return t.inferred(0, "a directory has its number")
	case e == nil && t.unsure():
		return t.inferred(0, "no file has it, and no removal is known")
	case e == nil:
		return t.make(c)
	}
	// From here on there is a file. Either it has this content, or one of both is older.
	may, proven := agrees(e, c.Size, c.Sums)
	switch number := e.ArchiveID(); {
	case number == c.ArchiveID && !may:
		return t.inferred(0, "the file with its archive id has another content")
	case number == c.ArchiveID:
		return t.join(e)
	// A rebuild made the file from its disks, which know of no tape.
	case len(e.Tape) == 0 && may && proven && t.ours():
		return t.adopt(e)
	// An older content of a file that was found too: it was not touched since.
	case e.Evicted() && number < c.ArchiveID && (t.ours() || t.wasFound(e)):
		return t.renew(e, c)
	}
	if e.ArchiveID() < c.ArchiveID {
		return t.inferred(e.ID, "the file has another content, and this one may be newer")
	}
	return t.dead(e.ID, "the file has another content now")
}

// overwritten reports whether a row is of a time when the tape had another content, and removes it then: a tape that waits for a scan is
// believed before the catalogue.
func (t finding) overwritten(row *tapeapi.File) (bool, error) {
	tape, err := t.made.txn.Tape(t.all.VID)
	if err != nil || tape == nil || t.c.unscanned(tape) == "" {
		return false, err
	}
	return t.made.vanish(row, t.c.Settings())
}

// says returns the answer.
func (t finding) says(o tapeapi.Outcome, why string) tapeapi.Taken {
	return tapeapi.Taken{Outcome: o, FSeq: t.f.Written.FSeq, Member: t.f.Written.Member, ArchiveID: t.f.Written.ArchiveID, Size: t.f.Written.Size, Path: t.f.Path, Why: why}
}

// place returns the copy that the tape file is. A tape that tells no number of copies gets the one that the caller has
// free.
func (t finding) place(free uint8) hemera.TapeCopy {
	w := t.f.Written
	c := hemera.TapeCopy{Number: t.f.Copy, VID: t.all.VID, FSeq: w.FSeq, Block: w.Block, Member: w.Member}
	if c.Number == 0 || c.Number > hemera.TapeCopiesMax {
		c.Number = free
	}
	return c
}

// row returns the tape file as the list of its tape has it.
func (t finding) row(to hemera.TapeCopy) tapeapi.File {
	return tapeapi.File{TapeCopy: to, ArchiveID: t.f.Written.ArchiveID, Size: t.f.Written.Size, Written: t.made.txn.Now(), Found: true}
}

// content returns the file as the tape tells it.
func (t finding) content() *content {
	f := t.f
	c := &content{ArchiveID: f.Written.ArchiveID, Size: f.Written.Size, Sums: f.Sums, Class: f.Class, UID: f.Owner.UID, GID: f.Owner.GID, Mode: f.Owner.Mode,
		Mtime: f.Mtime, Layout: f.Layout, Space: f.Space}
	// An index that says 0 means it; labels say nothing.
	if f.File == 0 && f.Path == "" && c.Mode == 0 {
		c.Mode = unreadMode
	}
	return c
}

// ours reports whether the ids on the tape are those of this namespace.
func (t finding) ours() bool {
	// A number that was not handed out yet cannot be one of this system, whatever wrote the tape.
	next := t.c.numbers.Next()
	return t.f.File != 0 && (!t.all.Foreign || t.c.tree.Restored()) && uint64(t.f.File) < next && t.f.Written.ArchiveID < next
}

// key returns the key under which the result for the file is remembered.
func (t finding) key() []byte {
	// By the file and not by the content, so that its contents are known to be of one file.
	if t.f.File == 0 {
		return schema.FoundKey(schema.FoundArchive, t.f.Written.ArchiveID)
	}
	return schema.FoundKey(schema.FoundFile, uint64(t.f.File))
}

// lost reports whether the namespace may have lost the content. A tape says nothing of when pieces were sealed, and the time of change is
// the nearest to that: a write that was open when a backup was taken has a number from before it.
func (t finding) lost() bool { return t.c.tree.Lost(t.piece(), t.f.Mtime) }

// piece names the content as pieces do: an archive id is the number of the write that made it.
func (t finding) piece() hemera.PieceID {
	p := hemera.PieceID{File: t.f.File, Gen: hemera.Generation(t.f.Written.ArchiveID)}
	if uint64(p.File) == uint64(p.Gen) {
		p.Gen = 1
	}
	return p
}

// owner finds the file that the content is of, nil if there is none yet. removed: there was one.
func (t finding) owner() (e *hemera.Entry, removed bool, err error) {
	made, err := record.GetUncached(t.made.txn.Txn.Txn, t.key(), schema.DecodeFound)
	switch {
	case err != nil:
		return nil, false, err
	// The record outlives the file: that is how its removal is known.
	case made != nil:
		e, err = t.made.txn.ByID(*made)
		return e, e == nil && err == nil, err
	case !t.ours():
		return nil, false, nil
	}
	// An id of a directory was never that of a file, so the tape lies.
	e, err = t.made.txn.ByID(t.f.File)
	return e, false, err
}

// unsure reports whether no file is made of a content that no file has: the tape is of this system, which does not say that it lost it.
func (t finding) unsure() bool {
	if t.f.File == 0 {
		return !t.all.Foreign && !t.lost()
	}
	return t.ours() && !t.lost()
}

// wasFound reports whether the first copy of a file came from a scan.
func (t finding) wasFound(e *hemera.Entry) bool {
	// The archive id is that of all copies, so the row of one of them tells where it is from.
	row, err := t.made.txn.file(e.Tape[0])
	return err == nil && row != nil && row.Found
}

// inferred records the tape file as one that no file has, though no removal is known.
func (t finding) inferred(file hemera.FileID, why string) (tapeapi.Taken, error) {
	out, err := t.dead(file, why)
	if err != nil {
		return out, err
	}
	row, err := t.made.txn.file(t.place(1))
	if err != nil || row == nil {
		return out, err
	}
	changed, dead := *row, *row.Dead
	dead.Inferred = true
	changed.Dead = &dead
	if err := t.made.txn.putFile(&changed); err != nil {
		return out, err
	}
	return out, t.made.txn.countInferred(t.all.VID, 1)
}

// dead records the tape file as one that no file has.
func (t finding) dead(file hemera.FileID, why string) (tapeapi.Taken, error) {
	// With all that the tape tells: that is what an undeletion makes the file of.
	c, row := t.content(), t.row(t.place(1))
	row.File = file
	row.Dead = &tapeapi.DeadFile{Path: t.f.Path, Removed: t.made.txn.Now(), Why: why, UID: c.UID, GID: c.GID, Mode: c.Mode, Mtime: c.Mtime, Class: c.Class, Sums: c.Sums}
	return t.says(tapeapi.TookDead, why), t.made.txn.putFile(&row)
}

// join adds the copy to a file that has the content.
func (t finding) join(e *hemera.Entry) (tapeapi.Taken, error) {
	taken := func(n uint8) bool {
		return slices.ContainsFunc(e.Tape, func(c hemera.TapeCopy) bool { return c.Number == n })
	}
	// For labels, which say of no copy which one it is.
	free := uint8(1)
	for taken(free) && free < hemera.TapeCopiesMax {
		free++
	}
	to := t.place(free)
	e = attributed(e, map[string]string{hemera.AttrArchiveError: ""})
	if at := slices.IndexFunc(e.Tape, func(c hemera.TapeCopy) bool { return c.Number == to.Number }); at >= 0 {
		// Of a copy that the catalogue has on a tape that was not scanned since the store went back, only this one is sure.
		old := e.Tape[at]
		tape, err := t.made.txn.Tape(old.VID)
		if err != nil {
			return tapeapi.Taken{}, err
		}
		if tape == nil || old.VID == t.all.VID || t.c.unscanned(tape) == "" {
			return t.dead(e.ID, "the file has this copy on another tape")
		}
		if err := t.made.txn.bury(e, old, "", "another tape has the copy now"); err != nil {
			return tapeapi.Taken{}, err
		}
		e.Tape = slices.Delete(slices.Clone(e.Tape), at, at+1)
	}
	return t.give(e, to, tapeapi.TookCopy)
}

// give adds a copy to an entry that was copied, and ends the job that would write it.
func (t finding) give(e *hemera.Entry, to hemera.TapeCopy, o tapeapi.Outcome) (out tapeapi.Taken, err error) {
	e.Tape = append(slices.Clone(e.Tape), to)
	slices.SortFunc(e.Tape, func(a, b hemera.TapeCopy) int { return int(a.Number) - int(b.Number) })
	t.made.txn.PutEntry(e)
	// The copy that it would write is here.
	job, err := t.made.txn.Job(tapeapi.JobKey{File: e.ID, Kind: tapeapi.Archive, Copy: to.Number})
	if err != nil {
		return out, err
	}
	if job != nil {
		if err := t.made.txn.dequeue(job); err != nil {
			return out, err
		}
	}
	return t.says(o, ""), t.made.live(t.row(to), e.ID)
}

// adopt gives a file that knew of no tape the archive id of its content, and the copy.
func (t finding) adopt(e *hemera.Entry) (out tapeapi.Taken, err error) {
	// Jobs are of one archive id. What they were for is queued again where it is missing.
	if err := t.made.txn.dequeueAll(e.ID, tapeapi.Archive); err != nil {
		return out, err
	}
	// A file whose directory asks for tapes already was queued when the rebuild made it.
	had := e.ArchiveID() != 0
	e = attributed(e, map[string]string{hemera.AttrArchiveID: strconv.FormatUint(t.f.Written.ArchiveID, 10), hemera.AttrStorageClass: t.class(), hemera.AttrArchiveError: ""})
	if out, err = t.give(e, t.place(1), tapeapi.TookCopy); err != nil || !had {
		return out, err
	}
	return out, t.made.txn.queueMissing(e, t.c.Settings())
}

// class returns the storage class; a tape that tells none has the one that a fresh system has.
func (t finding) class() string {
	if t.f.Class == "" {
		return defaultClass
	}
	return t.f.Class
}

// defaultClass is tape/tapeconfig's.
const defaultClass = "default"

// renew puts a newer content in place of an older one, which is dead then.
func (t finding) renew(e *hemera.Entry, c *content) (out tapeapi.Taken, err error) {
	// The newer content may have another path: the file is made again there, and not changed in place.
	parent, err := t.made.txn.Parent(e)
	if err != nil {
		return out, err
	}
	dirs, _, err := t.made.txn.Above(parent)
	if err != nil {
		return out, err
	}
	if dirs[0].ID != hemera.RootID {
		return t.inferred(e.ID, "the file is in a recycle bin")
	}
	if err := t.made.displace(spot{dirs, e.Name, e}, t.all.Who); err != nil {
		return out, err
	}
	return t.make(c)
}

// make makes a file of the content, at its path if that is free.
func (t finding) make(c *content) (out tapeapi.Taken, err error) {
	at, why, err := t.made.follow(namesOf(t.f.Path))
	// A path that cannot be had is no reason to leave the file out.
	switch {
	case err != nil:
		return out, err
	case len(at.dirs) == 0 || why == blocked || why == leads && at.entry != nil && at.entry.IsDir():
		return t.makeLost(c)
	case why == missing && t.all.DryRun:
		return t.says(tapeapi.TookMade, ""), nil
	case why == missing:
		return out, errNoPlace
	case at.entry == nil:
		return t.makeAt(at, c, tapeapi.TookMade)
	}
	// The path has another file. Of two that were found and not touched since, the newer one has it.
	if o := at.entry; o.Evicted() && o.ArchiveID() < c.ArchiveID && t.wasFound(o) {
		if err := t.made.displace(at, t.all.Who); err != nil {
			return out, err
		}
		return t.makeAt(at, c, tapeapi.TookMade)
	}
	return t.inferred(0, "another file has its path")
}

// makeLost makes the file in LostDir.
func (t finding) makeLost(c *content) (out tapeapi.Taken, err error) {
	// By the place on tape: that is all that a label tells, and no two files have the same.
	w := t.f.Written
	name := strconv.FormatUint(w.FSeq, 10)
	if w.Member > 0 {
		name += "." + strconv.FormatUint(uint64(w.Member), 10)
	}
	at, why, err := t.made.follow(namesOf(LostDir + "/" + string(t.all.VID) + "/" + name))
	switch {
	case err != nil:
		return out, err
	case why == missing && t.all.DryRun:
		return t.says(tapeapi.TookLost, ""), nil
	case why == missing:
		return out, errNoPlace
	case why == blocked || at.entry != nil:
		return t.inferred(0, "another file has its place in "+LostDir)
	}
	return t.makeAt(at, c, tapeapi.TookLost)
}

// makeAt makes the file at a free place.
func (t finding) makeAt(at spot, c *content, o tapeapi.Outcome) (out tapeapi.Taken, err error) {
	id, gen := t.fresh, hemera.Generation(1)
	// A namespace that lost the file gives it the id and the generation that its disks know.
	if t.ours() {
		p := t.piece()
		id, gen = p.File, p.Gen
	}
	// The first copy that is found; others join it.
	to := t.place(1)
	c.Copies, c.Class = []hemera.TapeCopy{to}, t.class()
	if _, err := t.made.create(at, id, gen, c, t.all.Who); err != nil {
		return out, err
	}
	t.made.txn.Set(t.key(), &id, schema.EncodeFound(id))
	return t.says(o, ""), t.made.live(t.row(to), id)
}
