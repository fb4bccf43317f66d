package jobs

import (
	"context"
	"sync/atomic"

	"hemera/disk"
	"hemera/rules/layout"
	"hemera/transfer/filesum"
	"hemera/transfer/piece"
	"hemera/transfer/read"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Worker does jobs on the disks of one node. It has no state of its own: methods may be called concurrently.
type Worker struct {
	node  *piece.Node
	reads *read.Shared
}

// New returns the worker of a node. Its jobs share what readers of the node share.
func New(n *piece.Node, reads *read.Shared) Worker { return Worker{n, reads} }

// Job is background work on one local piece.
type Job struct {
	Piece hemera.PieceID
	Disk  disk.Store
	// Cap and Token are a capability to read the content; Sources are where its pieces are.
	Cap     hemera.Capability
	Token   string
	Sources []hemera.Target
	// Copied counts the bytes of a copy as they are written; may be nil.
	Copied *atomic.Int64
}

// check refuses a job whose capability is for something else.
func (j *Job) check() error {
	if j.Cap.Access != hemera.AccessRead || j.Cap.File != j.Piece.File || j.Cap.Gen != j.Piece.Gen {
		return errs.New(errs.Invalid, "transfer.Job", j.Piece.String(), "the capability is not for reading this content")
	}
	return nil
}

// source opens the job's sources as one: a bad page of one is taken from another.
func (w Worker) source(j *Job) (*read.Reader, error) {
	c := j.Cap
	c.Targets = j.Sources
	return read.OpenForCopy(w.node, w.reads, hemera.VerifiedPermit(c, j.Token))
}

// Copy pulls the piece from its sources onto the disk and seals it there, durable, with the same
// footer; it returns the bytes copied. Every page is checked on the way, and the whole content
// against the committed CRC32C. A piece that is there already is success when every byte of it is
// right, which for a piece of a coded file the sources tell; otherwise it is replaced.
func (w Worker) Copy(ctx context.Context, j Job) (int64, error) {
	if err := j.check(); err != nil {
		return 0, err
	}
	// Orders come again when an answer was lost, and find their work done.
	crc, err := w.intact(ctx, &j)
	if err == nil && j.Cap.Layout.Coded() {
		err = w.alike(ctx, &j, crc)
	}
	if err == nil {
		return 0, nil
	}
	if ctx.Err() != nil {
		return 0, err
	}
	if errs.KindOf(err) != errs.NotFound {
		w.node.Log.Warn("a piece that was there already is not right and is copied again", "piece", j.Piece.String(), "error", err)
	}
	return w.replacePiece(ctx, &j)
}

// intact reads the piece that the disk has and fails unless its footer, every page and the content's
// CRC32C are what the namespace says: a caller that believes a piece drops another for it. It returns the CRC32C of the piece.
func (w Worker) intact(ctx context.Context, j *Job) (uint32, error) {
	// The disk's memory of the piece was true when it was read last, which may be the reason for this job.
	reopen(j.Disk, j.Piece)
	r, err := j.Disk.Open(j.Piece)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	if err := piece.CheckFooter(r.Stat(), j.Piece, &j.Cap); err != nil {
		return 0, err
	}
	crc, err := piece.Copy(ctx, w.node.Panics, discard{}, r, r.Stat().Size)
	if err != nil {
		return 0, err
	}
	return crc, w.checkContent(crc, &j.Cap)
}

// alike fails unless the sources make a piece with this CRC32C: the checksums of a coded file say nothing of one piece.
// It reads as much as a copy does and writes nothing, so an order that comes twice leaves the disk as it is. Sources that
// cannot be read are an error like a piece that differs: the caller then copies, and hears from that why it cannot be.
func (w Worker) alike(ctx context.Context, j *Job, crc uint32) error {
	src, err := w.source(j)
	if err != nil {
		return err
	}
	defer src.Close()
	// By two CRC32Cs, as both are of the same number of bytes, and each page of both was compared with its own before.
	want, err := piece.Copy(ctx, w.node.Panics, discard{}, src.Content(j.Piece.Index), layout.PieceSize(j.Cap.Layout, j.Cap.Size, j.Piece.Index))
	if err == nil && want != crc {
		w.node.Counters.ChecksumErrors.Add(1)
		err = errs.New(errs.Corrupt, "transfer.Copy", j.Piece.String(), "the piece is not what the file's other pieces make")
	}
	return err
}

// discard is the destination of a copy that is only read.
type discard struct{ piece.Writer }

// WritePages implements piece.Writer.
func (discard) WritePages([]byte, []uint32, int64) error { return nil }

// Truncate implements piece.Writer.
func (discard) Truncate(int64) error { return nil }

// checkContent compares the CRC32C of a whole content with the committed one, if there is one.
func (w Worker) checkContent(crc uint32, c *hemera.Capability) error {
	got := piece.CRC32C(crc)
	if want, ok := hemera.FindChecksum(c.Sums, hemera.CRC32C); ok && want != got && c.Layout.Data <= 1 {
		w.node.Counters.ChecksumErrors.Add(1)
		return errs.New(errs.Corrupt, "transfer.Copy", piece.Subject(c), "the content has "+got.String()+", the namespace says "+want.String())
	}
	return nil
}

// replacePiece copies the piece again. The piece that is there under its name stays until the copy is sealed: bad as it
// is, it may be the last that has some page.
func (w Worker) replacePiece(ctx context.Context, j *Job) (int64, error) {
	src, err := w.source(j)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	o := piece.CreateOptions(&j.Cap, j.Piece.Index)
	// Both have the same name; the disk keeps the old one until the new one is sealed.
	o.Replace = true
	// A file with holes is not given the room of its size: the disk may have less than that left.
	if held, err := src.Allocated(); err == nil && !src.Coded() && held < o.SizeHint-sparseLeast {
		o.SizeHint, o.Sparse = held, true
	}
	made, err := j.Disk.Create(j.Piece, o)
	if err != nil {
		return 0, err
	}
	dst := piece.NewLocal(made, j.Disk, j.Piece)
	// Half a copy is of no use: a piece is there whole, or not.
	if err := w.copySealed(ctx, counted{dst, j.Copied}, src, &j.Cap, j.Piece.Index); err != nil {
		if !dst.Ended() {
			_ = made.Abort()
		}
		return 0, err
	}
	return layout.PieceSize(j.Cap.Layout, j.Cap.Size, j.Piece.Index), nil
}

// counted is a destination that counts the bytes that it takes, for the progress of an order.
type counted struct {
	piece.Writer
	bytes *atomic.Int64
}

// WritePages implements piece.Writer.
func (c counted) WritePages(p []byte, sums []uint32, off int64) error {
	err := c.Writer.WritePages(p, sums, off)
	if err == nil && c.bytes != nil {
		c.bytes.Add(int64(len(p)))
	}
	return err
}

// Skip counts bytes that need not be written.
func (c counted) Skip(n int64) {
	if c.bytes != nil {
		c.bytes.Add(n)
	}
}

// copySealed makes a piece that was begun from the file's others, and seals it, durable. The CRC32C of a copy is
// compared with the committed one before the seal, so a source that is wrong as a whole makes no piece.
func (w Worker) copySealed(ctx context.Context, dst piece.Writer, src *read.Reader, c *hemera.Capability, index uint8) error {
	crc, err := piece.Copy(ctx, w.node.Panics, dst, src.Content(index), layout.PieceSize(c.Layout, c.Size, index))
	if err != nil {
		return err
	}
	if err := w.checkContent(crc, c); err != nil {
		return err
	}
	return dst.Seal(ctx, hemera.SealInfo{FileSize: c.Size, Checksums: c.Sums, Sync: true})
}

// Verified is the result of a look at every page of a piece.
type Verified struct {
	Stat hemera.PieceStat
	Bad  []int64 // offsets of bad pages
	Sums []hemera.Checksum
}

// Verify reads the whole piece. With a kind, it also computes that checksum of the content, if no
// page is bad; one that differs from the footer's is Corrupt. The end of the context stops it then.
func (w Worker) Verify(ctx context.Context, store disk.Store, id hemera.PieceID, kind hemera.ChecksumKind) (Verified, error) {
	reopen(store, id)
	r, err := store.Open(id)
	if err != nil {
		return Verified{}, err
	}
	defer r.Close()
	v := Verified{Stat: r.Stat()}
	if kind != hemera.ChecksumNone {
		sums, err := filesum.New([]hemera.ChecksumKind{kind})
		if err != nil {
			return v, errs.As(err, errs.Invalid, "transfer.Verify", id.String())
		}
		// Every page is checked on the way; which are bad is looked for only when one is.
		allowed := int64(0)
		if _, stored := hemera.FindChecksum(v.Stat.Checksums, kind); stored {
			allowed = v.Stat.Size // as its close was
		}
		if v.Sums, err = sums.Finish(v.Stat.Size, stoppable{r, ctx}, allowed); err != nil && errs.KindOf(err) != errs.Corrupt {
			return v, err
		}
	}
	if len(v.Sums) == 0 {
		v.Bad, err = r.Verify()
		w.node.Counters.ChecksumErrors.Add(int64(len(v.Bad)))
		return v, err
	}
	// Every page is good by its own checksum; this finds a footer and data that are not of the same content.
	for _, got := range v.Sums {
		if want, ok := hemera.FindChecksum(v.Stat.Checksums, got.Kind); ok && want != got {
			return v, errs.New(errs.Corrupt, "transfer.Verify", id.String(), "the content has "+got.String()+", the footer says "+want.String())
		}
	}
	return v, nil
}

// stoppable is a piece that can be read until the context ends.
type stoppable struct {
	piece.Source
	ctx context.Context
}

// ReadPages implements piece.Source.
func (s stoppable) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, errs.Wrap(err, "transfer.Verify", "")
	}
	return s.Source.ReadPages(p, sums, off)
}

