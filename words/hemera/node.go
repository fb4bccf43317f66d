package hemera

import (
	"context"
	"errors"
	"time"
)

// Node opens files and pieces at a storage node. Calls block for the disks, the nodes and the manager that they need;
// Unavailable or Timeout if those do not answer.
type Node interface {
	// Open verifies the permit and opens the file that it permits. A write that is pending here under the same
	// capability is opened again, with everything written so far. Denied for bad or expired permits; Conflict
	// for a caller that would continue a write that is not here any more.
	Open(ctx context.Context, p *Permit, o NodeOpen) (File, error)
	// OpenPiece opens one piece of the file that p permits, for another node or a client. A permit to write begins the
	// piece, or opens it again while it is pending; a piece that is sealed opens for reading. The head of the write takes the
	// place of what a client has begun, unless it adopts that, and no client opens what is the head's. Denied if the permit is
	// bad, expired or of another path, has no such piece on this node, or does not permit this caller the piece.
	OpenPiece(ctx context.Context, p *Permit, o PieceOpen) (PieceHandle, error)
	// Written describes the write that p permits, of the file at the path, as far as it is; an empty path
	// is not compared. The caller takes no part in the write. Denied for bad or expired permits, and for those of
	// another path.
	Written(ctx context.Context, p *Permit, path string) (FileInfo, error)
	// User returns the user that p names. Denied for bad or expired permits.
	User(ctx context.Context, p *Permit) (Identity, error)
}

// NodeOpen says how to open a file.
type NodeOpen struct {
	Truncate bool // begin a new file, or start a pending write over
	// Path is the path that the client asks for, which must be the capability's; "" where there is none to compare.
	Path string
}

// PieceOpen says which piece to open, and how.
type PieceOpen struct {
	Index    uint8
	Base     bool // the piece of the content that an update begins from, to read
	Truncate bool // start a pending piece over
	// Head is the proof that the caller is the head of a write, "" for others: readers, and clients that send their
	// pieces themselves. Adopt has the head take a piece that such a client offers, instead of making its own.
	Head  string
	Adopt bool
	// Path is the path of the file, which must be the capability's unless that has none.
	Path string
}

// Handle has the methods that an open file and an open piece have in common. Reads are verified: no byte that does not
// match its page's checksum is ever returned. Pages are aligned to offsets in the content, so the first and the last
// fragment of a range may be short. Methods may be called concurrently. Calls but Info block for disks and other nodes,
// for a bounded time: a device that does not answer is left. They fail with IO, Corrupt or Unavailable when no piece is
// left to use, and with BadHandle after the end.
type Handle interface {
	// ReadPages reads as io.ReaderAt does: fewer bytes than asked only at the end, with io.EOF. If sums is not
	// nil it receives the CRC32C of each page fragment, and must have room for all of them.
	ReadPages(p []byte, sums []uint32, off int64) (int, error)
	// WritePages writes; holes read as zeros. The caller may reuse p and sums when it returns. If sums is not nil it
	// holds the CRC32C of each page fragment, which the caller has verified: the disk keeps them. Nil means accepted,
	// not durable. NoSpace and OverQuota: there is no room for more.
	WritePages(p []byte, sums []uint32, off int64) error
	// Truncate sets the size; what is new reads as zeros. The size is durable as what is written is: after a Sync, or
	// at the end.
	Truncate(size int64) error
	// Sync makes all that was accepted durable, in pieces that stay pending.
	Sync(ctx context.Context) error
	// Info describes the content as it is now. It does not wait for a device or another node.
	Info() FileInfo
}

// KeepsBuffers reports whether a call to a [Handle] that failed with err may still be using the buffers that it was
// given, as a device has not answered. Then the caller must drop them: it does not write to them, does not reuse
// them, and does not put them back into a pool. To read again, into other buffers, may succeed.
func KeepsBuffers(err error) bool {
	var keeper interface{ KeepsBuffers() bool }
	return errors.As(err, &keeper) && keeper.KeepsBuffers()
}

// Ending is the fate of a pending write or piece when a handle on it ends. Handles that only read end in the same way
// whatever it is.
type Ending uint8

// The endings.
const (
	// EndClose is the client's close. A file is sealed and committed: nil means durable and visible, any error
	// that nothing became visible. A sealed piece is the file's from now on; an unsealed one stays pending.
	EndClose Ending = iota
	// EndDetach keeps what is pending for [PendingHold], for its client or head to come back; the same token
	// opens it again at once. It never fails.
	EndDetach
	// EndAbort removes what is pending, sealed pieces that are not committed included.
	EndAbort
)

