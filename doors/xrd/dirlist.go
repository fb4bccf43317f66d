package xrd

import (
	"slices"

	"hemera"
	"hemera/doors/xrd/transport"
	"hemera/rules/wire"
)

// listing sends a directory in frames as it is read: memory does not grow with its length.
type listing struct {
	c      *conn
	stream wire.StreamID
	who    hemera.Identity
	stats  bool
	sums   bool
	kind   hemera.ChecksumKind // ChecksumNone: the first that is known
	buf    []byte
}

// frameSize is how much of a listing is sent at a time.
const frameSize = transport.BufferSize / 2

// dirlist answers kXR_dirlist.
func (c *conn) dirlist(r *request) error {
	path, opaque, err := r.pathOf()
	if err != nil {
		return err
	}
	options := wire.DecodeDirlist(r.Body).Options
	l := &listing{c: c, stream: r.Stream, who: c.who(), sums: options&wire.DirlistCksum != 0}
	l.stats = l.sums || options&wire.DirlistStat != 0
	if name := opaque.Value("cks.type"); name != "" && l.sums {
		if l.kind, err = checksumKind(name); err != nil {
			return err
		}
	}
	if l.stats {
		l.buf = wire.AppendDirlistLead(l.buf)
	}
	var making []hemera.Entry
	if !l.stats { // their sizes are known at nodes
		making, err = c.srv.o.Files.PendingIn(c.ctx, l.who, path, c.session.processName())
		if err != nil {
			return err
		}
	}
	if err := c.srv.o.Names.List(c.ctx, l.who, path, func(e hemera.Entry) error {
		making = slices.DeleteFunc(making, func(m hemera.Entry) bool { return m.Name == e.Name })
		return l.add(e)
	}); err != nil {
		return err
	}
	for _, e := range making { // files that the same process is making, which it finds by stat as well
		if err := l.add(e); err != nil {
			return err
		}
	}
	return c.ok(r, wire.EndDirlist(l.buf))
}

// add takes one entry. The last entry always stays in buf, for the last frame must end in NUL.
func (l *listing) add(e hemera.Entry) error {
	if len(l.buf) > frameSize {
		if err := l.c.out.Answer(l.stream, wire.StatusOKSoFar, l.buf); err != nil {
			return err
		}
		l.buf = l.buf[:0]
	}
	d := wire.DirEntry{Name: e.Name}
	if l.stats {
		s := statOfEntry(e, l.who)
		d.Stat = &s
	}
	if l.sums {
		d.Checksum = l.checksum(e)
	}
	l.buf = d.Append(l.buf)
	return nil
}

func (l *listing) checksum(e hemera.Entry) string {
	kind := l.kind
	if kind == hemera.ChecksumNone && len(e.Checksums) > 0 {
		kind = e.Checksums[0].Kind
	}
	if kind == hemera.ChecksumNone {
		kind = hemera.Adler32
	}
	if c, ok := hemera.FindChecksum(e.Checksums, kind); ok {
		return c.String()
	}
	return kind.String() + ":none"
}
