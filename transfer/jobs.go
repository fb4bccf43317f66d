package transfer

import (
	"context"
	"sync/atomic"

	"hemera/disk"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

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
func (h *Host) source(j *Job) (*Reader, error) {
	c := j.Cap
	c.Targets = j.Sources
	r, err := h.OpenReader(hemera.VerifiedPermit(c, j.Token))
	if err == nil && r.stripes != nil {
		r.stripes.copies = true // before anybody reads
		for _, o := range r.replicas {
			r.stripes.order = append(r.stripes.order, o.target.Index)
		}
	}
	return r, err
}

// Copy pulls the piece from its sources onto the disk and seals it there, durable, with the same
// footer; it returns the bytes copied. Every page is checked on the way, and the whole content
// against the committed CRC32C. A piece that is there already is success when every byte of it is
// right, which for a piece of a coded file the sources tell; otherwise it is replaced.
func (h *Host) Copy(ctx context.Context, j Job) (int64, error) {
	if err := j.check(); err != nil {
		return 0, err
	}
	// Orders come again when an answer was lost, and find their work done.
	crc, err := h.intact(ctx, &j)
	if err == nil && j.Cap.Layout.Coded() {
		err = h.alike(ctx, &j, crc)
	}
	if err == nil {
		return 0, nil
	}
	if ctx.Err() != nil {
		return 0, err
	}
	if errs.KindOf(err) != errs.NotFound {
		h.Log.Warn("a piece that was there already is not right and is copied again", "piece", j.Piece.String(), "error", err)
	}
	return h.replacePiece(ctx, &j)
}

// intact reads the piece that the disk has and fails unless its footer, every page and the content's
// CRC32C are what the namespace says: a caller that believes a piece drops another for it. It returns the CRC32C of the piece.
func (h *Host) intact(ctx context.Context, j *Job) (uint32, error) {
	// What the disk remembers of the piece was true when it was read last, which may be why this job exists.
	reopen(j.Disk, j.Piece)
	r, err := j.Disk.Open(j.Piece)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	if err := checkFooter(r.Stat(), j.Piece, &j.Cap); err != nil {
		return 0, err
	}
	crc, err := copyPages(ctx, h.Panics, nowhere{}, r, r.Stat().Size)
	if err != nil {
		return 0, err
	}
	return crc, h.checkContent(crc, &j.Cap)
}

// alike fails unless the sources make a piece with this CRC32C: the checksums of a coded file say nothing of one piece.
// It reads as much as a copy does and writes nothing, so an order that comes twice leaves the disk as it is. Sources that
// cannot be read are an error like a piece that differs: the caller then copies, and hears from that why it cannot be.
func (h *Host) alike(ctx context.Context, j *Job, crc uint32) error {
	src, err := h.source(j)
	if err != nil {
		return err
	}
	defer src.Close()
	// By two CRC32Cs, as both are of the same number of bytes, and each page of both was compared with its own before.
	want, err := copyPages(ctx, h.Panics, nowhere{}, src.content(j.Piece.Index), layout.PieceSize(j.Cap.Layout, j.Cap.Size, j.Piece.Index))
	if err == nil && want != crc {
		h.Counters.ChecksumErrors.Add(1)
		err = errs.New(errs.Corrupt, "transfer.Copy", j.Piece.String(), "the piece is not what the file's other pieces make")
	}
	return err
}

// nowhere is the destination of a copy that is only read.
type nowhere struct{ PeerWriter }

// WritePages implements PeerWriter.
func (nowhere) WritePages([]byte, []uint32, int64) error { return nil }

// Truncate implements PeerWriter.
func (nowhere) Truncate(int64) error { return nil }

// checkContent compares the CRC32C of a whole content with the committed one, if there is one.
func (h *Host) checkContent(crc uint32, c *hemera.Capability) error {
	got := crcChecksum(crc)
	if want, ok := hemera.FindChecksum(c.Sums, hemera.CRC32C); ok && want != got && c.Layout.Data <= 1 {
		h.Counters.ChecksumErrors.Add(1)
		return errs.New(errs.Corrupt, "transfer.Copy", subject(c), "the content has "+got.String()+", the namespace says "+want.String())
	}
	return nil
}

// replacePiece copies the piece again. What is there under its name stays until the copy is sealed:
// bad as it is, it may be the last that has some page.
func (h *Host) replacePiece(ctx context.Context, j *Job) (int64, error) {
	src, err := h.source(j)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	o := createOptions(&j.Cap, j.Piece.Index)
	// Both have the same name; the disk keeps the old one until the new one is sealed.
	o.Replace = true
	// A file with holes is not given the room of its size: the disk may have less than that left.
	if held, err := src.Allocated(); err == nil && src.stripes == nil && held < o.SizeHint-sparseLeast {
		o.SizeHint, o.Sparse = held, true
	}
	w, err := j.Disk.Create(j.Piece, o)
	if err != nil {
		return 0, err
	}
	dst := &diskPiece{Writer: w, store: j.Disk, id: j.Piece}
	// Half a copy is of no use: a piece is there whole, or not.
	if err := h.copySealed(ctx, counted{dst, j.Copied}, src, &j.Cap, j.Piece.Index); err != nil {
		if !dst.ended.Load() {
			_ = w.Abort()
		}
		return 0, err
	}
	return layout.PieceSize(j.Cap.Layout, j.Cap.Size, j.Piece.Index), nil
}

// counted is a destination that counts the bytes that it takes, for the progress of an order.
type counted struct {
	PeerWriter
	bytes *atomic.Int64
}

// WritePages implements PeerWriter.
func (c counted) WritePages(p []byte, sums []uint32, off int64) error {
	err := c.PeerWriter.WritePages(p, sums, off)
	if err == nil && c.bytes != nil {
		c.bytes.Add(int64(len(p)))
	}
	return err
}

// skip counts bytes that need not be written.
func (c counted) skip(n int64) {
	if c.bytes != nil {
		c.bytes.Add(n)
	}
}

// copySealed makes a piece that was begun from the file's others, and seals it, durable. The CRC32C of a copy is
// compared with the committed one before the seal, so a source that is wrong as a whole makes no piece.
func (h *Host) copySealed(ctx context.Context, dst PeerWriter, src *Reader, c *hemera.Capability, index uint8) error {
	crc, err := copyPages(ctx, h.Panics, dst, src.content(index), layout.PieceSize(c.Layout, c.Size, index))
	if err != nil {
		return err
	}
	if err := h.checkContent(crc, c); err != nil {
		return err
	}
	return dst.Seal(ctx, hemera.SealInfo{FileSize: c.Size, Checksums: c.Sums, Sync: true})
}

// Verified is what a look at every page of a piece found.
type Verified struct {
	Stat hemera.PieceStat
	Bad  []int64 // offsets of bad pages
	Sums []hemera.Checksum
}

// Verify reads the whole piece. With a kind, it also computes that checksum of the content, if no
// page is bad; one that differs from the footer's is Corrupt. The end of the context stops it then.
func (h *Host) Verify(ctx context.Context, store disk.Store, id hemera.PieceID, kind hemera.ChecksumKind) (Verified, error) {
	reopen(store, id)
	r, err := store.Open(id)
	if err != nil {
		return Verified{}, err
	}
	defer r.Close()
	v := Verified{Stat: r.Stat()}
	if kind != hemera.ChecksumNone {
		sums, err := newStreamSums([]hemera.ChecksumKind{kind})
		if err != nil {
			return v, errs.As(err, errs.Invalid, "transfer.Verify", id.String())
		}
		// Every page is checked on the way; which are bad is looked for only when one is.
		allowed := int64(0)
		if _, stored := hemera.FindChecksum(v.Stat.Checksums, kind); stored {
			allowed = v.Stat.Size // as its close was
		}
		if v.Sums, err = sums.finish(v.Stat.Size, stoppable{r, ctx}, allowed); err != nil && errs.KindOf(err) != errs.Corrupt {
			return v, err
		}
	}
	if len(v.Sums) == 0 {
		v.Bad, err = r.Verify()
		h.Counters.ChecksumErrors.Add(int64(len(v.Bad)))
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
	source
	ctx context.Context
}

// ReadPages implements source.
func (s stoppable) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, errs.Wrap(err, "transfer.Verify", "")
	}
	return s.source.ReadPages(p, sums, off)
}

