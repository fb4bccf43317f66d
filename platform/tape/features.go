package tape

import (
	"context"
	"time"
)

// What follows are features that only some drives have. A loaded Tape that has one implements its interface; callers assert the type.

// Protector has logical block protection: CRC32C behind each block on the way between host and drive (SSC-5, annex D). The drive checks
// what it gets and what it reads back; the bytes of a block are the same for callers with and without.
type Protector interface {
	// Protectable reports whether the drive offers it.
	Protectable() bool
	// Protect switches it on or off, for reading and writing.
	Protect(ctx context.Context, read, write bool) error
}

// Encrypter encrypts in the drive, AES-256, while a key is set (SPIN and SPOUT of SCSI).
type Encrypter interface {
	// SetKey takes 32 bytes. The key is gone after Unload.
	SetKey(ctx context.Context, key []byte) error
	ClearKey(ctx context.Context) error
}

// Orderer recommends an order of accesses that travels little (RAO of SSC-5).
type Orderer interface {
	// OrderMax is how many segments one call takes, 0 when the drive or its cartridge cannot.
	OrderMax(ctx context.Context) (int, error)
	// Order returns the indexes of the segments in the order to read them from where the tape stands.
	Order(ctx context.Context, segments []Segment) ([]int, error)
}

// Segment is a range of objects, End excluded.
type Segment struct{ Begin, End uint64 }

// Monitor says how a drive is.
type Monitor interface {
	// Alerts are the TapeAlert flags that are raised, by number (1 to 64), and clears them.
	Alerts(ctx context.Context) ([]int, error)
	// Counters since the last Load.
	Counters(ctx context.Context) (Counters, error)
}

// Counters is what a drive counts of one load.
type Counters struct {
	BytesRead, BytesWritten       int64
	BlocksRead, BlocksWritten     int64
	ErrorsRead, ErrorsWritten     int64 // that were corrected
	BackHitches                   int64 // stops in the middle of a stream, with the tape going back for a new start
	Moving, Stopped, Repositioned time.Duration
}
