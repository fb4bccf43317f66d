package hemera

import "time"

// EntryKind says what an entry is. The numbers are stored.
type EntryKind uint8

// The kinds of entries.
const (
	KindFile      EntryKind = 1
	KindDirectory EntryKind = 2
)

// Entry is one committed file or directory of the namespace as its readers see it. It is a value:
// callers may keep it but must not change the slices and maps it points to.
type Entry struct {
	ID     FileID
	Parent FileID // RootID's parent is RootID
	Name   string // "" for the root
	Kind   EntryKind
	Mode   uint32 // permission bits, 0..07777
	UID    uint32
	GID    uint32
	// Mtime is the time at which the content (of a directory: its list of names) last changed; Ctime that at which
	// anything of the entry last changed; Birth that at which it was made.
	Mtime, Ctime, Birth time.Time
	Xattrs              map[string][]byte
	// Setters says of a directory who set the attributes that steer what is below it; see package policy. Nil for none.
	Setters map[string]Setter

	// Files only. Size in bytes; Checksums hold the policy's kind and crc32c where known.
	Size      int64
	Gen       Generation
	Layout    Layout
	Checksums []Checksum
	Pieces    []Piece
	Space     SpaceName
	// Tape are the copies on tape, by number. A file with some and without Pieces is evicted: see [Entry.Evicted].
	Tape []TapeCopy
	// TapeUnread says that the copies on tape were not read back yet, and the settings ask for it: so the file is not on tape yet, see
	// [Entry.OnTape]. The manager says it in what it tells; it is not stored.
	TapeUnread bool `json:",omitempty"`

	// Directories only: exact totals of everything below, kept in the same transactions, and whether
	// limits are set on the directory.
	Tree  TreeTotals
	Quota bool
}

// IsDir reports whether the entry is a directory.
func (e Entry) IsDir() bool { return e.Kind == KindDirectory }

// Setter is the user that set an attribute: an admin, or the user with the uid.
type Setter struct {
	Admin bool
	UID   uint32
}

// SetterOf returns the setter of an attribute that the identity sets.
func SetterOf(who Identity) Setter {
	if who.Admin {
		return Setter{Admin: true} // admins are one: who of them is in the event log
	}
	return Setter{UID: who.UID}
}

// TreeTotals counts what is below a directory, itself not included. Bytes are logical; Physical
// counts every piece.
type TreeTotals struct {
	Files, Dirs     int64
	Bytes, Physical int64
}

// Add returns the sum of both.
func (t TreeTotals) Add(o TreeTotals) TreeTotals {
	return TreeTotals{t.Files + o.Files, t.Dirs + o.Dirs, t.Bytes + o.Bytes, t.Physical + o.Physical}
}

// Negate returns the totals with every sign turned.
func (t TreeTotals) Negate() TreeTotals {
	return TreeTotals{-t.Files, -t.Dirs, -t.Bytes, -t.Physical}
}

// Piece says which disk holds which piece of an entry's current generation.
type Piece struct {
	Index uint8
	Disk  DiskID
}
