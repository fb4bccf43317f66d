package namespace

import (
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"hemera"
)

// errRecord is the one thing that can be wrong with a record; the caller knows its key.
var errRecord = errors.New("the stored record is damaged or of a newer version")

// recordVersion begins every record that may grow.
const recordVersion = 1

// noTime stands for the zero time, which has no nanosecond count.
const noTime = math.MinInt64

func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return binary.AppendVarint(b, noTime)
	}
	return binary.AppendVarint(b, t.UnixNano())
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// entryRoom is what most entries need.
const entryRoom = 128

func encodeEntry(e *hemera.Entry) []byte { return appendEntry(make([]byte, 0, entryRoom), e) }

// appendEntry writes what the key does not say. Attributes are sorted so that equal entries have
// equal bytes.
func appendEntry(b []byte, e *hemera.Entry) []byte {
	b = append(b, entryVersion(e), byte(e.Kind))
	for _, n := range [...]uint64{uint64(e.ID), uint64(e.Mode), uint64(e.UID), uint64(e.GID)} {
		b = binary.AppendUvarint(b, n)
	}
	b = appendTime(appendTime(appendTime(b, e.Mtime), e.Ctime), e.Birth)
	b = binary.AppendUvarint(b, uint64(len(e.Xattrs)))
	if len(e.Xattrs) > 0 {
		for _, name := range slices.Sorted(maps.Keys(e.Xattrs)) {
			b = appendText(appendText(b, name), string(e.Xattrs[name]))
		}
	}
	if e.Kind != hemera.KindFile {
		return b
	}
	b = binary.AppendUvarint(b, uint64(e.Size))
	b = binary.AppendUvarint(b, uint64(e.Gen))
	b = append(b, byte(e.Layout.Kind), e.Layout.Data, e.Layout.Pieces)
	b = binary.AppendUvarint(b, uint64(e.Layout.BlockSize))
	b = appendText(b, e.Space)
	b = binary.AppendUvarint(b, uint64(len(e.Checksums)))
	for _, c := range e.Checksums {
		b = append(append(b, byte(c.Kind)), c.Value[:c.Kind.Size()]...)
	}
	b = binary.AppendUvarint(b, uint64(len(e.Pieces)))
	for _, p := range e.Pieces {
		b = binary.AppendUvarint(append(b, p.Index), uint64(p.Disk))
	}
	return b
}

// decodeEntry reads what encodeEntry wrote; parent and name come from the key.
func decodeEntry(k, raw []byte) (*hemera.Entry, error) {
	d := decoder{rest: raw}
	version := d.byte()
	e := &hemera.Entry{Kind: hemera.EntryKind(d.byte()), Parent: hemera.FileID(number(k, 2))}
	e.Quota = version == quotaVersion && e.Kind == hemera.KindDirectory
	if version != entryVersion(e) {
		d.bad = true
	}
	if len(k) > 10 {
		e.Name = string(k[10:])
	} else {
		e.Parent = hemera.RootID
	}
	e.ID = hemera.FileID(d.uint())
	e.Mode, e.UID, e.GID = d.uint32(), d.uint32(), d.uint32()
	e.Mtime, e.Ctime, e.Birth = d.time(), d.time(), d.time()
	if n := d.count(2); n > 0 {
		e.Xattrs = make(map[string][]byte, min(n, hemera.XattrsMax))
		for range n {
			name := d.text()
			e.Xattrs[name] = []byte(d.text())
		}
	}
	if e.Kind == hemera.KindFile {
		d.file(e)
	} else if e.Kind != hemera.KindDirectory {
		d.bad = true
	}
	return e, d.end()
}

func (d *decoder) file(e *hemera.Entry) {
	e.Size, e.Gen = int64(d.uint()), hemera.Generation(d.uint())
	if e.Size < 0 {
		d.bad = true
	}
	e.Layout = hemera.Layout{Kind: hemera.LayoutKind(d.byte()), Data: d.byte(), Pieces: d.byte()}
	e.Layout.BlockSize = d.uint32()
	e.Space = d.text()
	for range d.count(1) {
		c := hemera.Checksum{Kind: hemera.ChecksumKind(d.byte())}
		if !c.Kind.Valid() {
			d.bad = true
			return
		}
		copy(c.Value[:], d.take(c.Kind.Size()))
		e.Checksums = append(e.Checksums, c)
	}
	for range d.count(2) {
		e.Pieces = append(e.Pieces, hemera.Piece{Index: d.byte(), Disk: hemera.DiskID(d.uint32())})
	}
}

// place is where an id is.
type place struct {
	Parent hemera.FileID
	Name   string
}

func encodePlace(p *place) []byte { return appendPlace(make([]byte, 0, 8+len(p.Name)), p) }

func appendPlace(b []byte, p *place) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(p.Parent)), p.Name...)
}

func decodePlace(_, raw []byte) (*place, error) {
	if len(raw) < 8 {
		return nil, errRecord
	}
	return &place{hemera.FileID(number(raw, 0)), string(raw[8:])}, nil
}

// state is the part of a directory that changes when something below it does; it is kept apart
// from the entry so that walking a path never meets a change on its way to disk.
type state struct {
	Mtime, Ctime time.Time // of the list of names
	Tree         hemera.TreeTotals
	// Deep bounds how many directories are above one another below this one: exact while none is removed. Trees of
	// older versions have 0 until directories are made in them.
	Deep int64
}

