package schema

import (
	"encoding/binary"
	"time"

	"hemera/words/hemera"
)

// Space is the first byte of every key of the namespace. Other owners of records in the same store
// use other first bytes.
const Space = 'n'

// The second byte of a key names its table. docs/formats/namespace.md is the reference.
const (
	TableMeta       = 'm' // a letter → the namespace's own variables
	TableEntry      = 'e' // parent, name → entry
	TableLocation   = 'i' // id → parent, name
	TableDirectory  = 't' // directory → times and tree totals
	TablePiece      = 'd' // disk, file, index → nothing: a piece of a current generation
	TableUsage      = 'g' // disk → counts of its pieces
	TableUnlinked   = 'u' // disk, file, generation, index → nothing: a piece to remove
	TableHeld       = 'w' // disk, file, generation, index → until when, bytes: a piece to remove later
	TableDue        = 'h' // disk, until when, file, generation, index → nothing: the same, in order of time
	TableIncomplete = 'x' // file → nothing: it has fewer pieces than its layout
	TableTombstone  = 'r' // number of a write → until when: it was refused, or its file was removed soon after it was made
	TableBarred     = 'o' // number of a write → until when, file: an audit has removed pieces of it
	TableRenamed    = 'v' // number of a write → until when, name: its commit makes the new file under this name
	TableBroken     = 'k' // disk, file, generation, index → nothing: a bad piece that nothing good is left to repair from
	TableEvent      = 'l' // sequence number → event
	TableQuotaNode  = 'q' // directory → quota node
	TableLimit      = 'b' // directory, kind, id → limits of a user or group
	TableAccount    = 'a' // set, kind, id → what a user or group uses
)

// The letters of [TableMeta].
const (
	MetaFormat = 'f' // FormatVersion, four bytes
	MetaIDs    = 'i' // end of the reserved ids, and a zero
	MetaEvents = 'e' // first sequence number of the event log, and the one after its last
	// MetaBoundary is followed by the first of the ids that a restored store never handed out.
	MetaBoundary = 'b'
	MetaLife     = 'g' // number of the store's life, eight bytes: the first id of it; 0 where there is none
)

// FormatVersion is the value of MetaFormat. A store with another number is refused.
const FormatVersion = 1

// BinName is the name of the directory with all recycle bins. Its parent is 0, as the root's, so no path leads to it, and
// nothing in it counts in the root's totals.
const BinName = "recycle"

// Lengths of keys that have one length.
const (
	IDKeyBytes   = 10 // of every table that is keyed by an id alone
	DiskKeyBytes = 6
	// PieceIDKeyBytes is the length of keys of a disk and a piece's id: TableUnlinked, TableHeld and TableBroken.
	PieceIDKeyBytes = 23
	DueKeyBytes     = 31
	AccountKeyBytes = 15 // of TableLimit and TableAccount
)

// keyRoom is enough for every key without a name, so that building one allocates once.
const keyRoom = 32

// TableKey returns the prefix of all keys of a table.
func TableKey(table byte) []byte { return append(make([]byte, 0, keyRoom), Space, table) }

// MetaKey returns the key of one of the namespace's own variables.
func MetaKey(which byte) []byte { return append(TableKey(TableMeta), which) }

// BoundaryKey returns the key of the boundary whose missing ids begin at from.
func BoundaryKey(from uint64) []byte {
	return binary.BigEndian.AppendUint64(MetaKey(MetaBoundary), from)
}

// EntryKey returns the key of the entry with the name in the directory. The root has parent 0 and no name.
// With an empty name it is the prefix of a directory's entries, which follow in byte order of their names.
func EntryKey(parent hemera.FileID, name string) []byte {
	return AppendEntryKey(make([]byte, 0, IDKeyBytes+len(name)), parent, name)
}

// AppendEntryKey appends what [EntryKey] returns.
func AppendEntryKey(k []byte, parent hemera.FileID, name string) []byte {
	k = append(k, Space, TableEntry)
	return append(binary.BigEndian.AppendUint64(k, uint64(parent)), name...)
}

// IDKey returns the key of an id in a table that is keyed by one, or the prefix of an id's keys.
func IDKey(table byte, id hemera.FileID) []byte {
	return AppendIDKey(make([]byte, 0, keyRoom), table, id)
}

// AppendIDKey appends what [IDKey] returns.
func AppendIDKey(k []byte, table byte, id hemera.FileID) []byte {
	return binary.BigEndian.AppendUint64(append(k, Space, table), uint64(id))
}

// EventKey returns the key of the event with the sequence number.
func EventKey(seq uint64) []byte { return IDKey(TableEvent, hemera.FileID(seq)) }

// DiskKey returns the key of a disk, or the prefix of its keys in a table.
func DiskKey(table byte, disk hemera.DiskID) []byte {
	return AppendDiskKey(make([]byte, 0, keyRoom), table, disk)
}

