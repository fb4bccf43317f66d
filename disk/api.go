package disk

import (
	"log/slog"
	"time"

	"hemera/platform/contain"
	"hemera/platform/zerocopy"
	"hemera/words/hemera"
)

// Store is one disk. Methods may be called concurrently. Errors are *errs.Error: IO and Corrupt
// count against the disk's health; NoSpace, ReadOnly, NotFound, Exists do not.
//
// A Store may block as long as its device does. That of package bounded fails instead, with an error that [IsStalled]
// recognises. Then buffers that were given to the call belong to it for good, and the caller must drop them: it must not
// write to them, reuse them, or put them back into a pool. Sealing or removing may still have its effect later.
type Store interface {
	// Status is the disk's identity, room and health, without device access beyond its label and statfs.
	Status() Status
	// Create begins a pending piece, which is durable after a Sync or a Seal only. An unsealed piece of the same id is started over; a sealed
	// one is Exists.
	Create(id hemera.PieceID, o CreateOptions) (Writer, error)
	// Open opens a sealed piece. NotFound; Corrupt when the footer does not check.
	Open(id hemera.PieceID) (Reader, error)
	// Remove removes a piece, sealed or pending. That is not durable: after a crash the piece may be there again. Readers that have it open
	// keep it. Missing is no error.
	Remove(id hemera.PieceID) error
	// Scan lists sealed pieces in order of id after the given one, at most limit.
	Scan(after hemera.PieceID, limit int) ([]hemera.PieceStat, error)
	// Expire removes pending pieces that are not open and whose last write is older than the age.
	Expire(age time.Duration) (removed int, err error)
	// RepairPages writes correct content over pages of a sealed piece whose stored checksum the new
	// content matches; pages that do not match are refused with Corrupt. The pages are durable when it returns.
	RepairPages(id hemera.PieceID, p []byte, off int64) error
	// Close frees what is open. Readers stay usable; Writers fail with Conflict. A second Close is not an error.
	Close() error
}

// Status is the report of a node on a disk.
type Status struct {
	// LastScrub is the time at which all of the disk's data had been read and verified; zero: never.
	LastScrub time.Time
	// Changes is a number that grows while the disk changes, every 10 minutes at most: an older copy of the disk has a lower one.
	Changes uint64
	UUID    string // from the label, as it was when the disk was opened
	Path    string
	// Health is [hemera.HealthGone] while another disk, or none, is at the path.
	Health hemera.DiskHealth
	Why    string // in words, when Health is not ok
	// Figures of the filesystem are those of the last look that succeeded, and zero where the disk is gone. Rates
	// in Load are averages since the Status before.
	hemera.DiskStats
}

// CreateOptions has the contents of the footer, and hints.
type CreateOptions struct {
	Path string // of the file, as it is now
	// Owner has the file's owner and mode, as they are now; nil if they are not known.
	Owner    *hemera.FileOwner
	Layout   hemera.Layout
	SizeHint int64 // preallocate, if above 0
	// Sparse says that the content has holes: SizeHint is what it takes, more or less, and nothing is reserved.
	Sparse bool
	// Replace allows a sealed piece of the same id; it stays until the new one is sealed in its place.
	Replace bool
}

// Writer is a pending piece, used by one transfer. Pages may be written in any order and again. Calls block for the device, and fail as those of
// [Store] do; BadHandle after Seal or Abort, Conflict when the piece was removed or begun again. Durable is what a Sync or a Seal came after.
type Writer interface {
	// WritePages writes p at off. sums are the CRC32Cs of its page fragments, already verified, or
	// nil to have them computed. Concurrent calls must not overlap.
	WritePages(p []byte, sums []uint32, off int64) error
	// ReadPages reads back what was written, verified; sums may be nil. As hemera.File.ReadPages. Writes of others wait
	// meanwhile.
	ReadPages(p []byte, sums []uint32, off int64) (int, error)
	// NextData is as for a Reader.
	NextData(off int64) (int64, error)
	// Truncate cuts the data, or extends it with zeros, for which nothing is written.
	Truncate(size int64) error
	// Size returns the end of the data now, in bytes. It answers from memory.
	Size() int64
	// Sync makes what was written durable. The piece stays pending: after a crash a [Resumer] finds it, until it expires.
	Sync() error
	// Seal writes checksums and footer; with s.Sync the piece and its directory entry are durable
	// when it returns. The Writer is closed, whatever the result; on error the piece is removed.
	Seal(s hemera.SealInfo) (hemera.PieceStat, error)
	// Abort closes the Writer and removes the piece. After a crash an unsealed piece may be there again, until it expires.
	Abort() error
}

// Reader is a sealed piece, open. Calls block for the device, but for Stat, and for what [MemoryReader] says. ReadPages never returns a byte
// that does not match its checksum: on a bad page it returns what came before it and a Corrupt error whose BadPage can be asked for.
type Reader interface {
	ReadPages(p []byte, sums []uint32, off int64) (int, error)
	// NextData returns the offset at or after off at which data may begin: the bytes before it are certainly zeros, and
	// need not be read. It is off itself where that is not known, and the size at most. One call looks only so far; to
	// ask again from there may get further.
	NextData(off int64) (int64, error)
	// Allocated returns the bytes that the piece takes on the disk.
	Allocated() (int64, error)
	// Stat returns the contents of the footer. It answers from memory.
	Stat() hemera.PieceStat
	// Pages that were verified and are still in memory can be sent without a copy; all others are read by ReadPages.
	zerocopy.Source
	// Verify reads all pages; it returns the offsets of bad ones (at most 1,000).
	Verify() (bad []int64, err error)
	// Close gives the piece back. Closing again is no error; other calls after it fail with BadHandle.
	Close() error
}

// Options are the settings of a disk. Zero values are good.
type Options struct {
	// Headroom is kept free, in bytes: below it the disk is full.
	Headroom int64
	Log      *slog.Logger
	Now      func() time.Time
	// Panics contains panics of the disk's own goroutines; it may be nil.
	Panics *contain.Panics
	// IdlePieces bounds the pieces without a reader that stay open, with their tables; 256 if 0.
	IdlePieces int // each has a descriptor
	// TableBlocks bounds the blocks of page CRCs that stay in memory, 4 KiB each for 4 MiB of data; 4096 if 0.
	TableBlocks int
	// PendingBlocks is the same for each piece being written; 256 if 0.
	PendingBlocks int
	// VerifiedBytes bounds the verified data that stays mapped for sendfile; 2 GiB if 0, nothing if negative.
	VerifiedBytes int64
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.IdlePieces == 0 {
		o.IdlePieces = 256
	}
	if o.TableBlocks == 0 {
		o.TableBlocks = 4096
	}
	if o.PendingBlocks == 0 {
		o.PendingBlocks = 256
	}
	if o.VerifiedBytes == 0 {
		o.VerifiedBytes = 2 << 30
	}
	return o
}
