package schema

import (
	"encoding/binary"
	"time"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// TotalMax bounds the encoded form of a record that holds totals, which are a few numbers: a [Directory], a [Usage].
const TotalMax = 64

// Location is the place of an id in the tree.
type Location struct {
	Parent hemera.FileID
	Name   string
}

// LocationOf returns where an entry is.
func LocationOf(e *hemera.Entry) Location { return Location{e.Parent, e.Name} }

// EncodeLocation returns the record of a location.
func EncodeLocation(l *Location) []byte {
	return AppendLocation(make([]byte, 0, 8+len(l.Name)), l)
}

// AppendLocation appends the record of a location: what the entry's key has behind its table.
func AppendLocation(b []byte, l *Location) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(l.Parent)), l.Name...)
}

// DecodeLocation reads what [AppendLocation] wrote.
func DecodeLocation(_, raw []byte) (*Location, error) {
	if len(raw) < 8 {
		return nil, ErrRecord
	}
	return &Location{hemera.FileID(Uint64At(raw, 0)), string(raw[8:])}, nil
}

// Directory is the part of a directory that changes when something below it does. It is a record apart from
// the entry, so that a walk along a path never meets a change that is still on its way to the disk.
type Directory struct {
	Mtime, Ctime time.Time // of the list of names
	Tree         hemera.TreeTotals
	// Depth bounds the number of directories above one another below this one. It is exact while none is removed.
	// Trees of older versions have 0 until directories are made in them.
	Depth int64
}

// depthVersion is the version of a directory record with Depth; others keep the first version.
const depthVersion = 2

// With returns the record with other times, and with delta more below the directory.
func (s *Directory) With(mtime, ctime time.Time, delta hemera.TreeTotals) Directory {
	out := Directory{mtime, ctime, s.Tree.Add(delta), s.Depth}
	if out.Tree.Dirs == 0 {
		out.Depth = 0
	}
	return out
}

// EncodeDirectory returns the record of a directory's times and totals.
func EncodeDirectory(s *Directory) []byte { return AppendDirectory(make([]byte, 0, TotalMax), s) }

// AppendDirectory appends the record of a directory's times and totals.
func AppendDirectory(b []byte, s *Directory) []byte {
	if s.Depth > 0 {
		b = append(b, depthVersion)
	} else {
		b = append(b, recordVersion)
	}
	b = appendTime(appendTime(b, s.Mtime), s.Ctime)
	for _, n := range [...]int64{s.Tree.Files, s.Tree.Dirs, s.Tree.Bytes, s.Tree.Physical} {
		b = binary.AppendVarint(b, n)
	}
	if s.Depth > 0 {
		b = binary.AppendVarint(b, s.Depth)
	}
	return b
}

// DecodeDirectory reads what [AppendDirectory] wrote.
func DecodeDirectory(_, raw []byte) (*Directory, error) {
	d := decoder{rest: raw}
	deep := len(raw) > 0 && raw[0] == depthVersion
	if deep {
		d.byte()
	} else {
		d.version()
	}
	s := &Directory{Mtime: d.time(), Ctime: d.time()}
	s.Tree = hemera.TreeTotals{Files: d.int(), Dirs: d.int(), Bytes: d.int(), Physical: d.int()}
	if deep {
		s.Depth = d.int()
		if s.Depth <= 0 {
			d.bad = true // it would be of the first version
		}
	}
	return s, d.end()
}

// Usage counts a disk's pieces. Unlinked includes those that are held.
type Usage struct{ Pieces, Bytes, Unlinked, Held, HeldBytes int64 }

// heldVersion is the version of a usage with held pieces; others keep the first version.
const heldVersion = 2

// Add returns the sum of both.
func (u Usage) Add(o Usage) Usage {
	return Usage{u.Pieces + o.Pieces, u.Bytes + o.Bytes, u.Unlinked + o.Unlinked, u.Held + o.Held, u.HeldBytes + o.HeldBytes}
}

