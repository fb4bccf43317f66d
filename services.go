package hemera

import (
	"context"
	"errors"
	"time"
)

// Errors of every service are *errs.Error. Unless a method says otherwise, nil means the change is
// durable, and a call that failed with a kind other than Timeout or Unavailable changed nothing.

// Names is the tree, as doors ask for it. Paths are absolute and clean ("/a/b"). All methods check
// what who may do and fail with Denied.
type Names interface {
	// Stat returns the entry. NotFound, NotDirectory (a component is a file).
	Stat(ctx context.Context, who Identity, path string) (Entry, error)
	// List calls visit for each entry of the directory in byte order of names, with bounded memory.
	// Entries made or removed meanwhile may or may not be seen. It ends with visit's error, if any.
	List(ctx context.Context, who Identity, path string, visit func(Entry) error) error
	// Mkdir makes a directory. With parents, missing parents are made and an existing directory is
	// no error; without, Exists.
	Mkdir(ctx context.Context, who Identity, path string, mode uint32, parents bool) (Entry, error)
	// Rename moves a file or a whole tree in O(1); an existing file at the target is replaced.
	// IsDirectory if the target is a directory; Invalid if a tree would move below itself.
	// Missing parents of the target are NotFound.
	Rename(ctx context.Context, who Identity, from, to string) error
	// Publish moves a whole file from the name it was written under to the name it is for. It is one
	// change: Conflict if the file is not what p says, Exists if the target is taken and not to be
	// replaced, Unsupported if the file's checksum of that kind is not stored. Else as Rename.
	Publish(ctx context.Context, who Identity, p Publication) error
	// Remove removes a file or an empty directory. kind zero takes either; else IsDirectory or
	// NotDirectory when it is the other. NotEmpty.
	Remove(ctx context.Context, who Identity, path string, kind EntryKind) error
}

// Publication is a file to be moved to its final name, and what it must be.
type Publication struct {
	From, To string
	Size     int64
	Sum      Checksum // of kind ChecksumNone: any content will do
	Replace  bool     // a file at To
}

// Directories lists directories page by page, by what they are rather than where: for long walks of
// large trees, which hold nothing between two pages and do not lose their way when a tree is moved.
type Directories interface {
	// Page returns the next entries of a directory in byte order of names, and the name that the page
	// after it follows, "" when there is none. A directory that was removed is empty. Denied.
	Page(ctx context.Context, who Identity, p PageRequest) (entries []Entry, next string, err error)
}

// PageRequest asks for one page.
type PageRequest struct {
	// Dir is the directory as another page, List or Stat gave it, to whoever asks now.
	Dir Entry
	// Above is the directory that Dir was found in, which has to be traversed; a zero Entry for one
	// that Stat gave.
	Above Entry
	Path  string // of Dir, for errors to name it
	After string // the page begins with the first name after this one
	Limit int    // of names to look at; above 0
}

// Attributes changes what is known of an entry besides its content.
type Attributes interface {
	SetMode(ctx context.Context, who Identity, path string, mode uint32) error
	// SetOwner takes -1 for "leave".
	SetOwner(ctx context.Context, who Identity, path string, uid, gid int64) error
	SetTimes(ctx context.Context, who Identity, path string, mtime time.Time) error
	// SetXattr sets one attribute; createOnly fails with Exists when it is there. Names keep their
	// namespace prefix ("user.", "sys."); "sys." needs an admin or the directory's owner.
	SetXattr(ctx context.Context, who Identity, path, name string, value []byte, createOnly bool) error
	// RemoveXattr fails with NoAttribute when it is not set.
	RemoveXattr(ctx context.Context, who Identity, path, name string) error
}

