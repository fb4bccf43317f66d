package transfer

import (
	"fmt"
	"slices"

	"hemera/disk"
	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// holesHashed is how many bytes of holes a close hashes for digests such as md5, which must see every
// byte; as many as the client sent, if that is more. Other checksums take a hole by its length.
const holesHashed = 1 << 30

// sparseLeast is how much smaller than its size a piece is on its disk for a copy not to reserve that size.
const sparseLeast = 1 << 20

// nextData is the first offset at or after off, up to size, from where the source may have data.
func nextData(src source, off, size int64) int64 {
	// One call looks only so far, so it is repeated for as long as it gets further.
	for off < size {
		next, err := src.NextData(off)
		if err != nil || next <= off {
			break
		}
		off = min(next, size)
	}
	return off
}

// tooSparse is why a digest, one of the kinds, is not made.
func tooSparse(kinds []hemera.ChecksumKind) error {
	// Checksums that are linear combine the zeros of a hole in no time; digests have to be fed with them.
	digest := kinds[slices.IndexFunc(kinds, func(k hemera.ChecksumKind) bool { return !checksum.SkipsZeros(k) })]
	return errs.New(errs.TooLarge, "transfer.Checksum", "",
		fmt.Sprintf("%s must see every byte, and more than %d GiB of the file are holes, and more than was written to it", digest, holesHashed>>30)).
		WithRemedy("store it where policy.checksum is adler32, crc32c, crc64nvme, crc32 or zcrc32, which holes cost nothing, or write its zeros")
}

// NextData asks the piece in use where data may begin, as hemera.Sparse says.
func (r *Reader) NextData(off int64) (int64, error) {
	if !r.calls.Begin() {
		return off, badHandle("transfer.Read", subject(r.cap))
	}
	defer r.calls.Done()
	if r.stripes != nil { // holes of coded files are not looked for
		return off, nil
	}
	o, err := r.pick(anyPiece, nil)
	if err != nil {
		return off, err
	}
	return o.src.NextData(off)
}

// Allocated returns how many bytes the piece in use takes on its disk; the file's size where that is not known.
func (r *Reader) Allocated() (int64, error) {
	if !r.calls.Begin() {
		return 0, badHandle("transfer.Read", subject(r.cap))
	}
	defer r.calls.Done()
	if r.stripes != nil {
		return r.cap.Size, nil
	}
	o, err := r.pick(anyPiece, nil)
	if err != nil {
		return r.cap.Size, nil
	}
	if a, ok := o.src.(hemera.Sparse); ok {
		if n, err := a.Allocated(); err == nil {
			return n, nil
		}
	}
	return r.cap.Size, nil
}

// NextData looks in the piece, pending or sealed.
func (h *pieceHandle) NextData(off int64) (next int64, err error) {
	// As in ReadPages: a sealed piece has a reader, and no writer any more.
	if h.sealed() && h.open.Load() {
		r, err := h.store.Open(h.id)
		if err != nil {
			return off, err
		}
		defer r.Close()
		return r.NextData(off)
	}
	err = h.do("transfer.ReadPiece", false, func(w disk.Writer) (err error) {
		next, err = w.NextData(off)
		return err
	})
	return next, err
}

// Allocated returns the size: what a pending piece takes on its disk is not known.
func (h *pieceHandle) Allocated() (int64, error) { return h.Info().Size, nil }

// NextData implements source.
func (s stoppable) NextData(off int64) (int64, error) {
	if err := s.ctx.Err(); err != nil {
		return off, err
	}
	return s.source.NextData(off)
}
