package hemera

import (
	"strings"
	"time"
)

// Access is the access that a capability permits.
type Access uint8

// The kinds of access.
const (
	AccessRead   Access = 1
	AccessCreate Access = 2 // a new content, from nothing
	AccessUpdate Access = 3 // a new content, beginning as a copy of Base
)

// Target is one piece and where it is, or is to be.
type Target struct {
	Index uint8
	Disk  DiskID
	Node  NodeID
	Addr  string // host:port of the node's xrd door
}

// Base is the committed content an update begins from.
type Base struct {
	Gen    Generation
	Size   int64
	Pieces []Target
}

// Capability is the permission a redirect carries: signed by the manager for the nodes that it names, verified by them, never
// stored. It holds everything a node must know, so that a commit works even when the manager was
// restarted in between. The same capability opens the file at its head and each piece at its node.
type Capability struct {
	File      FileID
	Gen       Generation // read: the committed one; write: the one being made
	Parent    FileID     // where the name will be, even if a directory above is renamed meanwhile
	Name      string
	Path      string // as it was at the open, for logs and footers
	Access    Access
	Layout    Layout
	Checksums []ChecksumKind // computed while writing; the first is the policy's
	PiecesMin uint8
	Sync      bool
	Space     SpaceName
	Size      int64 // read: the file's; write: the client's hint, or 0
	Mode      uint32
	Targets   []Target   // in order of preference; the first is the head
	Base      *Base      // AccessUpdate only
	BaseGen   Generation // write: the generation its commit replaces; zero: the file is new
	Force     bool       // write: its commit replaces whatever generation is there
	Convert   bool       // write: the same content in another form; its commit changes nothing but that
	Sums      []Checksum // the committed checksums of what is read; of an update: of Base
	Who       Identity
	Expires   time.Time
	Trace     string
	// Nonce tells two grants of one file apart: the lock a pending write holds.
	Nonce uint64
	// Epoch is the head's lease when this was signed. A head that was started since cannot have the
	// write's earlier content: it refuses to go on with it, so that it does not commit a file with holes. Zero
	// is not checked.
	Epoch Epoch
	// SizeMax bounds the size that the write may give the file; zero: no bound but [FileSizeMax].
	SizeMax int64
	// Head is the node that gathers the write and alone may commit it, whatever targets it is given later. See [Capability.HeadNode].
	Head NodeID
	// Owner is the file's owner for the footers of pieces; nil says nothing.
	Owner *FileOwner
	// Replaces is the file whose place the new one takes with the commit, where replaced content is kept; else zero, and
	// File keeps its id.
	Replaces FileID
	// OnTape says of a read that tape may give the content when no piece does: the manager has it recalled then. See [OpenRequest.NoPiece].
	OnTape bool
}

// ClientWrites reports whether a client may make the pieces of the write itself, for the head to take: those of a new coded content.
func (c *Capability) ClientWrites() bool {
	return c.Access == AccessCreate && c.Layout.Coded() && c.Base == nil && !c.Convert
}

// HeadNode returns the node that gathers the write: Head, or the first target's where none is named. Zero for one
// without targets.
func (c *Capability) HeadNode() NodeID {
	if c.Head != 0 || len(c.Targets) == 0 {
		return c.Head
	}
	return c.Targets[0].Node
}

// WholePath returns Path, or "" if no client could ask for it: it may be the end of a longer one only, or names what is in a recycle bin.
func (c *Capability) WholePath() string {
	if len(c.Path) == PathMax || !strings.HasPrefix(c.Path, "/") {
		return ""
	}
	return c.Path
}

// Grant is the manager's answer to an open: go to Addr and show the token of Permit there.
type Grant struct {
	Addr   string // host:port of the xrd door of the permit's first target
	Permit *Permit
}

// OpenRequest asks for an existing file, or a new one, or new content of an existing one.
type OpenRequest struct {
	Path   string
	Access Access
	// Create: how a file that exists (Exclusive: refuse) and missing parents are treated, and the
	// new file's mode.
	Exclusive bool
	Parents   bool
	Mode      uint32
	Size      int64 // expected, or 0
	// Force opens for writing even if another writer holds the file: the later commit wins.
	Force bool
	// Layout and checksum the client asks for; honoured where the directory does not force others.
	Wish Wish
	// Session is the client's login session, and Ended are earlier ones whose place it has taken, as the
	// client itself said. Both are secrets of the client: they prove that it comes back to a write of its
	// own. Empty where a door has no sessions.
	Session string
	Ended   []string
	// Process names the process that asks, and its machine, as far as a door knows: an open waits for a write of its own
	// process to end, whose close may be on its way. Empty: nobody waits.
	Process string
	// Join asks for the write of the same process, if there is one under way, instead of another.
	Join bool
	// Tried are the nodes the client already failed at, and Avoid the disks it was sent to there, as far
	// as they are known. Where nothing else is left, other disks of these nodes will do.
	Tried []NodeID
	Avoid []DiskID
	// Again asks for the content that an earlier grant was for, by a reader that comes back; the path is
	// for messages then. Conflict when it is gone.
	Again *Content
	// Unchanged, if set, refuses with Conflict to read a file that has changed since, or whose name or
	// directories have.
	Unchanged time.Time
	// NoPiece is the time at which a node found no good piece of the file, as a reader says that was sent back by it;
	// zero: no node did. A file that is on tape is recalled for it, once other nodes' reports say the same.
	NoPiece time.Time
}

// Content is one content of a file as a reader was granted it: what a later grant of the same needs when
// the file has another, or is removed.
type Content struct {
	File   FileID
	Gen    Generation
	Parent FileID
	Name   string
	Layout Layout
	Space  SpaceName
	Size   int64
	Mode   uint32
	Sums   []Checksum
	Pieces []Piece
}

// Content returns the content that a capability to read is for.
func (c *Capability) Content() *Content {
	out := &Content{File: c.File, Gen: c.Gen, Parent: c.Parent, Name: c.Name, Layout: c.Layout, Space: c.Space,
		Size: c.Size, Mode: c.Mode, Sums: c.Sums, Pieces: make([]Piece, 0, len(c.Targets))}
	for _, t := range c.Targets {
		if t.Disk != 0 {
			out.Pieces = append(out.Pieces, Piece{Index: t.Index, Disk: t.Disk})
		}
	}
	return out
}

// Wish has the requests of a client to the policy; zero values ask for nothing. Pieces below zero stand for an asked
// number that is none, and are refused like any other that is out of range.
type Wish struct {
	Space     SpaceName
	Layout    string // a name as [ParseLayout] reads it, with its numbers or without
	Pieces    int    // all pieces of a file together
	BlockSize string // as [ParseBlockSize] reads it
	Checksum  string
	// Unknown is a key that looks like a wish and is none, most likely misspelt: a write with it is
	// refused, rather than stored otherwise than was meant.
	Unknown string
}

// ModeUnset is the mode of a new entry whose client gives none: the directory's policy decides.
const ModeUnset uint32 = 1 << 31
