package catalogue

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"

	"hemera/namespace/schema"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A content that was removed or replaced stays on its tapes until they are reclaimed, and their
// dead rows have what is needed to make a file of it again. That file is on tape only, as one that
// was evicted, and is archived again where a tape with a copy was reclaimed.

// Undeletion says which content becomes a file again, and where.
type Undeletion struct {
	Rows   []tapeapi.File // of the content, as [Catalogue.Removed] finds them
	Path   string
	Layout hemera.Layout // of its disk copies
	Space  hemera.SpaceName
	Who    string
}

// Removed finds the rows of a content that no file has: by its archive id, or else by the path that
// it had. Of several contents of one path it is the one that was removed last. It reads the lists
// of all tapes. NotFound.
func (c *Catalogue) Removed(ctx context.Context, archiveID uint64, path string) (rows []tapeapi.File, err error) {
	subject := path
	if archiveID == 0 {
		rows, err = c.deadRows(ctx, func(f *tapeapi.File) bool { return f.Dead.Path == path })
		// The path leads to a content, and the content to its copies.
		if err == nil && len(rows) > 0 {
			archiveID = Latest(rows).ArchiveID
		}
	} else {
		subject = "archive id " + strconv.FormatUint(archiveID, 10)
	}
	// Again by the archive id: not every copy knows the path.
	if err == nil && archiveID != 0 {
		rows, err = c.deadRows(ctx, func(f *tapeapi.File) bool { return f.ArchiveID == archiveID })
	}
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, refuse(errs.NotFound, "Removed", subject, "no tape has a removed file of it").
			WithRemedy("`hemera tape tape files VID --removed` lists what can be brought back from a tape; what a reclaimed tape held is gone")
	}
	// Another system's content may have the number too.
	of := Latest(rows)
	rows = slices.DeleteFunc(rows, func(f tapeapi.File) bool {
		return f.Size != of.Size || f.File != of.File && f.File != 0 && of.File != 0
	})
	return rows, nil
}

// Inferred finds the contents of a tape that no file has and whose removal is not known, behind an fSeq: those of a page of its list, each
// with its rows on all tapes. next is the fSeq to go on behind, 0 at the end. It reads the lists of all tapes for each page with such contents.
func (c *Catalogue) Inferred(ctx context.Context, vid hemera.VID, after uint64) (contents [][]tapeapi.File, next uint64, err error) {
	rows, err := c.Files(ctx, vid, after, reclaimBatch, true)
	if err != nil || len(rows) == 0 {
		return nil, 0, err
	}
	next = rows[len(rows)-1].FSeq
	at := map[uint64]int{} // by archive id
	for _, f := range rows {
		if _, again := at[f.ArchiveID]; f.Dead != nil && f.Dead.Inferred && !again {
			at[f.ArchiveID] = len(contents)
			contents = append(contents, []tapeapi.File{f})
		}
	}
	if len(contents) == 0 {
		return nil, next, nil
	}
	// A second copy of the content is on another tape.
	copies, err := c.deadRows(ctx, func(f *tapeapi.File) bool {
		i, ok := at[f.ArchiveID]
		return ok && f.VID != vid && f.Size == contents[i][0].Size && f.File == contents[i][0].File
	})
	for _, f := range copies {
		i := at[f.ArchiveID]
		contents[i] = append(contents[i], f)
	}
	return contents, next, err
}