// Files opens files at the manager: every open ends in a grant, which sends the client to a node.
type Files interface {
	// Open decides access, layout and placement. NoSpace, NoReplicas (Tried and Avoid cover all, or
	// none is online), Locked, Exists, IsDirectory, NotFound.
	Open(ctx context.Context, who Identity, r OpenRequest) (Grant, error)
	// Pending is the write that the process has under way at the path, and the file as its writer knows it, but
	// for the size, which the grant's node knows. known is what Stat gave, a zero Entry where nothing is
	// visible. NotFound if there is no such write; process is as in [OpenRequest].
	Pending(ctx context.Context, who Identity, path, process string, known Entry) (Grant, Entry, error)
	// PendingIn are the files of a directory that the process is making, and that are not visible yet.
	PendingIn(ctx context.Context, who Identity, dir, process string) ([]Entry, error)
	// Move is Rename of a file that the process may be writing: it waits for the close that may be on its way, for some
	// seconds at most. A write that stays open goes on under the new name, if that is free and in the same directory.
	Move(ctx context.Context, who Identity, from, to, process string) error
	// Discard removes the file that the process is writing at the path, where none is visible yet: it waits for
	// the close that may be on its way, and else gives the write up, whose close then fails with Conflict.
	// NotFound if the process is not writing one; process and session are as in [OpenRequest].
	Discard(ctx context.Context, who Identity, path, process, session string) error
	// Locate lists where the file's pieces are now, best first.
	Locate(ctx context.Context, who Identity, path string) ([]Target, error)
	// Checksum returns the file's checksum of the kind (ChecksumNone: the policy's), having a node
	// compute it when it is not stored, which can take as long as reading the file.
	Checksum(ctx context.Context, who Identity, path string, kind ChecksumKind) (Checksum, error)
}

// Control is what nodes ask of the manager. The node's identity comes from the transport.
type Control interface {
	// Register introduces a node and its disks after each start of either side. The reply's epoch
	// is the node's lease: calls with an older one fail with Fenced, and the node registers anew.
	Register(ctx context.Context, hello NodeHello) (NodeWelcome, error)
	// Heartbeat renews the lease and reports.
	Heartbeat(ctx context.Context, node NodeID, epoch uint64, report NodeReport) (HeartbeatReply, error)
	// Exchange delivers results of orders and waits, up to some seconds, for new ones.
	Exchange(ctx context.Context, node NodeID, epoch uint64, results []OrderResult) ([]Order, error)
	// Commit makes the content visible and durable; idempotent for one capability. Conflict: the
	// file was rewritten or removed meanwhile; the caller removes its pieces. After Timeout or
	// Unavailable the caller does not know, and asks again with the same request.
	Commit(ctx context.Context, r CommitRequest) error
	// Abort gives up a pending write and frees its lock. Unknown writes are no error.
	Abort(ctx context.Context, p *Permit) error
	// Replace chooses other disks for pieces that failed while writing and signs a new capability
	// whose Targets hold the replacements in the failed pieces' places. NoSpace.
	Replace(ctx context.Context, p *Permit, failed []DiskID) (Grant, error)
	// Resolve returns the entry with the id, and its path now.
	Resolve(ctx context.Context, id FileID) (Entry, string, error)
}

// NodeDisk is a disk as a node found it.
type NodeDisk struct {
	UUID   string
	Path   string
	ID     DiskID // zero: not added yet
	Space  string // wish for a new disk, "" for the default
	Health DiskHealth
	Why    string
	// Filesystem is as in [Disk].
	Filesystem uint64
	Capacity   int64
	Used       int64
	Free       int64
	Pieces     int64
	// Inodes and InodesFree are as in [Disk].
	Inodes, InodesFree int64
	Load               DiskLoad
	// LastScrub is when the node had read and verified all data of the disk; zero: never.
	LastScrub time.Time
}

// NodeHello introduces a node. ID is zero the first time.
type NodeHello struct {
	ID      NodeID
	Addr    string // host:port of its xrd door
	Zone    string
	Version string
	Disks   []NodeDisk
	// Unclean: the node's process before this one did not end in good order.
	Unclean bool
	// Seen is the newest mark that a manager gave the node, to be shown unread: see HeartbeatReply.
	Seen []byte
}

// NodeWelcome is the manager's answer: who the node is and what it needs to serve.
type NodeWelcome struct {
	ID          NodeID
	Epoch       uint64
	DiskIDs     map[string]DiskID // by UUID
	Keys        []Key             // the node's own
	Barred      []NodeID          // removed a short time ago: what is for them too is not opened
	ManagerAddr string            // the manager's xrd door, where nodes send clients that ask for names
	Headroom    map[DiskID]int64
	Seen        []byte // as in [HeartbeatReply]
}

// Key is one secret of capabilities. The manager's sign and verify for all nodes; a node's, made of one of them,
// verifies what is for that node and nothing else.
type Key struct {
	ID     uint32
	Secret []byte
	// Node is whose key it is. Zero: the manager's own secret, or one that a manager before 0.2 shares with all
	// its nodes.
	Node NodeID
}

