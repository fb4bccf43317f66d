package schema

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"hemera/words/hemera"
)

// EntryRoom is the number of bytes that most entries need.
const EntryRoom = 128

// quotaVersion begins the entry of a directory that is a quota node, instead of recordVersion.
const quotaVersion = 2

// tapeVersion begins the entry of a file with copies on tape.
const tapeVersion = 3

// setVersion begins the entry of a directory with attributes whose setters are known, setQuotaVersion of one that is a
// quota node besides.
const setVersion, setQuotaVersion = 4, 5

func entryVersion(e *hemera.Entry) byte {
	switch {
	case e.IsDir() && len(e.Setters) > 0 && e.Quota:
		return setQuotaVersion
	case e.IsDir() && len(e.Setters) > 0:
		return setVersion
	case e.Quota:
		return quotaVersion
	case len(e.Tape) > 0:
		return tapeVersion
	}
	return recordVersion
}

// EncodeEntry returns the record of an entry.
func EncodeEntry(e *hemera.Entry) []byte { return AppendEntry(make([]byte, 0, EntryRoom), e) }

// AppendEntry appends the record of an entry: everything that its key does not say. Attributes are sorted, so
// that equal entries have equal bytes. A directory's own times in it are older than those of its [Directory].
func AppendEntry(b []byte, e *hemera.Entry) []byte {
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
		return appendSetters(b, e.Setters)
	}
	b = binary.AppendUvarint(b, uint64(e.Size))
	b = binary.AppendUvarint(b, uint64(e.Gen))
	b = append(b, e.Layout.KindByte(), e.Layout.Data, e.Layout.Pieces)
	b = binary.AppendUvarint(b, uint64(e.Layout.BlockSize))
	b = appendText(b, string(e.Space))
	b = binary.AppendUvarint(b, uint64(len(e.Checksums)))
	for _, c := range e.Checksums {
		b = append(append(b, byte(c.Kind)), c.Value[:c.Kind.Size()]...)
	}
	b = binary.AppendUvarint(b, uint64(len(e.Pieces)))
	for _, p := range e.Pieces {
		b = binary.AppendUvarint(append(b, p.Index), uint64(p.Disk))
	}
	if len(e.Tape) > 0 {
		b = appendCopies(b, e.Tape)
	}
	return b
}

// appendSetters appends who set which attributes: nothing where nobody is known.
func appendSetters(b []byte, setters map[string]hemera.Setter) []byte {
	if len(setters) == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(setters)))
	for _, name := range slices.Sorted(maps.Keys(setters)) {
		by := uint64(0) // an admin
		if s := setters[name]; !s.Admin {
			by = 1 + uint64(s.UID)
		}
		b = binary.AppendUvarint(appendText(b, name), by)
	}
	return b
}

// setters reads what appendSetters wrote into rest, if it is not nil.
func (d *decoder) setters(rest *hemera.Entry) {
	n := d.count(2)
	if n == 0 {
		d.bad = true // such an entry has another version
	}
	if rest != nil {
		rest.Setters = make(map[string]hemera.Setter, min(n, hemera.XattrsMax))
	}
	for range n {
		name, by := d.bytes(), d.uint()
		if by > 1+math.MaxUint32 {
			d.bad = true
		}
		if rest == nil {
			continue
		}
		s := hemera.Setter{Admin: by == 0}
		if by > 0 {
			s.UID = uint32(by - 1)
		}
		rest.Setters[string(name)] = s
	}
}

// DecodeEntry reads what [AppendEntry] wrote. Parent and name come from the key.
func DecodeEntry(k, raw []byte) (*hemera.Entry, error) {
	var h EntryHeader
	e := new(hemera.Entry)
	if err := h.decode(k, raw, e); err != nil {
		return nil, err
	}
	e.Kind, e.Quota, e.ID, e.Parent, e.Name = h.Kind, h.Quota, h.ID, h.Parent, string(h.Name)
	e.UID, e.GID = h.UID, h.GID
	e.Size, e.Gen, e.Layout, e.Pieces, e.Tape = h.Size, h.Gen, h.Layout, h.Pieces, h.Tape
	return e, nil
}