// EncodeUsage returns the record of a disk's usage.
func EncodeUsage(u *Usage) []byte { return AppendUsage(make([]byte, 0, TotalMax/2), u) }

// AppendUsage appends the record of a disk's usage.
func AppendUsage(b []byte, u *Usage) []byte {
	holds := u.Held != 0 || u.HeldBytes != 0
	if holds {
		b = append(b, heldVersion)
	} else {
		b = append(b, recordVersion)
	}
	b = binary.AppendVarint(b, u.Pieces)
	b = binary.AppendVarint(binary.AppendVarint(b, u.Bytes), u.Unlinked)
	if holds {
		b = binary.AppendVarint(binary.AppendVarint(b, u.Held), u.HeldBytes)
	}
	return b
}

// DecodeUsage reads what [AppendUsage] wrote.
func DecodeUsage(_, raw []byte) (*Usage, error) {
	d := decoder{rest: raw}
	if len(raw) > 0 && raw[0] == heldVersion {
		d.byte()
		u := &Usage{d.int(), d.int(), d.int(), d.int(), d.int()}
		if u.Held == 0 && u.HeldBytes == 0 {
			d.bad = true // it would be of the first version
		}
		return u, d.end()
	}
	d.version()
	u := &Usage{Pieces: d.int(), Bytes: d.int(), Unlinked: d.int()}
	return u, d.end()
}

// HeldPiece is the record of a piece that its disk is to remove later.
type HeldPiece struct {
	Until time.Time // in whole milliseconds, as in the key of [TableDue]
	Bytes int64
}

// HeldRoom is the number of bytes that the record of a held piece needs.
const HeldRoom = 20

// AppendHeld appends the record of a held piece.
func AppendHeld(b []byte, h *HeldPiece) []byte {
	b = binary.BigEndian.AppendUint64(append(b, recordVersion), uint64(max(0, h.Until.UnixMilli())))
	return binary.AppendVarint(b, h.Bytes)
}

// DecodeHeld reads what [AppendHeld] wrote.
func DecodeHeld(_, raw []byte) (*HeldPiece, error) {
	d := decoder{rest: raw}
	d.version()
	until := int64(Uint64At(d.take(8), 0))
	d.bad = d.bad || until < 0
	h := &HeldPiece{time.UnixMilli(until), d.int()}
	return h, d.end()
}

// EncodeUntil returns a record that begins with the time when it is over, in seconds since 1970: a tombstone.
// Records of barred and renamed writes go on behind it.
func EncodeUntil(t time.Time) []byte { return binary.BigEndian.AppendUint64(nil, uint64(t.Unix())) }

// DecodeUntil reads the time that a record of [EncodeUntil] begins with.
func DecodeUntil(raw []byte) time.Time { return time.Unix(int64(Uint64At(raw, 0)), 0) }

// BarredBytes is the length of a record of [TableBarred].
const BarredBytes = 16

// EncodeBarred returns the record of a write that is barred, and of the file that it writes.
func EncodeBarred(until time.Time, file hemera.FileID) []byte {
	return binary.BigEndian.AppendUint64(EncodeUntil(until), uint64(file))
}

// DecodeBarred reads the file in a record of [TableBarred].
func DecodeBarred(raw []byte) (hemera.FileID, error) {
	if len(raw) != BarredBytes {
		return 0, ErrRecord
	}
	return hemera.FileID(Uint64At(raw, 8)), nil
}

// EncodeRenamed returns the record of the name that a commit is to use.
func EncodeRenamed(until time.Time, name string) []byte { return append(EncodeUntil(until), name...) }

// DecodeRenamed reads the name in a record of [TableRenamed].
func DecodeRenamed(_, raw []byte) (*string, error) {
	if len(raw) <= 8 || hemera.CheckName(string(raw[8:])) != nil {
		return nil, ErrRecord
	}
	name := string(raw[8:])
	return &name, nil
}

