package namespace

import "hemera"

// glance is the part of an entry that other records follow from, read without making anything: the
// slices are those of the record, and pieces is used again.
type glance struct {
	kind     hemera.EntryKind
	quota    bool
	id       hemera.FileID
	parent   hemera.FileID
	name     []byte
	uid, gid uint32
	size     int64
	gen      hemera.Generation
	layout   hemera.Layout
	pieces   []hemera.Piece
}

// read takes an entry's key and record apart; it accepts exactly what decodeEntry does.
func (g *glance) read(k, raw []byte) error {
	d := decoder{rest: raw}
	version := d.byte()
	*g = glance{kind: hemera.EntryKind(d.byte()), parent: hemera.RootID, pieces: g.pieces[:0]}
	g.quota = version == quotaVersion && g.kind == hemera.KindDirectory
	d.bad = version != recordVersion && !g.quota
	if len(k) > 10 {
		g.parent, g.name = hemera.FileID(number(k, 2)), k[10:]
	}
	g.id = hemera.FileID(d.uint())
	d.uint32() // mode
	g.uid, g.gid = d.uint32(), d.uint32()
	for range 3 {
		d.int() // times
	}
	for range d.count(2) {
		d.skip()
		d.skip()
	}
	switch g.kind {
	case hemera.KindFile:
		g.readFile(&d)
	case hemera.KindDirectory:
	default:
		d.bad = true
	}
	return d.end()
}

func (g *glance) readFile(d *decoder) {
	g.size, g.gen = int64(d.uint()), hemera.Generation(d.uint())
	if g.size < 0 {
		d.bad = true
	}
	g.layout = hemera.Layout{Kind: hemera.LayoutKind(d.byte()), Data: d.byte(), Pieces: d.byte()}
	g.layout.BlockSize = d.uint32()
	d.skip() // space
	for range d.count(1) {
		kind := hemera.ChecksumKind(d.byte())
		if !kind.Valid() {
			d.bad = true
			return
		}
		d.take(kind.Size())
	}
	for range d.count(2) {
		g.pieces = append(g.pieces, hemera.Piece{Index: d.byte(), Disk: hemera.DiskID(d.uint32())})
	}
}

// skip passes over a text.
func (d *decoder) skip() {
	n := d.uint()
	if n > uint64(len(d.rest)) {
		d.bad = true
		return
	}
	d.take(int(n))
}

// entry is what is counted of a file, in the form that the rules of counting take.
func (g *glance) entry() *hemera.Entry {
	return &hemera.Entry{Kind: g.kind, ID: g.id, Size: g.size, Gen: g.gen, Layout: g.layout, Pieces: g.pieces}
}
