package capability

import (
	"encoding/binary"
	"path"
	"slices"
	"time"

	"hemera/words/hemera"
)

// Flags of the encoded form, in the order of encoder.capability.
const (
	flagSync     = 1 << iota // the close waits for the disks
	flagForce                // opens even if another writer holds the file
	flagBase                 // an update: the content before follows
	flagName                 // the name is not the path's last part
	flagAdmin                // the user is an admin
	flagOnTape               // of a read: tape may give the content
	flagReplaces             // the file that is replaced follows
	flagConvert              // the same content in another form
)

// encoder appends the fields of a capability. Numbers are varints, signed ones zigzag. Texts follow their length in
// bytes.
type encoder struct{ buf []byte }

func (e *encoder) byte(b byte)     { e.buf = append(e.buf, b) }
func (e *encoder) uint(v uint64)   { e.buf = binary.AppendUvarint(e.buf, v) }
func (e *encoder) int(v int64)     { e.buf = binary.AppendVarint(e.buf, v) }
func (e *encoder) string(s string) { e.uint(uint64(len(s))); e.buf = append(e.buf, s...) }

// capability appends all fields. Their order is the format; new ones are added at the end.
func (e *encoder) capability(c *hemera.Capability) {
	named := path.Base(c.Path) != c.Name // rare
	e.flags([...]bool{c.Sync, c.Force, c.Base != nil, named, c.Who.Admin, c.OnTape, c.Replaces != 0, c.Convert})
	e.uint(uint64(c.File))
	e.uint(uint64(c.Gen))
	e.uint(uint64(c.Parent))
	e.string(c.Path)
	if named {
		e.string(c.Name)
	}
	e.byte(byte(c.Access))
	e.layout(c.Layout)
	e.uint(uint64(len(c.Checksums))) // kinds, one byte each
	for _, k := range c.Checksums {
		e.byte(byte(k))
	}
	e.byte(c.PiecesMin)
	e.string(string(c.Space))
	e.int(c.Size)
	e.uint(uint64(c.Mode))
	e.targets(c.Targets)
	e.uint(uint64(c.BaseGen))
	if c.Base != nil { // the flags say whether it is present
		e.uint(uint64(c.Base.Gen))
		e.int(c.Base.Size)
		e.targets(c.Base.Pieces)
	}
	e.sums(c.Sums)
	e.identity(&c.Who)
	e.int(c.Expires.Unix()) // in seconds, rounded down
	e.string(c.Trace)
	e.uint(c.Nonce) // so that two opens of one file have different tokens
	e.uint(uint64(c.Epoch))
	e.int(c.SizeMax)
	e.uint(uint64(c.Head))
	if c.Replaces != 0 { // the flags say whether it is present, so that most tokens stay short
		e.uint(uint64(c.Replaces))
	}
	if c.Owner != nil { // no flag is left: it is present if the token does not end here
		e.uint(uint64(c.Owner.UID))
		e.uint(uint64(c.Owner.GID))
		e.uint(uint64(c.Owner.Mode))
	}
}

// flags appends a byte with a bit for each flag, the first one lowest.
func (e *encoder) flags(on [8]bool) {
	var f byte
	for i, set := range on {
		if set {
			f |= 1 << i
		}
	}
	e.byte(f)
}

// layout appends kind and local parities, data pieces, all pieces, and bytes of a block.
func (e *encoder) layout(l hemera.Layout) {
	e.byte(l.KindByte())
	e.byte(l.Data)
	e.byte(l.Pieces)
	e.uint(uint64(l.BlockSize))
}

// targets appends a list of disks with the nodes that serve them.
func (e *encoder) targets(ts []hemera.Target) {
	e.uint(uint64(len(ts)))
	for _, t := range ts {
		e.byte(t.Index)
		e.uint(uint64(t.Disk))
		e.uint(uint64(t.Node))
		e.string(t.Addr)
	}
}

// sums appends checksums. The kind determines the number of bytes.
func (e *encoder) sums(sums []hemera.Checksum) {
	e.uint(uint64(len(sums)))
	for _, s := range sums {
		e.byte(byte(s.Kind))
		e.buf = append(e.buf, s.Value[:s.Kind.Size()]...)
	}
}

// identity appends the user who opened the file. Groups are left out, because the manager has checked access. Admin is a
// flag.
func (e *encoder) identity(w *hemera.Identity) {
	e.string(w.Name)
	e.uint(uint64(w.UID))
	e.uint(uint64(w.GID))
	e.string(w.Protocol)
	e.string(w.Host)
	e.string(w.App)
}

// decoder reads what encoder wrote. After the first malformed field bad is set, and all further fields read as zero. A
// length is checked against the bytes that are left.
type decoder struct {
	buf  []byte
	text string // ends with the bytes of buf
	bad  bool   // a field was malformed
}