// AppendDiskKey appends what [DiskKey] returns.
func AppendDiskKey(k []byte, table byte, disk hemera.DiskID) []byte {
	return binary.BigEndian.AppendUint32(append(k, Space, table), uint32(disk))
}

// PieceKey returns the key of a piece of a file's current generation.
func PieceKey(disk hemera.DiskID, file hemera.FileID, index uint8) []byte {
	return AppendPieceKey(make([]byte, 0, keyRoom), disk, file, index)
}

// AppendPieceKey appends what [PieceKey] returns.
func AppendPieceKey(k []byte, disk hemera.DiskID, file hemera.FileID, index uint8) []byte {
	return append(binary.BigEndian.AppendUint64(AppendDiskKey(k, TablePiece, disk), uint64(file)), index)
}

// UnlinkedKey returns the key of a piece that the disk is to remove now.
func UnlinkedKey(disk hemera.DiskID, p hemera.PieceID) []byte {
	return appendPieceID(DiskKey(TableUnlinked, disk), p)
}

// HeldKey returns the key of a piece that the disk is to remove later.
func HeldKey(disk hemera.DiskID, p hemera.PieceID) []byte {
	return appendPieceID(DiskKey(TableHeld, disk), p)
}

// BrokenKey returns the key of a bad piece.
func BrokenKey(b hemera.BadPiece) []byte { return appendPieceID(DiskKey(TableBroken, b.Disk), b.Piece) }

// DueKey returns the key of a held piece in the order of time.
func DueKey(disk hemera.DiskID, until time.Time, p hemera.PieceID) []byte {
	return appendPieceID(DueFrom(disk, until), p)
}

// DueFrom returns where the pieces begin that a disk holds until the time or longer. Times have whole milliseconds.
func DueFrom(disk hemera.DiskID, until time.Time) []byte {
	return binary.BigEndian.AppendUint64(DiskKey(TableDue, disk), uint64(max(0, until.UnixMilli())))
}

func appendPieceID(k []byte, p hemera.PieceID) []byte {
	k = binary.BigEndian.AppendUint64(k, uint64(p.File))
	return append(binary.BigEndian.AppendUint64(k, uint64(p.Gen)), p.Index)
}

// PieceIDOf reads the piece's id that the keys of TableUnlinked, TableHeld, TableBroken and TableDue end with.
// The caller has checked the key's length.
func PieceIDOf(k []byte) hemera.PieceID {
	id := k[len(k)-17:]
	return hemera.PieceID{File: hemera.FileID(Uint64At(id, 0)), Gen: hemera.Generation(Uint64At(id, 8)), Index: id[16]}
}

// DiskOf reads the disk that a key begins with; short keys read as zero.
func DiskOf(k []byte) hemera.DiskID {
	if len(k) < DiskKeyBytes {
		return 0
	}
	return hemera.DiskID(binary.BigEndian.Uint32(k[2:]))
}

// IDOf reads the id that follows the table in a key; short keys read as zero.
func IDOf(k []byte) hemera.FileID { return hemera.FileID(Uint64At(k, 2)) }

// AccountKey returns the key of an account in a set ([TableAccount]), or of its limits at a directory ([TableLimit]).
func AccountKey(table byte, of uint64, a Account) []byte {
	return binary.BigEndian.AppendUint32(append(IDKey(table, hemera.FileID(of)), byte(a.Kind)), a.ID)
}

// AccountOf reads the account in a key that [AccountKey] made. A damaged key reads as the zero account.
func AccountOf(k []byte) Account {
	if len(k) != AccountKeyBytes {
		return Account{}
	}
	return Account{hemera.QuotaKind(k[10]), binary.BigEndian.Uint32(k[11:])}
}

// PrefixEnd returns the smallest key after all that begin with the prefix. No prefix of this package is all 0xff.
func PrefixEnd(prefix []byte) []byte {
	k := append([]byte(nil), prefix...)
	for i := len(k) - 1; ; i-- {
		if k[i]++; k[i] != 0 {
			return k[:i+1]
		}
	}
}

// Uint64At reads the big-endian number at an offset of a key or a value; what is too short reads as zero.
func Uint64At(b []byte, at int) uint64 {
	if len(b) < at+8 {
		return 0
	}
	return binary.BigEndian.Uint64(b[at:])
}

// Cached reports whether a key belongs to the tables whose records the namespace reads one by one, by key,
// and therefore keeps decoded in its cache.
func Cached(k []byte) bool {
	switch k[1] {
	case TableEntry, TableLocation, TableDirectory, TableUsage, TableQuotaNode, TableLimit, TableAccount, TableTape, TableQueue:
		return true
	}
	return false
}