// stateDeep is the version of a state with Deep; others stay as they were.
const stateDeep = 2

// with is the state with other times, and more below it.
func (s *state) with(mtime, ctime time.Time, delta hemera.TreeTotals) state {
	out := state{mtime, ctime, s.Tree.Add(delta), s.Deep}
	if out.Tree.Dirs == 0 {
		out.Deep = 0
	}
	return out
}

func encodeState(s *state) []byte { return appendState(make([]byte, 0, totalMax), s) }

func appendState(b []byte, s *state) []byte {
	if s.Deep > 0 {
		b = append(b, stateDeep)
	} else {
		b = append(b, recordVersion)
	}
	b = appendTime(appendTime(b, s.Mtime), s.Ctime)
	for _, n := range [...]int64{s.Tree.Files, s.Tree.Dirs, s.Tree.Bytes, s.Tree.Physical} {
		b = binary.AppendVarint(b, n)
	}
	if s.Deep > 0 {
		b = binary.AppendVarint(b, s.Deep)
	}
	return b
}

func decodeState(_, raw []byte) (*state, error) {
	d := decoder{rest: raw}
	deep := len(raw) > 0 && raw[0] == stateDeep
	if deep {
		d.byte()
	} else {
		d.version()
	}
	s := &state{Mtime: d.time(), Ctime: d.time()}
	s.Tree = hemera.TreeTotals{Files: d.int(), Dirs: d.int(), Bytes: d.int(), Physical: d.int()}
	if deep {
		if s.Deep = d.int(); s.Deep <= 0 {
			d.bad = true // it would be of the first version
		}
	}
	return s, d.end()
}

// usage counts a disk's pieces. Unlinked has those in it that are held.
type usage struct{ Pieces, Bytes, Unlinked, Held, HeldBytes int64 }

// usageHolds is the version of a usage with held pieces; others stay as they were.
const usageHolds = 2

func encodeUsage(u *usage) []byte { return appendUsage(make([]byte, 0, totalMax/2), u) }

func appendUsage(b []byte, u *usage) []byte {
	holds := u.Held != 0 || u.HeldBytes != 0
	if holds {
		b = append(b, usageHolds)
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

func decodeUsage(_, raw []byte) (*usage, error) {
	d := decoder{rest: raw}
	if len(raw) > 0 && raw[0] == usageHolds {
		d.byte()
		u := &usage{d.int(), d.int(), d.int(), d.int(), d.int()}
		if u.Held == 0 && u.HeldBytes == 0 {
			d.bad = true // it would be of the first version
		}
		return u, d.end()
	}
	d.version()
	u := &usage{Pieces: d.int(), Bytes: d.int(), Unlinked: d.int()}
	return u, d.end()
}

func encodeEvent(e *hemera.Event) []byte { return appendEvent(make([]byte, 0, eventRoom(e)), e) }

// eventRoom is about what the event needs.
func eventRoom(e *hemera.Event) int { return 40 + len(e.Path) + len(e.To) + len(e.Who) }

func appendEvent(b []byte, e *hemera.Event) []byte {
	b = append(b, recordVersion, byte(e.Kind))
	b = appendTime(b, e.Time)
	b = binary.AppendUvarint(b, uint64(e.File))
	b = appendText(appendText(appendText(b, e.Path), e.To), e.Who)
	return binary.AppendVarint(b, e.Bytes)
}

func decodeEvent(k, raw []byte) (*hemera.Event, error) {
	d := decoder{rest: raw}
	d.version()
	e := &hemera.Event{Seq: number(k, 2), Kind: hemera.EventKind(d.byte()), Time: d.time()}
	e.File = hemera.FileID(d.uint())
	e.Path, e.To, e.Who = d.text(), d.text(), d.text()
	e.Bytes = d.int()
	return e, d.end()
}

// encodePair is two numbers: a variable of the namespace.
func encodePair(a, b uint64) []byte { return appendPair(nil, a, b) }

func appendPair(raw []byte, a, b uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(raw, a), b)
}

// decoder reads a record and remembers that something was wrong, so that the reading code has one
// check at its end. Lengths are held against what is left before anything is allocated.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) version() {
	if d.byte() != recordVersion {
		d.bad = true
	}
}

func (d *decoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.rest) {
		d.bad, d.rest = true, nil
		return nil
	}
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out
}

func (d *decoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uint() uint64 {
	n, used := binary.Uvarint(d.rest)
	if d.take(used) == nil || used <= 0 {
		d.bad = true
		return 0
	}
	return n
}

func (d *decoder) int() int64 {
	n, used := binary.Varint(d.rest)
	if d.take(used) == nil || used <= 0 {
		d.bad = true
		return 0
	}
	return n
}

func (d *decoder) uint32() uint32 {
	n := d.uint()
	if n > math.MaxUint32 {
		d.bad = true
	}
	return uint32(n)
}

func (d *decoder) time() time.Time {
	n := d.int()
	if n == noTime {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

func (d *decoder) text() string {
	n := d.uint()
	if n > uint64(len(d.rest)) {
		d.bad = true
		return ""
	}
	return string(d.take(int(n)))
}

// count reads the number of items that follow, each at least size bytes long.
func (d *decoder) count(size int) int {
	n := d.uint()
	if n > uint64(len(d.rest)/size) {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) end() error {
	if d.bad || len(d.rest) > 0 {
		return errRecord
	}
	return nil
}