// Latest returns the row that died last.
func Latest(rows []tapeapi.File) tapeapi.File {
	return slices.MaxFunc(rows, func(a, b tapeapi.File) int {
		// One with a path tells more than one that another copy replaced.
		return cmp.Or(compareBool(a.Dead.Path != "", b.Dead.Path != ""), a.Dead.Removed.Compare(b.Dead.Removed))
	})
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// deadRows lists the dead rows of all tapes that match.
func (c *Catalogue) deadRows(ctx context.Context, match func(*tapeapi.File) bool) (out []tapeapi.File, err error) {
	prefix, dead := schema.TableKey(schema.TableTapeFile), []byte(`"Dead":`)
	err = scan(ctx, c, prefix, schema.PrefixEnd(prefix), func(k, raw []byte) (bool, error) {
		// Most rows are live, and are not worth decoding.
		if !bytes.Contains(raw, dead) {
			return true, ctx.Err()
		}
		f, err := schema.DecodeTapeFile(k, raw)
		if err == nil && f.Dead != nil && match(f) {
			out = append(out, *f)
		}
		return true, err
	})
	return out, err
}

// Undelete makes a file of a removed content again: on tape only, with its owner, mode, checksums
// and archive id. Exists when its path is taken or a file has the content, Invalid without a path,
// Conflict when a tape was reclaimed meanwhile.
func (c *Catalogue) Undelete(ctx context.Context, u Undeletion) (out hemera.Entry, err error) {
	names := namesOf(u.Path)
	if names == nil {
		return out, refuse(errs.Invalid, "Undelete", u.Path, "it is not known where the file was").WithRemedy("say where it shall be: --to PATH")
	}
	// For the generation, or for the file: one number is enough for both.
	number, err := c.numbers.Take(ctx)
	if err != nil {
		return out, err
	}
	if err := c.tree.MakeParents(ctx, u.Path, parentsMode); err != nil {
		return out, err
	}
	err = c.update(ctx, func(txn Txn) error {
		t := returning{txn}
		at, why, err := t.follow(names)
		switch {
		case err != nil:
			return err
		case why != leads:
			return refuse(errs.Conflict, "Undelete", u.Path, "its directory was removed meanwhile")
		case at.entry != nil:
			return refuse(errs.Exists, "Undelete", u.Path, "the path is taken").WithRemedy("bring it back elsewhere: --to PATH")
		}
		// The rows were found outside of this change: a reclaim may have been faster.
		rows, err := t.revived(u.Rows)
		if err != nil {
			return err
		}
		e, err := t.undelete(at, u, rows, number)
		if err != nil {
			return err
		}
		out = *e
		// What is missing is queued, as for any file.
		return t.txn.queueMissing(e, c.Settings())
	})
	return out, err
}

// revived returns the rows as they are now, one for each number of a copy: that which died last.
func (t returning) revived(rows []tapeapi.File) (out []tapeapi.File, err error) {
	// A repack leaves a dead row on the old tape: two rows of one copy. The later one counts.
	for _, old := range rows {
		row, err := t.txn.file(old.TapeCopy)
		if err != nil {
			return nil, err
		}
		if row == nil || row.Dead == nil || row.ArchiveID != old.ArchiveID {
			continue
		}
		at := slices.IndexFunc(out, func(o tapeapi.File) bool { return o.Number == row.Number })
		switch {
		case at < 0:
			out = append(out, *row)
		case row.Dead.Removed.After(out[at].Dead.Removed):
			out[at] = *row
		}
	}
	if len(out) == 0 {
		return nil, refuse(errs.Conflict, "Undelete", "", "its tapes were reclaimed, or somebody else brought it back meanwhile")
	}
	slices.SortFunc(out, func(a, b tapeapi.File) int { return int(a.Number) - int(b.Number) })
	return out, nil
}

// undelete makes the file of dead rows. It has the id that it had, unless that is a file's: one whose
// content was replaced.
func (t returning) undelete(at spot, u Undeletion, rows []tapeapi.File, number uint64) (*hemera.Entry, error) {
	// Its rows agree about the content, and the latest one knows most of the file.
	of := Latest(rows)
	if e, err := t.txn.fileOf(of.File, of.ArchiveID); err != nil || e != nil {
		return nil, cmp.Or(err, error(refuse(errs.Exists, "Undelete", u.Path, "file fxid:"+of.File.Hex()+" has this content: it was not removed")))
	}
	d := of.Dead
	c := &content{ArchiveID: of.ArchiveID, Size: of.Size, Sums: d.Sums, Class: cmp.Or(d.Class, defaultClass), UID: d.UID, GID: d.GID, Mode: d.Mode, Mtime: d.Mtime,
		Layout: u.Layout, Space: u.Space}
	// Of a content that never was a file's nobody knows who might read it.
	if d.Mtime.IsZero() && d.Mode == 0 {
		c.Mode = unreadMode
	}
	// Sorted by number, as entries have them.
	for _, row := range rows {
		c.Copies = append(c.Copies, row.TapeCopy)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	// A generation that is newer than every write of the file that was begun before: none of them can
	// be committed over it.
	id, gen := of.File, hemera.Generation(number)
	// The pieces that it had are gone, or wait to be removed under their own generations.
	taken, err := t.txn.ByID(id)
	if err != nil {
		return nil, err
	}
	if id == 0 || taken != nil {
		id, gen = hemera.FileID(number), 1
	}
	e, err := t.create(at, id, gen, c, u.Who)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if err := t.live(row, id); err != nil {
			return nil, err
		}
	}
	return e, nil
}