// EntryHeader is the part of an entry that other records follow from: indexes, counts and quota accounts.
// Reading it allocates nothing once Pieces is large enough, so that whole tables can be read with one.
type EntryHeader struct {
	Kind     hemera.EntryKind
	Quota    bool // the directory is a quota node
	ID       hemera.FileID
	Parent   hemera.FileID
	Name     []byte // a part of the key
	UID, GID uint32
	Size     int64
	Gen      hemera.Generation
	Layout   hemera.Layout
	Pieces   []hemera.Piece // its memory is used again by the next Decode
	Tape     []hemera.TapeCopy
}

// Decode reads the key and the record of an entry. It is the decoder of [DecodeEntry] without the rest of the entry.
func (h *EntryHeader) Decode(k, raw []byte) error { return h.decode(k, raw, nil) }

// decode reads a record. All fields that are not the header's go to rest; if rest is nil, they are passed over.
func (h *EntryHeader) decode(k, raw []byte, rest *hemera.Entry) error {
	d := decoder{rest: raw}
	version := d.byte()
	*h = EntryHeader{Kind: hemera.EntryKind(d.byte()), Parent: hemera.RootID, Pieces: h.Pieces[:0]}
	isSet := (version == setVersion || version == setQuotaVersion) && h.Kind == hemera.KindDirectory
	h.Quota = (version == quotaVersion || version == setQuotaVersion) && h.Kind == hemera.KindDirectory
	onTape := version == tapeVersion && h.Kind == hemera.KindFile
	if version != recordVersion && !h.Quota && !onTape && !isSet {
		d.bad = true
	}
	if len(k) > IDKeyBytes {
		h.Parent, h.Name = IDOf(k), k[IDKeyBytes:]
	}
	h.ID = hemera.FileID(d.uint())
	mode := d.uint32()
	h.UID, h.GID = d.uint32(), d.uint32()
	if rest != nil {
		rest.Mode = mode
		rest.Mtime, rest.Ctime, rest.Birth = d.time(), d.time(), d.time()
	} else {
		_, _, _ = d.int(), d.int(), d.int()
	}
	d.xattrs(rest)
	switch h.Kind {
	case hemera.KindFile:
		h.decodeFile(&d, rest)
		if onTape {
			h.Tape = d.copies()
		}
	case hemera.KindDirectory:
		if isSet {
			d.setters(rest)
		}
	default:
		d.bad = true
	}
	return d.end()
}

// xattrs reads the attributes into rest, if it is not nil.
func (d *decoder) xattrs(rest *hemera.Entry) {
	n := d.count(2)
	if rest != nil && n > 0 {
		rest.Xattrs = make(map[string][]byte, min(n, hemera.XattrsMax))
	}
	for range n {
		name, value := d.bytes(), d.bytes()
		if rest != nil {
			rest.Xattrs[string(name)] = append(make([]byte, 0, len(value)), value...)
		}
	}
}

// decodeFile reads the part that only files have.
func (h *EntryHeader) decodeFile(d *decoder, rest *hemera.Entry) {
	h.Size, h.Gen = int64(d.uint()), hemera.Generation(d.uint())
	if h.Size < 0 {
		d.bad = true
	}
	h.Layout.SetKindByte(d.byte())
	h.Layout.Data, h.Layout.Pieces, h.Layout.BlockSize = d.byte(), d.byte(), d.uint32()
	space := d.bytes()
	if rest != nil {
		rest.Space = hemera.SpaceName(space)
	}
	for range d.count(1) {
		c := hemera.Checksum{Kind: hemera.ChecksumKind(d.byte())}
		if !c.Kind.Valid() {
			d.bad = true
			return
		}
		value := d.take(c.Kind.Size())
		if rest != nil {
			copy(c.Value[:], value)
			rest.Checksums = append(rest.Checksums, c)
		}
	}
	for range d.count(2) {
		h.Pieces = append(h.Pieces, hemera.Piece{Index: d.byte(), Disk: hemera.DiskID(d.uint32())})
	}
}

// Entry returns the header in the form that the rules of counting take; see [Physical].
func (h *EntryHeader) Entry() *hemera.Entry {
	return &hemera.Entry{Kind: h.Kind, ID: h.ID, Size: h.Size, Gen: h.Gen, Layout: h.Layout, Pieces: h.Pieces, Tape: h.Tape}
}
