package namespace

import (
	"encoding/binary"
	"time"

	"hemera"
)

// Every key is 'n', a letter for its table, and big-endian numbers, so that a table is one range
// and ids are in order within it. docs/formats/namespace.md is the reference.
const (
	space       = 'n'
	tabMeta     = 'm' // a letter → the namespace's own variables
	tabEntry    = 'e' // parent, name → entry
	tabPlace    = 'i' // id → parent, name
	tabState    = 't' // directory → times and tree totals
	tabDisk     = 'd' // disk, file, index → nothing: a piece of a current generation
	tabUsage    = 'g' // disk → counts of its pieces
	tabUnlinked = 'u' // disk, file, generation, index → nothing: a piece to remove
	tabHeld     = 'w' // disk, file, generation, index → until when, bytes: a piece to remove later
	tabDue      = 'h' // disk, until when, file, generation, index → nothing: the same, in order of time
	tabShort    = 'x' // file → nothing: it has fewer pieces than its layout
	tabRemoved  = 'r' // write's number → until when: it was refused, or its file removed soon after it was made
	tabBarred   = 'o' // write's number → until when, file: pieces of it were given up
	tabRenamed  = 'v' // write's number → until when, name: the new file is to be committed under it
	tabBroken   = 'k' // disk, file, generation, index → nothing: a piece that is bad and cannot be mended
	tabEvent    = 'l' // sequence → event
	tabNode     = 'q' // directory → quota node
	tabLimit    = 'b' // directory, kind, id → limits of a user or group
	tabAccount  = 'a' // set, kind, id → what a user or group uses
)

const (
	metaFormat = 'f'
	metaIDs    = 'i'
	metaEvents = 'e'
	// metaBoundary goes on with the first of the ids that a restored store never gave out.
	metaBoundary = 'b'
)

// formatVersion is what metaFormat holds; another number is refused.
const formatVersion = 1

func key(table byte) []byte {
	return append(make([]byte, 0, 32), space, table)
}

func metaKey(which byte) []byte { return appendMetaKey(make([]byte, 0, 32), which) }

func appendMetaKey(k []byte, which byte) []byte { return append(k, space, tabMeta, which) }

func entryKey(parent hemera.FileID, name string) []byte {
	return appendEntryKey(make([]byte, 0, 10+len(name)), parent, name)
}

func appendEntryKey(k []byte, parent hemera.FileID, name string) []byte {
	k = append(k, space, tabEntry)
	return append(binary.BigEndian.AppendUint64(k, uint64(parent)), name...)
}

func idKey(table byte, id hemera.FileID) []byte { return appendIDKey(make([]byte, 0, 32), table, id) }

func appendIDKey(k []byte, table byte, id hemera.FileID) []byte {
	return binary.BigEndian.AppendUint64(append(k, space, table), uint64(id))
}

func diskKey(table byte, disk hemera.DiskID) []byte {
	return appendDiskKey(make([]byte, 0, 32), table, disk)
}

func appendDiskKey(k []byte, table byte, disk hemera.DiskID) []byte {
	return binary.BigEndian.AppendUint32(append(k, space, table), uint32(disk))
}

func pieceKey(disk hemera.DiskID, file hemera.FileID, index uint8) []byte {
	return appendPieceKey(make([]byte, 0, 32), disk, file, index)
}

func appendPieceKey(k []byte, disk hemera.DiskID, file hemera.FileID, index uint8) []byte {
	return append(binary.BigEndian.AppendUint64(appendDiskKey(k, tabDisk, disk), uint64(file)), index)
}

func unlinkedKey(disk hemera.DiskID, p hemera.PieceID) []byte {
	return appendPieceID(diskKey(tabUnlinked, disk), p)
}

func heldKey(disk hemera.DiskID, p hemera.PieceID) []byte {
	return appendPieceID(diskKey(tabHeld, disk), p)
}

func dueKey(disk hemera.DiskID, until time.Time, p hemera.PieceID) []byte {
	return appendPieceID(dueFrom(disk, until), p)
}

// dueFrom is where the pieces begin that a disk holds until a time or longer.
func dueFrom(disk hemera.DiskID, until time.Time) []byte {
	return binary.BigEndian.AppendUint64(diskKey(tabDue, disk), uint64(max(0, until.UnixMilli())))
}

func appendPieceID(k []byte, p hemera.PieceID) []byte {
	k = binary.BigEndian.AppendUint64(k, uint64(p.File))
	return append(binary.BigEndian.AppendUint64(k, uint64(p.Gen)), p.Index)
}

func eventKey(seq uint64) []byte { return idKey(tabEvent, hemera.FileID(seq)) }

// after is the smallest key that does not begin with prefix. No prefix here is all 0xff.
func after(prefix []byte) []byte {
	k := append([]byte(nil), prefix...)
	for i := len(k) - 1; ; i-- {
		if k[i]++; k[i] != 0 {
			return k[:i+1]
		}
	}
}

// number reads the big-endian id at an offset of a key; short keys read as zero.
func number(k []byte, at int) uint64 {
	if len(k) < at+8 {
		return 0
	}
	return binary.BigEndian.Uint64(k[at:])
}
