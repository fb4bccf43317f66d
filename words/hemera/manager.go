package hemera

import (
	"context"
	"time"
)

// Errors of every service are *errs.Error. Unless a method says otherwise, nil means the change is
// durable, and a call that failed with a kind other than Timeout or Unavailable changed nothing.

// Names is the tree, as doors ask for it. Paths are absolute and clean ("/a/b"). A slash at the end ("/a/b/") says that the
// path is of a directory, here and in all services that take paths: NotDirectory if it is, or would be, a file's, but
// IsDirectory for an open that would make the file. All methods check what who may do and fail with Denied. Reads are
// answered from memory where the namespace has the records there, and block for the disk otherwise. A change blocks until
// it is durable.
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

// Directories lists directories page by page, by what they are rather than where: for long walks of large trees,
// which hold nothing between two pages and do not lose their way when a tree is moved. It blocks for the disk where
// memory does not have the records.
type Directories interface {
	// Page returns the next entries of a directory in byte order of names, and the name that the page
	// after it follows, "" when there is none. A directory that was removed is empty. Denied.
	Page(ctx context.Context, who Identity, p PageRequest) (entries []Entry, next string, err error)
}

// PageRequest asks for one page.
type PageRequest struct {
	// Dir is the directory as another page, List or Stat gave it to the same user.
	Dir Entry
	// Above is the directory that Dir was found in, which has to be traversed; a zero Entry for one
	// that Stat gave.
	Above Entry
	Path  string // of Dir, for errors to name it
	After string // the page begins with the first name after this one
	Limit int    // of names to look at; above 0
}

// Attributes changes what is known of an entry besides its content. Calls fail with NotFound and Denied as those of
// [Names] do. A change blocks until it is durable.
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

// Files opens files at the manager: every open ends in a grant, which sends the client to a node. Calls fail with
// NotFound, NotDirectory and Denied as those of [Names] do. They block for the namespace, and where a method says so
// for a node. Locks and grants are in memory of the manager: of an open nothing is durable. Move and Discard return
// when their change is durable.
type Files interface {
	// Open decides access, layout and placement. NoSpace, NoReplicas (Tried and Avoid cover all, or
	// none is online), Locked, Exists, IsDirectory, NotFound. A [NotYet] for what is likely to succeed soon.
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
	// the close that may be on its way, and else cancels the write, whose close then fails with Conflict.
	// NotFound if the process is not writing one; process and session are as in [OpenRequest].
	Discard(ctx context.Context, who Identity, path, process, session string) error
	// Locate lists where the file's pieces are now, best first.
	Locate(ctx context.Context, who Identity, path string) ([]Target, error)
	// Checksum returns the file's checksum of the kind (ChecksumNone: the policy's), having a node
	// compute it when it is not stored, which can take as long as reading the file.
	Checksum(ctx context.Context, who Identity, path string, kind ChecksumKind) (Checksum, error)
}

// Control has the calls of nodes to the manager. The node's identity comes from the transport. Calls block for a round
// trip, and for the manager's store where something changes. They fail with Timeout or Unavailable if the manager does
// not answer, with Fenced if the lease is over, and with Denied for a permit that is not good. Register and Commit are
// durable at return. Leases, locks and what writes claim of quotas are in memory of the manager.
type Control interface {
	// Register introduces a node and its disks after each start of either side. The reply's epoch
	// is the node's lease: calls with an older one fail with Fenced, and the node registers again.
	Register(ctx context.Context, hello NodeHello) (NodeWelcome, error)
	// Heartbeat renews the lease and reports.
	Heartbeat(ctx context.Context, node NodeID, epoch Epoch, report NodeReport) (HeartbeatReply, error)
	// Exchange delivers results of orders and waits, up to some seconds, for new ones.
	Exchange(ctx context.Context, node NodeID, epoch Epoch, results []OrderResult) (ExchangeReply, error)
	// Commit makes the content visible and durable; idempotent for one capability. It returns the mark of the store with the
	// content: see HeartbeatReply.Seen. Conflict: the file was rewritten or removed meanwhile; the caller removes its pieces.
	// After Timeout or Unavailable the caller does not know, and asks again with the same request.
	Commit(ctx context.Context, r CommitRequest) (seen []byte, err error)
	// Abort cancels a pending write, frees its lock and gives back what it claims of quotas. Unknown writes are no error.
	Abort(ctx context.Context, p *Permit) error
	// Keep frees the lock of a write whose client did not come back, and that its head keeps for a person. What it claims of quotas
	// becomes what its size bytes take, until its commit or abort, and for [KeptLifetime] and some minutes at most. The head may
	// say so again.
	Keep(ctx context.Context, p *Permit, size int64) error
	// Replace chooses other disks for pieces that failed while writing and signs a new capability
	// whose Targets hold the replacements in the failed pieces' places. failed also names the disks that earlier calls
	// replaced, for them not to be chosen again; there are at most PiecesMax. Without failed disks it signs the same again,
	// to be good for longer. NoSpace.
	Replace(ctx context.Context, p *Permit, failed []DiskID) (Grant, error)
	// Resolve returns the entry with the id, and its path now. It fails with NotFound.
	Resolve(ctx context.Context, id FileID) (Entry, string, error)
}