// newDecoder returns a decoder of b. All texts that it returns are parts of one copy, so that a token costs one allocation for all of them.
func newDecoder(b []byte) decoder { return decoder{buf: b, text: string(b)} }

// fail makes every further field zero.
func (d *decoder) fail() { d.bad, d.buf = true, nil }

// take returns the next n bytes. They are part of the token, not a copy.
func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.buf)) {
		d.fail()
		return nil
	}
	b := d.buf[:n]
	d.buf = d.buf[n:]
	return b
}

func (d *decoder) byte() byte {
	if b := d.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.buf)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.buf = d.buf[n:]
	return v
}

// uint32 reads a number that has to fit into 32 bits: ids, modes and sizes of blocks.
func (d *decoder) uint32() uint32 {
	v := d.uint()
	if v > 1<<32-1 {
		d.fail()
		return 0
	}
	return uint32(v)
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.buf)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.buf = d.buf[n:]
	return v
}

// string returns a part of text.
func (d *decoder) string() string {
	b := d.take(d.uint())
	end := len(d.text) - len(d.buf)
	if d.bad {
		return ""
	}
	return d.text[end-len(b) : end]
}

// count reads the length of a list. It fails if that is above max or the bytes left.
func (d *decoder) count(max int) int {
	n := d.uint()
	if n > uint64(max) || n > uint64(len(d.buf)) {
		d.fail()
		return 0
	}
	return int(n)
}

// capability reads what encoder.capability wrote.
func (d *decoder) capability() hemera.Capability {
	f := d.byte()
	c := hemera.Capability{
		Sync: f&flagSync != 0, Force: f&flagForce != 0, Convert: f&flagConvert != 0, OnTape: f&flagOnTape != 0,
		File: hemera.FileID(d.uint()), Gen: hemera.Generation(d.uint()), Parent: hemera.FileID(d.uint()),
		Path: d.string(),
	}
	c.Name = path.Base(c.Path) // if no name follows
	if f&flagName != 0 {
		c.Name = d.string()
	}
	c.Access = hemera.Access(d.byte())
	c.Layout = d.layout()
	n := d.count(len(hemera.ChecksumKinds()) + 1)
	c.Checksums = slices.Grow(c.Checksums, n)
	for range n {
		c.Checksums = append(c.Checksums, d.checksumKind())
	}
	c.PiecesMin = d.byte()
	c.Space = hemera.SpaceName(d.string())
	c.Size = d.int()
	c.Mode = d.uint32()
	c.Targets = d.targets()
	c.BaseGen = hemera.Generation(d.uint())
	if f&flagBase != 0 {
		c.Base = &hemera.Base{Gen: hemera.Generation(d.uint()), Size: d.int(), Pieces: d.targets()}
	}
	c.Sums = d.sums()
	c.Who = d.identity()
	c.Who.Admin = f&flagAdmin != 0
	c.Expires = time.Unix(d.int(), 0).UTC()
	c.Trace = d.string()
	c.Nonce = d.uint()
	c.Epoch = hemera.Epoch(d.uint())
	c.SizeMax = d.int()
	c.Head = hemera.NodeID(d.uint32())
	if f&flagReplaces != 0 {
		c.Replaces = hemera.FileID(d.uint())
	}
	if len(d.buf) > 0 {
		c.Owner = &hemera.FileOwner{UID: d.uint32(), GID: d.uint32(), Mode: d.uint32()}
	}
	return c
}

// layout does not check whether the layout makes sense; the caller does.
func (d *decoder) layout() (l hemera.Layout) {
	l.SetKindByte(d.byte())
	l.Data, l.Pieces, l.BlockSize = d.byte(), d.byte(), d.uint32()
	return l
}

// checksumKind fails for an unknown kind, since the length of its value is unknown.
func (d *decoder) checksumKind() hemera.ChecksumKind {
	k := hemera.ChecksumKind(d.byte())
	if !k.Valid() {
		d.fail()
		return hemera.ChecksumNone
	}
	return k
}

func (d *decoder) targets() (ts []hemera.Target) {
	n := d.count(hemera.PiecesMax)
	ts = slices.Grow(ts, n) // n is bounded by count
	for range n {
		ts = append(ts, hemera.Target{
			Index: d.byte(), Disk: hemera.DiskID(d.uint32()), Node: hemera.NodeID(d.uint32()), Addr: d.string(),
		})
	}
	return ts
}

func (d *decoder) sums() (sums []hemera.Checksum) {
	for range d.count(len(hemera.ChecksumKinds()) + 1) {
		s := hemera.Checksum{Kind: d.checksumKind()}
		copy(s.Value[:], d.take(uint64(s.Kind.Size())))
		sums = append(sums, s)
	}
	return sums
}

func (d *decoder) identity() hemera.Identity {
	return hemera.Identity{
		Name: d.string(), UID: d.uint32(), GID: d.uint32(),
		Protocol: d.string(), Host: d.string(), App: d.string(),
	}
}