// Repair makes a piece good again: bad pages are rewritten from the sources; a piece that is not
// there, has no good footer, or whose page checksums are bad is copied again. It returns the pages
// repaired.
func (h *Host) Repair(ctx context.Context, j Job) (int64, error) {
	if err := j.check(); err != nil {
		return 0, err
	}
	// Page by page first: a piece with one bad page is still the best source of all its others.
	pages, err := h.repairPages(ctx, &j)
	h.Counters.Repairs.Add(pages)
	if err == nil {
		return pages, nil
	}
	switch errs.KindOf(err) {
	case errs.NotFound, errs.Corrupt:
	default:
		return pages, err
	}
	bytes, err := h.replacePiece(ctx, &j)
	if err != nil {
		h.Counters.RepairsFailed.Add(1)
		return pages, err
	}
	// A copy counts as the repair of all of its pages.
	copied := (bytes + hemera.PageSize - 1) / hemera.PageSize
	h.Counters.Repairs.Add(copied)
	return pages + copied, nil
}

// repairPages rewrites bad pages until a look finds none. Corrupt when pages stay bad, or when footer
// or content are not those that were committed.
func (h *Host) repairPages(ctx context.Context, j *Job) (int64, error) {
	var repaired int64
	var src *Reader
	for {
		v, err := h.Verify(ctx, j.Disk, j.Piece, hemera.ChecksumNone)
		if err != nil {
			return repaired, err
		}
		if err := checkFooter(v.Stat, j.Piece, &j.Cap); err != nil {
			return repaired, err
		}
		// Good pages can still be of another content, so the whole is compared before the repair counts as done.
		// Of a coded file the pages and the footer are all that is compared here: what the other pieces make is compared
		// where a piece is to replace another, as that is when a wrong one would cost a good one.
		if len(v.Bad) == 0 {
			_, err := h.intact(ctx, j)
			return repaired, err
		}
		if src == nil {
			if src, err = h.source(j); err != nil {
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
			if err := readFull(src.content(j.Piece.Index), page, nil, off); err != nil {
				return repaired, errs.As(err, errs.NoReplicas, "transfer.Repair", j.Piece.String())
			}
			if err := j.Disk.RepairPages(j.Piece, page, off); err != nil {
				return repaired, err
			}
			repaired++
		}
	}
}

// repairPage writes a good page over a bad one in the background. When too many repairs run, the
// piece is reported instead.
func (h *Host) repairPage(t hemera.Target, id hemera.PieceID, page []byte, off int64) {
	// A device that fails in many places would be written to without end: the manager orders that repair instead.
	if h.repairs.Add(1) > repairsMax {
		h.repairs.Add(-1)
		h.found(t, id, errs.Corrupt)
		return
	}
	// The reader that found the page does not wait for the repair.
	h.Panics.Go(&h.work, "transfer.Repair", id.String(), func() {
		defer h.repairs.Add(-1)
		store, err := h.store(t)
		if err == nil {
			err = store.RepairPages(id, page, off)
		}
		if err != nil {
			h.Counters.RepairsFailed.Add(1)
			h.found(t, id, err)
			h.Log.Warn("bad page not repaired", "piece", id.String(), "disk", t.Disk, "offset", off, "error", err)
			return
		}
		h.Counters.Repairs.Add(1)
		h.Log.Info("bad page repaired", "piece", id.String(), "disk", t.Disk, "offset", off)
	})
}

// reopener is a disk that can be told not to rely on what it knows of a piece.
type reopener interface{ Reopen(id hemera.PieceID) }

// reopen has the next open of the piece read its footer and table again.
func reopen(store disk.Store, id hemera.PieceID) {
	if r, ok := store.(reopener); ok {
		r.Reopen(id)
	}
}