// OpenWrites has the call by which heads tell the manager which writes are under way at them. Locks, claims on quotas and counts of
// writes are in memory of the manager, so one that was started, or took over, has none of those that an earlier one granted.
type OpenWrites interface {
	// Announce has the manager hold again what the writes held: the names, what they claim of quotas, and the places among the writes
	// of their users. A write that it has already, or that ended meanwhile, changes nothing. One whose name another writer
	// has by now holds nothing: the first commit decides. A refused write is no error, as nothing is wrong with its
	// head. Nothing is durable. Announce blocks while the manager looks the files up. Fenced if the lease is over; after Timeout and
	// Unavailable the head says the same again. Unsupported by earlier managers.
	Announce(ctx context.Context, a Announcement) error
}

// Announcement is a part of the writes under way at a head. Their permits travel as tokens.
type Announcement struct {
	Node   NodeID
	Epoch  Epoch       // of the lease of Node
	Writes []OpenWrite // at most [AnnouncedMax]
	More   bool        // the node has more to say before all that it had at its registration is said
}

// OpenWrite is a write under way, as its head knows it.
type OpenWrite struct {
	Permit   *Permit       // by which the head has it
	Age      time.Duration // since its open at the head
	Size     int64         // as in [WriteState], as are those below
	Idle     time.Duration
	Attached bool
}

// AnnouncedMax bounds the writes in one [Announcement]: so many tokens of the largest size fit a message.
const AnnouncedMax = 512

// NodeDisk is a disk as a node found it.
type NodeDisk struct {
	UUID   string
	Path   string
	ID     DiskID    // zero: not added yet
	Space  SpaceName // wish for a new disk, "" for the default
	Health DiskHealth
	Why    string
	DiskStats
	// LastScrub is the time at which the node had read and verified all data of the disk; zero: never.
	LastScrub time.Time
	// Changes is the number in the disk's label, which only grows: a disk with a lower one than it had is an older copy. Nothing if the
	// disk is gone.
	Changes uint64
}

// NodeHello introduces a node. ID is zero the first time.
type NodeHello struct {
	ID      NodeID
	Addr    string // host:port of its xrd door
	Zone    string
	Version string
	Disks   []NodeDisk
	// Writes is the number of writes that the node announces when it is welcome, by [OpenWrites]. A node without any announces nothing.
	Writes int `cbor:",omitempty"`
	// Unclean: the node's process before this one did not end in good order.
	Unclean bool
	// Seen are the newest marks that managers gave the node, one after the other: see HeartbeatReply. There is one of each life
	// of a manager that gave some since the node was last welcome, at most [SeenMarksMax].
	Seen []byte
}

// NodeWelcome is the manager's answer: who the node is and what it needs to serve.
type NodeWelcome struct {
	ID          NodeID
	Epoch       Epoch
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
	// Node is whose key it is. Zero: the manager's own secret.
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
	// Ended: the node serves nothing more. Its lease ends with this report.
	Ended bool
	// Bad are pieces that reads and scrubs found bad since the last report, at most [BadPiecesMax].
	Bad []BadPiece
	// Writes answer those of the last reply.
	Writes []WriteState
	// Copies are the progress of the copies under way, at most [CopiesMax].
	Copies []CopyState
	// Network has the node's counts of its network; nil in most reports, as it samples every [NetworkInterval].
	Network *NetworkSample `cbor:",omitempty"`
}

// CopyState has the number of bytes of its piece that an order to copy has copied so far.
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
	// Over says that the write ended without a commit. It is no question: the node removes what clients made there of its pieces.
	Over bool `cbor:",omitempty"`
}

// WriteState is the report of a write's head on it.
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
	// Seen says how far the manager's store is, as do answers that acknowledge changes. The node keeps the newest, durably but
	// not at once, and shows it when it registers: a manager whose state is older than the cluster learns so. A mark has
	// [SeenMarkBytes]: 8 that name a life of the manager, the number of the last durable change, big endian, and 16 that prove
	// whose it is.
	Seen []byte
}

// Sizes of marks.
const (
	SeenMarkBytes = 32
	SeenMarksMax  = 16
)