// File is one open file at a node, as clients have it.
type File interface {
	Handle
	// End ends all use of this handle. A second call fails with BadHandle. A close blocks until the content is
	// committed.
	End(ctx context.Context, how Ending) error
	// Shared reports whether other handles have the pending write open. While it is shared one of those is
	// to commit it, and this one can be detached.
	Shared() bool
}

// PieceHandle is one open piece at a node, as other nodes have it: offsets and sizes are the piece's. It does
// not look for other pieces when it fails; the reader or head at the other node does.
type PieceHandle interface {
	Handle
	// Seal ends writing to the piece and returns when it is sealed, and durable if s says so. Called again it
	// returns the same, and changes nothing but whether the piece is kept. Corrupt if the piece has another checksum than s says. Denied
	// for a committed piece, and to clients: they offer theirs ([Offerer]).
	Seal(ctx context.Context, s SealInfo) (PieceStat, error)
	// End ends all use of this handle. A second call fails with BadHandle. It blocks for the disk.
	End(ctx context.Context, how Ending) error
}

// Offerer is a [PieceHandle] of a client that makes the piece itself, as clients of direct writes do.
type Offerer interface {
	// Offer ends writing to the piece: the head of the write may take it from now on, have it proved and seal it. Called again
	// with the same values it returns the same. Invalid if the piece has another size than s says, Denied once the head has it.
	// It blocks for the disk. The piece is durable when its head has sealed it.
	Offer(ctx context.Context, s SealInfo) error
}

// Cloner is a [PieceHandle] of a piece of an update, which can begin as a copy of a piece of the update's base.
type Cloner interface {
	// Clone gives a piece that nothing was written to the first size bytes of the base's piece on the same disk, with the
	// checksums that those have there; where the filesystem can, the pieces share blocks. It may take as long as a copy of the
	// piece. NotFound, Corrupt, Invalid or Unsupported: the piece is as it was, and its content can be written. After other
	// errors it is of no use. The copy is durable as what is written is: after a Sync, or at the end.
	Clone(ctx context.Context, size int64) error
}

// Refusal implements the calls of [Handle] for a handle that cannot serve them: each fails with Err. Handles
// embed it and override what they can do.
type Refusal struct{ Err error }

// ReadPages fails.
func (r Refusal) ReadPages([]byte, []uint32, int64) (int, error) { return 0, r.Err }

// WritePages fails.
func (r Refusal) WritePages([]byte, []uint32, int64) error { return r.Err }

// Truncate fails.
func (r Refusal) Truncate(int64) error { return r.Err }

// Sync fails.
func (r Refusal) Sync(context.Context) error { return r.Err }

// FileInfo describes the file of a handle.
type FileInfo struct {
	ID       FileID
	Gen      Generation
	Path     string
	Size     int64
	Mtime    time.Time
	Mode     uint32
	UID, GID uint32
	Writable bool
	Sums     []Checksum // committed ones; nil while writing
	OnTape   bool       // of a file that is read: see [Capability.OnTape]
}

// Sparse is a [Handle] that knows where it holds nothing but zeros. Calls block for the disk or the node that has the
// content, and fail only if that does.
type Sparse interface {
	// NextData returns where data may begin, at or after off: what lies between is zeros, for certain, and need
	// not be read. It is off itself where that is not known, and the size at most. One call searches a bounded
	// range only; another call from the result may get further.
	NextData(off int64) (int64, error)
	// Allocated returns how many bytes the content takes on its disk: fewer than its size where it has holes.
	Allocated() (int64, error)
}

// Lender is a [Handle] that may have read ahead of its caller, and lends what it has then, so that it is not copied.
type Lender interface {
	// Lend returns up to n bytes at off that were read ahead, or none: then ReadPages reads them. It waits for what is being
	// read now. The caller calls Return of a loan with bytes once.
	Lend(off, n int64) Loan
}

// Loan is verified content in the memory of a [Lender]. It is not to be changed, and not to be used after Return.
type Loan struct {
	Data   []byte
	Sums   []uint32 // the CRC32C of each page fragment of Data
	Return func()
}

// SealInfo has the fields of a piece's footer that the piece does not know itself.
type SealInfo struct {
	FileSize  int64
	Checksums []Checksum
	Sync      bool
	// Piece is the CRC32C of the piece's own bytes, as its writer sent them; of no kind if that is not known.
	Piece Checksum
	// Kept says in the footer that the write is not committed: its client did not close it, and a person decides. A
	// rebuild of the namespace makes no file of such pieces. A second seal of the piece by its head changes that alone.
	Kept bool
}

// XattrSetter is a pending write that carries changes of attributes into its commit. A nil value is the removal
// of the attribute.
type XattrSetter interface {
	SetXattr(name string, value []byte)
	Xattrs() map[string][]byte
}