// EventRoom returns about the number of bytes that the event's record needs.
func EventRoom(e *hemera.Event) int { return 40 + len(e.Path) + len(e.To) + len(e.Who) }

// AppendEvent appends the record of an event. Its sequence number is in the key.
func AppendEvent(b []byte, e *hemera.Event) []byte {
	b = append(b, recordVersion, byte(e.Kind))
	b = appendTime(b, e.Time)
	b = binary.AppendUvarint(b, uint64(e.File))
	b = appendText(appendText(appendText(b, e.Path), e.To), e.Who)
	return binary.AppendVarint(b, e.Bytes)
}

// DecodeEvent reads what [AppendEvent] wrote.
func DecodeEvent(k, raw []byte) (*hemera.Event, error) {
	d := decoder{rest: raw}
	d.version()
	e := &hemera.Event{Seq: Uint64At(k, 2), Kind: hemera.EventKind(d.byte()), Time: d.time()}
	e.File = hemera.FileID(d.uint())
	e.Path, e.To, e.Who = d.text(), d.text(), d.text()
	e.Bytes = d.int()
	return e, d.end()
}

// PairBytes is the length of a variable of two numbers.
const PairBytes = 16

// EncodePair returns a variable of two numbers.
func EncodePair(a, b uint64) []byte { return AppendPair(nil, a, b) }

// AppendPair appends a variable of two numbers.
func AppendPair(raw []byte, a, b uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(raw, a), b)
}

// DecodePair reads what [AppendPair] wrote. The key is for the error.
func DecodePair(k, raw []byte) (a, b uint64, err error) {
	if len(raw) != PairBytes {
		return 0, 0, Damaged(k, ErrRecord)
	}
	return Uint64At(raw, 0), Uint64At(raw, 8), nil
}

// Boundary describes the changes that a restored namespace has forgotten: those made to the lost one between the backup
// and the restore.
type Boundary struct {
	// From and To bound the ids and generations that this store never handed out: the lost namespace may have
	// used them. From follows the largest in the backup's records. The first id after the restore is To.
	From, To uint64
	// Taken is the time of the backup and Restored that of the restore.
	Taken, Restored time.Time
	// Merged is the time at which a rebuild ended that looked at all pieces of all disks; zero if none has.
	Merged time.Time
}

// EncodeBoundary returns the record of a boundary; From is in its key.
func EncodeBoundary(b Boundary) []byte {
	raw := binary.BigEndian.AppendUint64(nil, b.To)
	return appendTime(appendTime(appendTime(raw, b.Taken), b.Restored), b.Merged)
}

// DecodeBoundary reads what [EncodeBoundary] wrote.
func DecodeBoundary(k, raw []byte) (Boundary, error) {
	if len(k) != len(MetaKey(MetaBoundary))+8 || len(raw) < 8 {
		return Boundary{}, ErrRecord
	}
	d := decoder{rest: raw[8:]}
	b := Boundary{From: Uint64At(k, 3), To: Uint64At(raw, 0), Taken: d.time(), Restored: d.time(), Merged: d.time()}
	return b, d.end()
}

// AppendValue appends the record of a decoded value of a cached table; nothing for any other value.
func AppendValue(b []byte, value any) []byte {
	switch v := value.(type) {
	case *hemera.Entry:
		return AppendEntry(b, v)
	case *Location:
		return AppendLocation(b, v)
	case *Directory:
		return AppendDirectory(b, v)
	case *Usage:
		return AppendUsage(b, v)
	case *QuotaNode:
		return AppendQuotaNode(b, v)
	case *hemera.QuotaAmount:
		return AppendAmount(b, v)
	case *QueueSum:
		return AppendQueueSum(b, v)
	case *tapeapi.Tape:
		raw, _ := EncodeTape(v) // a tape that is cached was encoded or decoded before
		return append(b, raw...)
	}
	return b
}