// ExchangeReply has the next orders; none after the long poll's time.
type ExchangeReply struct {
	Orders []Order
	Seen   []byte `cbor:",omitempty"` // as in [HeartbeatReply]: what the orders follow from is in the store
}

// AttachDisk tells a node to use a path as a disk.
type AttachDisk struct {
	Path  string
	Space SpaceName
	// Folder accepts a directory that is not a filesystem of its own, as the mount point of a disk is that was not mounted.
	Folder bool
}

// CommitRequest has the head node's knowledge when all pieces are sealed.
type CommitRequest struct {
	Permit    *Permit // of the write; to another process it travels as its token
	Size      int64
	Checksums []Checksum
	Pieces    []Piece // sealed ones; at least the layout's minimum
	Mtime     time.Time
	Xattrs    map[string][]byte // set in addition to those there
	// XattrsGone are removed; one that is not there is none the less.
	XattrsGone []string `cbor:",omitempty" json:",omitempty"`
	// Left says that the client did not come back to close the file: Conflict if another write of the name is under way. A refusal is
	// not for ever then: the head keeps the pieces, and may ask again.
	Left bool `cbor:",omitempty" json:",omitempty"`
}

// OrderKind says what a node shall do. The numbers travel between versions.
type OrderKind uint8

// The orders.
const (
	OrderCopy      OrderKind = 1  // pull the piece from one of Sources onto Disk and seal it
	OrderRemove    OrderKind = 2  // remove the piece; missing is success
	OrderVerify    OrderKind = 3  // read the whole piece, check every page; compute Checksum if asked
	OrderInventory OrderKind = 4  // list sealed pieces of Disk after After, at most Limit
	OrderRepair    OrderKind = 5  // rewrite the bad pages of the piece from Sources
	OrderUses      OrderKind = 6  // list the files that are open, at most Limit, those that move most first; of no disk
	OrderCancel    OrderKind = 7  // stop the order Cancels, if it is one that can be stopped; has no answer
	OrderConvert   OrderKind = 8  // read the file that From permits, write it as Token permits, and commit; can be stopped
	OrderSum       OrderKind = 9  // read the whole file that Token permits and compute Checksum; can be stopped
	OrderMeasure   OrderKind = 10 // run Command, a measurement, on the node's machine; of no disk; can be stopped
	OrderLeft      OrderKind = 11 // list the writes here that no client has open, at most Limit, those that were left first; of no disk
	OrderEndLeft   OrderKind = 12 // commit or remove such a write; of no disk
)

// Order is one piece of background work for a node. A node runs orders of different disks in
// parallel and answers each exactly once while its epoch lasts; orders are idempotent.
type Order struct {
	ID       uint64
	Kind     OrderKind
	Piece    PieceID
	Disk     DiskID
	Sources  []Target
	Token    string // read capability for Sources; OrderConvert: the write's
	Checksum ChecksumKind
	After    PieceID
	Limit    int
	Cancels  uint64 `cbor:",omitempty"` // OrderCancel: the id of another order
	From     string `cbor:",omitempty"` // OrderConvert: the capability to read the content as it is
	// Command is for OrderMeasure: the words behind `hemera`. The node refuses what it does not know to be harmless.
	Command []string `cbor:",omitempty"`
	Nonce   uint64   `cbor:",omitempty"` // OrderEndLeft: of the write
	Commit  bool     `cbor:",omitempty"` // OrderEndLeft: commit the write, and do not remove it
}

// OrderResult answers one order. ErrKind, ErrText and, where a person can act, Remedy are set when it failed.
type OrderResult struct {
	ID        uint64
	Failed    bool
	ErrKind   uint8 // an errs.Kind
	ErrText   string
	Remedy    string `cbor:",omitempty"`
	Bytes     int64
	Checksums []Checksum
	Pieces    []PieceStat // OrderInventory, OrderVerify
	BadPages  int64
	Files     []OpenFile `cbor:",omitempty"` // OrderUses
	Measured  []byte     `cbor:",omitempty"` // OrderMeasure: what was measured, as JSON of the command
	// Left is for OrderLeft. A node knows neither its own address nor its number as the manager shows them.
	Left []WriteInfo `cbor:",omitempty"`
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
	// Owner is the file's owner and mode when the piece was made; nil for pieces of version 1, which do not know them.
	Owner *FileOwner `cbor:",omitempty" json:",omitempty"`
	// Kept: the write that made the piece was not closed by its client, and was not committed. See [SealInfo].
	Kept bool `cbor:",omitempty" json:",omitempty"`
}

// FileOwner is the owner of a file, and the mode for others. Pieces have it for the day on which the namespace is lost.
type FileOwner struct {
	UID, GID uint32
	Mode     uint32 // permission bits, 0 to 07777
}
