package device

import (
	"context"
	"time"
)

// What follows are features that only some drives have. A loaded Tape that has one implements its interface, or has a method Unwrap() Tape that
// returns a Tape with it; callers ask [Feature].

// Feature returns the feature F of a tape, and false where it has none.
func Feature[F any](t Tape) (feature F, ok bool) {
	for t != nil {
		if feature, ok = t.(F); ok {
			return feature, true
		}
		outer, ok := t.(interface{ Unwrap() Tape })
		if !ok {
			break
		}
		t = outer.Unwrap()
	}
	return feature, false
}

// Protector has logical block protection: CRC32C behind each block on the way between host and drive (SSC-5, annex D). The drive checks
// what it gets and what it reads back; the bytes of a block are the same for callers with and without.
type Protector interface {
	// Protectable reports whether the drive offers it.
	Protectable() bool
	// Protect switches it on or off, for reading and writing. It blocks for the drive. Unsupported if the drive does not offer it.
	Protect(ctx context.Context, read, write bool) error
}

// Encrypter encrypts in the drive, AES-256 with GCM, while a key is set (SPIN and SPOUT of SCSI). Blocks that were written without a key are
// read all the same. A block of another key, or of any key while none is set, fails with ErrEncrypted, which names the key where the tape says
// it. Calls block for the drive. Keys are in memory of the drive, and end with a power cut.
type Encrypter interface {
	// SetKey returns nil only when the drive has said that it encrypts. The key is gone after Unload, and a Load begins without one. Unsupported when
	// the drive cannot encrypt, Invalid for a key of another size.
	SetKey(ctx context.Context, key Key) error
	// ClearKey returns nil when the drive writes in clear. Without a key it does nothing.
	ClearKey(ctx context.Context) error
}

// Key is a key of AES-256.
type Key struct {
	Secret []byte // KeySize bytes
	// Name stands in clear beside each block (key-associated data), where the drive takes it; at most KeyNameMax bytes.
	Name string
}

// The bounds of a [Key], in bytes. That of names is what LTO drives take.
const (
	KeySize    = 32
	KeyNameMax = 32
)

// Orderer recommends an order of accesses that travels little (RAO of SSC-5). Calls block for the drive and fail as those of [Drive] do.
type Orderer interface {
	// OrderMax returns the number of segments that one call takes, 0 when the drive or its cartridge cannot order them.
	OrderMax(ctx context.Context) (int, error)
	// Order returns the indexes of the segments in the order to read them from where the tape stands. It fails if there are more than OrderMax
	// allows, with TooLarge if there are very many.
	Order(ctx context.Context, segments []Segment) ([]int, error)
}

// Segment is a range of objects, End excluded.
type Segment struct{ Begin, End uint64 }

// Monitor says how a drive is. Calls block for the drive, behind a command that it works on. They fail when the tape was
// unloaded, and with ErrHardware when the drive is broken.
type Monitor interface {
	// Alerts are the TapeAlert flags that are raised, by number (1 to 64), and clears them.
	Alerts(ctx context.Context) ([]int, error)
	// Counters since the last Load.
	Counters(ctx context.Context) (Counters, error)
}

// Counters are the counts of a drive since one load.
type Counters struct {
	BytesRead, BytesWritten       int64
	BlocksRead, BlocksWritten     int64
	ErrorsRead, ErrorsWritten     int64 // that were corrected
	BackHitches                   int64 // stops in the middle of a stream, with the tape going back for a new start
	Moving, Stopped, Repositioned time.Duration
}