// Repair makes a piece good again: bad pages are rewritten from the sources; a piece that is not
// there, has no good footer, or whose page checksums are bad is copied again. It returns the pages
// repaired.
func (w Worker) Repair(ctx context.Context, j Job) (int64, error) {
	if err := j.check(); err != nil {
		return 0, err
	}
	// Page by page first: a piece with one bad page is still the best source of all its others.
	pages, err := w.repairPages(ctx, &j)
	w.node.Counters.Repairs.Add(pages)
	if err == nil {
		return pages, nil
	}
	switch errs.KindOf(err) {
	case errs.NotFound, errs.Corrupt:
	default:
		return pages, err
	}
	bytes, err := w.replacePiece(ctx, &j)
	if err != nil {
		w.node.Counters.RepairsFailed.Add(1)
		return pages, err
	}
	// A copy counts as the repair of all of its pages.
	copied := (bytes + hemera.PageSize - 1) / hemera.PageSize
	w.node.Counters.Repairs.Add(copied)
	return pages + copied, nil
}

// repairPages rewrites bad pages until a look finds none. Corrupt when pages stay bad, or when footer
// or content are not those that were committed.
func (w Worker) repairPages(ctx context.Context, j *Job) (int64, error) {
	var repaired int64
	var src *read.Reader
	for {
		v, err := w.Verify(ctx, j.Disk, j.Piece, hemera.ChecksumNone)
		if err != nil {
			return repaired, err
		}
		if err := piece.CheckFooter(v.Stat, j.Piece, &j.Cap); err != nil {
			return repaired, err
		}
		// Good pages can still be of another content, so the whole is compared before the repair counts as done.
		// Of a coded file the pages and the footer are all that is compared here: what the other pieces make is compared
		// where a piece is to replace another, as that is when a wrong one would cost a good one.
		if len(v.Bad) == 0 {
			_, err := w.intact(ctx, j)
			return repaired, err
		}
		if src == nil {
			if src, err = w.source(j); err != nil {
				return repaired, err
			}
			defer src.Close()
		}
		for _, off := range v.Bad {
			if err := ctx.Err(); err != nil {
				return repaired, errs.Wrap(err, "transfer.Repair", j.Piece.String())
			}
			off -= off % hemera.PageSize
			page := make([]byte, min(hemera.PageSize, v.Stat.Size-off))
			if err := piece.ReadFull(src.Content(j.Piece.Index), page, nil, off); err != nil {
				return repaired, errs.As(err, errs.NoReplicas, "transfer.Repair", j.Piece.String())
			}
			if err := j.Disk.RepairPages(j.Piece, page, off); err != nil {
				return repaired, err
			}
			repaired++
		}
	}
}

// reopener is a disk that can be told not to rely on what it knows of a piece.
type reopener interface{ Reopen(id hemera.PieceID) }

// reopen has the next open of the piece read its footer and table again.
func reopen(store disk.Store, id hemera.PieceID) {
	if r, ok := store.(reopener); ok {
		r.Reopen(id)
	}
}

// NextData implements piece.Source.
func (s stoppable) NextData(off int64) (int64, error) {
	if err := s.ctx.Err(); err != nil {
		return off, err
	}
	return s.Source.NextData(off)
}

// sparseLeast is the number of bytes by which a piece on its disk is smaller than its size for a copy not to reserve that
// size.
const sparseLeast = 1 << 20