// NodeReport is one heartbeat's content.
type NodeReport struct {
	// Clock is the node's, as it sends the report; zero from nodes that do not tell.
	Clock time.Time
	Stats NodeStats
	Disks []NodeDisk
	// Stopping: the node is about to stop. It takes no new writes.
	Stopping bool
	// Bad are pieces that reads and scrubs found bad since the last report, at most [BadPiecesMax].
	Bad []BadPiece
	// Writes answer those of the last reply.
	Writes []WriteState
	// Copies are how far the copies under way are, at most [CopiesMax].
	Copies []CopyState
}

// CopyState is how many bytes of its piece an order to copy has copied so far.
type CopyState struct {
	Order uint64
	Bytes int64
}

// CopiesMax bounds the copies in one report.
const CopiesMax = 1024

// BadPiecesMax bounds the bad pieces in one report.
const BadPiecesMax = 256

// BadPiece names a piece on a disk that was found to be bad, missing or another's.
type BadPiece struct {
	Disk  DiskID
	Piece PieceID
}

// WriteRef names a write under way.
type WriteRef struct {
	File  FileID
	Gen   Generation
	Nonce uint64
}

// WriteState is what the head of a write says of it.
type WriteState struct {
	Nonce    uint64
	Pending  bool // it is under way here; otherwise nothing else is said
	Attached bool // a client has it open
	Size     int64
	Idle     time.Duration // since a client last did something with it
}

// HeartbeatReply carries what may have changed for the node.
type HeartbeatReply struct {
	Keys     []Key
	Barred   []NodeID
	Headroom map[DiskID]int64
	Attach   []AttachDisk // disks an admin added for this node
	Detach   []DiskID
	// Writes are those that the manager asks about: the node says in its next heartbeat what it knows.
	Writes []WriteRef
	// Seen says how far the manager's store is. The node keeps the newest, durably but not at once, and shows it
	// when it registers: a manager whose state is older than the cluster learns so.
	Seen []byte
}

// AttachDisk tells a node to use a path as a disk.
type AttachDisk struct {
	Path  string
	Space string
	// Folder accepts a directory that is no filesystem of its own: of one that somebody forgot to mount.
	Folder bool
}

// CommitRequest is what the head node knows when all pieces are sealed.
type CommitRequest struct {
	Permit    *Permit // of the write; to another process it travels as its token
	Size      int64
	Checksums []Checksum
	Pieces    []Piece // sealed ones; at least the layout's minimum
	Mtime     time.Time
	Xattrs    map[string][]byte // set in addition to those there
	// XattrsGone are removed; one that is not there is none the less.
	XattrsGone []string `cbor:",omitempty" json:",omitempty"`
}

// OrderKind says what a node shall do. The numbers travel between versions.
type OrderKind uint8

// The orders.
const (
	OrderCopy      OrderKind = 1 // pull the piece from one of Sources onto Disk and seal it
	OrderRemove    OrderKind = 2 // remove the piece; missing is success
	OrderVerify    OrderKind = 3 // read the whole piece, check every page; compute Checksum if asked
	OrderInventory OrderKind = 4 // list sealed pieces of Disk after After, at most Limit
	OrderRepair    OrderKind = 5 // rewrite the bad pages of the piece from Sources
	OrderUses      OrderKind = 6 // list the files that are open, at most Limit, those that move most first; of no disk
	OrderCancel    OrderKind = 7 // stop the order Cancels, if it is one that can be stopped; has no answer
)

// Order is one piece of background work for a node. A node runs orders of different disks in
// parallel and answers each exactly once while its epoch lasts; orders are idempotent.
type Order struct {
	ID       uint64
	Kind     OrderKind
	Piece    PieceID
	Disk     DiskID
	Sources  []Target
	Token    string // read capability for Sources
	Checksum ChecksumKind
	After    PieceID
	Limit    int
	Cancels  uint64 `cbor:",omitempty"` // OrderCancel: the id of another order
}

// OrderResult answers one order. ErrKind and ErrText are set when it failed.
type OrderResult struct {
	ID        uint64
	Failed    bool
	ErrKind   uint8 // an errs.Kind
	ErrText   string
	Bytes     int64
	Checksums []Checksum
	Pieces    []PieceStat // OrderInventory, OrderVerify
	BadPages  int64
	Files     []OpenFile `cbor:",omitempty"` // OrderUses
}

