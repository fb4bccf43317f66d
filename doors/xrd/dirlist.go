package xrd

import (
	"slices"

	"hemera/doors/xrd/translate"
	"hemera/doors/xrd/transport"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// listing sends a directory in frames while it is read: memory does not grow with its length.
type listing struct {
	out    *transport.Sink
	stream wire.StreamID
	who    hemera.Identity
	stats  bool
	sums   bool
	kind   hemera.ChecksumKind // ChecksumNone: the first that is stored
	buf    []byte
}

// frameSize is the length from which collected entries are sent as a frame.
const frameSize = transport.BufferSize / 2

// dirlist answers kXR_dirlist: names, with stat lines or checksums if requested. The service calls back for each entry,
// and the answer is sent in frames while the directory is read; a client that does not read stops the listing.
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
	if l.stats { // the first line announces stat lines
		l.buf = wire.AppendDirlistLead(l.buf)
	}
	var pending []hemera.Entry // files that the same process is writing, which it also finds by stat
	if !l.stats {              // only nodes know the sizes of pending files
		pending, err = n.files.PendingIn(r.conn.ctx, l.who, path, r.session.processName())
		if err != nil {
			return err
		}
	}
	if err := n.names.List(r.conn.ctx, l.who, path, func(e hemera.Entry) error {
		pending = slices.DeleteFunc(pending, func(m hemera.Entry) bool { return m.Name == e.Name }) // visible meanwhile: must not appear twice
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

// add adds one entry. The last entry always stays in buf, because the last frame must end in NUL.
func (l *listing) add(e hemera.Entry) error {
	if len(l.buf) > frameSize { // before the entry is added, because the last one stays for the last frame
		if err := l.out.Answer(l.stream, wire.StatusOKSoFar, l.buf); err != nil {
			return err
		}
		l.buf = l.buf[:0]
	}
	d := wire.DirEntry{Name: e.Name}
	if l.stats {
		s := translate.StatOfEntry(e, l.who) // with the permissions of this identity
		d.Stat = &s
	}
	if l.sums {
		d.Checksum = l.checksum(e)
	}
	l.buf = d.Append(l.buf)
	return nil
}

// checksum returns the stored checksum of the requested kind. A listing computes none.
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
