package volume

import (
	"context"

	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// indexMax bounds the records that an Appender keeps for its next index, in bytes of text. With 64 GB between two flushes that is at most
// a quarter of a thousandth of what is written.
const indexMax = 16 << 20

// index has the files that an Appender has to list. A session's index lists all files since its beginning again, so that a reader visits few of them:
// one for each session, and one for each indexMax.
type index struct {
	first   uint64 // fSeq of the first file that is listed
	lines   []byte // the text of the records
	count   int    // of records
	pending bool   // there are records that no index file has
}

// Note adds a record to the next index. Each tape file that was ended needs one, in the order of fSeq, so that the list has no gaps;
// a container has one and each of its members another one behind it.
func (a *Appender) Note(r Record) {
	a.index.lines = append(a.index.lines, line(r)...)
	a.index.count++
	a.index.pending = true
}

// Index writes an index file of all that was noted since the Appender was made, or since the last index that was full. Without news it
// writes nothing and returns a zero Written. It is durable after the next Flush. Its checksum is the adler32 that catalogues have of each file.
func (a *Appender) Index(ctx context.Context) (w Written, sum hemera.Checksum, err error) {
	x := &a.index
	if !x.pending || a.broken != nil {
		return w, sum, a.broken
	}
	// The file has its number before it is begun, since its text contains it.
	h := head{Format: formatIndex, Version: formatVersion, VID: a.v.label.VID, FSeq: a.fseq + 1, First: x.first}
	text := append(line(h), x.lines...)
	text = append(text, endLine(text, x.count)...)
	// Catalogues have a checksum of each tape file, also of those that no user sees.
	sum, err = checksum.Of(hemera.Adler32, text)
	if err != nil {
		return w, sum, errs.Wrap(err, "volume.Index", a.v.label.VID)
	}
	if w, err = a.whole(ctx, IndexID(a.fseq+1), text); err != nil {
		return w, sum, err
	}
	// The next index lists this one too, as every file.
	a.Note(Record{Kind: KindIndex, FSeq: w.FSeq, Block: w.Block, ArchiveID: w.ArchiveID, Size: w.Size, Sums: []hemera.Checksum{sum}})
	x.pending = false
	// A full index is left as it is; the next one begins behind it.
	if len(x.lines) >= indexMax {
		*x = index{first: w.FSeq + 1}
	}
	return w, sum, nil
}

// whole writes a file whose data is in memory.
func (a *Appender) whole(ctx context.Context, archiveID uint64, data []byte) (w Written, err error) {
	if err := a.Begin(ctx, archiveID); err != nil {
		return w, err
	}
	if err := a.Write(ctx, data); err != nil {
		return w, err
	}
	return a.End(ctx)
}