// PieceStat describes a sealed piece.
type PieceStat struct {
	ID        PieceID
	Size      int64 // bytes of data
	FileSize  int64 // of the whole file
	Layout    Layout
	Checksums []Checksum // of the whole file
	Path      string     // the file's path when it was made
	Sealed    time.Time
}

// Node opens files and pieces at a storage node.
type Node interface {
	// Open verifies the permit and opens the file that it permits. A write that is pending here under the same
	// capability is opened again, with everything written so far. Denied for bad or expired permits; Conflict
	// for a caller that would continue a write that is not here any more.
	Open(ctx context.Context, p *Permit, o NodeOpen) (File, error)
	// OpenPiece opens one piece of the file that p permits, for another node. A permit to write begins the
	// piece, or opens it again while it is pending; a piece that is sealed opens for reading. Denied if the
	// permit is bad or expired, or has no such piece on this node.
	OpenPiece(ctx context.Context, p *Permit, o PieceOpen) (PieceHandle, error)
	// Written describes the write that p permits, of the file at the path, as far as it is; an empty path
	// is not compared. The caller takes no part in the write. Denied for bad or expired permits, and for those of
	// another path.
	Written(ctx context.Context, p *Permit, path string) (FileInfo, error)
}

// NodeOpen says how to open a file.
type NodeOpen struct {
	Truncate bool // begin a new file, or start a pending write over
	// Path is what the client asks for, which must be the capability's; "" where there is none to compare.
	Path string
}

// PieceOpen says which piece to open, and how.
type PieceOpen struct {
	Index    uint8
	Base     bool // the piece of the content that an update begins from, to read
	Truncate bool // start a pending piece over
}

// Handle is what an open file and an open piece have in common. Reads are verified: no byte that does not
// match its page's checksum is ever returned. Pages are aligned to offsets in the content, so the first and
// the last fragment of a range may be short. Methods may be called concurrently.
type Handle interface {
	// ReadPages reads as io.ReaderAt does: fewer bytes than asked only at the end, with io.EOF. If sums is not
	// nil it receives the CRC32C of each page fragment, and must have room for all of them.
	ReadPages(p []byte, sums []uint32, off int64) (int, error)
	// WritePages writes; holes read as zeros. The caller may reuse p and sums when it returns. If sums is not
	// nil it holds the CRC32C of each page fragment, which the caller has verified: the disk keeps them.
	// Nil means accepted, not durable.
	WritePages(p []byte, sums []uint32, off int64) error
	// Truncate sets the size; what is new reads as zeros.
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

// Ending is what becomes of a pending write or piece when a handle on it ends. Handles that only read end in
// the same way whatever it is.
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
	// End ends all use of this handle. A second call fails with BadHandle.
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
	// returns the same. Denied for a piece that was opened sealed.
	Seal(ctx context.Context, s SealInfo) (PieceStat, error)
	// End ends all use of this handle. A second call fails with BadHandle.
	End(ctx context.Context, how Ending) error
}

// Refusal implements the calls of [Handle] for a handle that cannot serve them: each fails with Err. Handles
// embed it and override what they can do.
type Refusal struct{ Err error }

// ReadPages is refused.
func (r Refusal) ReadPages([]byte, []uint32, int64) (int, error) { return 0, r.Err }

// WritePages is refused.
func (r Refusal) WritePages([]byte, []uint32, int64) error { return r.Err }

// Truncate is refused.
func (r Refusal) Truncate(int64) error { return r.Err }

// Sync is refused.
func (r Refusal) Sync(context.Context) error { return r.Err }

// FileInfo is what a handle knows.
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
}

// Sparse is a [Handle] that knows where it holds nothing but zeros.
type Sparse interface {
	// NextData returns where data may begin, at or after off: what lies between is zeros, for certain, and need
	// not be read. It is off itself where that is not known, and the size at most. One call searches a bounded
	// range only; another call from the result may get further.
	NextData(off int64) (int64, error)
	// Allocated returns how many bytes the content takes on its disk: fewer than its size where it has holes.
	Allocated() (int64, error)
}

// SealInfo is what the footer of a piece must say beyond what the piece knows.
type SealInfo struct {
	FileSize  int64
	Checksums []Checksum
	Sync      bool
}

// XattrSetter is a pending write that carries changes of attributes into its commit. A nil value is the removal
// of the attribute.
type XattrSetter interface {
	SetXattr(name string, value []byte)
	Xattrs() map[string][]byte
}
