package xrd

import (
	"slices"

	"hemera/doors/xrd/translate"
	"hemera/doors/xrd/transport"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// listing sends a directory in frames as it is read: memory does not grow with its length.
type listing struct {
	out    *transport.Sink
	stream wire.StreamID
	who    hemera.Identity
	stats  bool
	sums   bool
	kind   hemera.ChecksumKind // ChecksumNone: the first that is known
	buf    []byte
}

// frameSize is how much of a listing is sent at a time.
const frameSize = transport.BufferSize / 2

// dirlist answers kXR_dirlist: names, with stat lines or checksums if they were asked for. The service calls back for each
// entry, and the answer goes out in frames while the directory is read; a client that does not read stops the listing.
func (n *nameHandlers) dirlist(r *request) error {
	path, opaque, err := r.path()
	if err != nil {
		return err
	}
	options := wire.DecodeDirlist(r.Body).Options
	l := &listing{out: r.conn.out, stream: r.Stream, who: r.who(), sums: options&wire.DirlistCksum != 0}
	l.stats = l.sums || options&wire.DirlistStat != 0 // the protocol has no listing of checksums without stat lines
	if name := opaque.Value("cks.type"); name != "" && l.sums {
		if l.kind, err = translate.ChecksumKind(name); err != nil {
			return err
		}
	}
	if l.stats { // the lead tells the client that stat lines follow
		l.buf = wire.AppendDirlistLead(l.buf)
	}
	var pending []hemera.Entry // files that the same process is making, which it finds by stat as well
	if !l.stats {              // only nodes know their sizes
		pending, err = n.files.PendingIn(r.conn.ctx, l.who, path, r.session.processName())
		if err != nil {
			return err
		}
	}
	if err := n.names.List(r.conn.ctx, l.who, path, func(e hemera.Entry) error {
		pending = slices.DeleteFunc(pending, func(m hemera.Entry) bool { return m.Name == e.Name }) // visible meanwhile: not twice
		return l.add(e)
	}); err != nil {
		return err
	}
	for _, e := range pending {
		if err := l.add(e); err != nil {
			return err
		}
	}
	return r.ok(wire.EndDirlist(l.buf))
}

// add takes one entry. The last entry always stays in buf, for the last frame must end in NUL.
func (l *listing) add(e hemera.Entry) error {
	if len(l.buf) > frameSize { // before the entry is added: the last one stays for the last frame
		if err := l.out.Answer(l.stream, wire.StatusOKSoFar, l.buf); err != nil {
			return err
		}
		l.buf = l.buf[:0]
	}
	d := wire.DirEntry{Name: e.Name}
	if l.stats {
		s := translate.StatOfEntry(e, l.who) // as this identity sees it
		d.Stat = &s
	}
	if l.sums {
		d.Checksum = l.checksum(e)
	}
	l.buf = d.Append(l.buf)
	return nil
}

// checksum returns what is stored of the kind. Nothing is computed for a listing.
func (l *listing) checksum(e hemera.Entry) string {
	kind := l.kind
	if kind == hemera.ChecksumNone && len(e.Checksums) > 0 {
		kind = e.Checksums[0].Kind
	}
	if kind == hemera.ChecksumNone { // the protocol's default
		kind = hemera.Adler32
	}
	if c, ok := hemera.FindChecksum(e.Checksums, kind); ok {
		return c.String()
	}
	return kind.String() + ":none"
}
