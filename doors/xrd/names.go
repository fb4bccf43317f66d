package xrd

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/rules/access"
	"hemera/rules/wire"
)

// pathOf is the clean path of a request and the opaque part behind it.
func (r *request) pathOf() (string, wire.Opaque, error) {
	raw, opaque := wire.SplitPath(r.payload)
	path, err := wire.CleanPath(raw)
	return path, opaque, err
}

func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// statOfEntry is an entry's stat line as who sees it.
func statOfEntry(e hemera.Entry, who hemera.Identity) wire.StatInfo {
	s := wire.StatInfo{
		ID: uint64(e.ID), Size: e.Size, Mtime: e.Mtime.Unix(), Ctime: e.Ctime.Unix(), Atime: e.Mtime.Unix(),
		Mode: e.Mode, Owner: decimal(e.UID), Group: decimal(e.GID),
	}
	if e.IsDir() {
		s.Flags, s.Size = wire.StatIsDir, e.Tree.Bytes
	}
	rights := access.Rights(who, access.Of(e))
	if rights&4 != 0 {
		s.Flags |= wire.StatReadable
	}
	if rights&2 != 0 {
		s.Flags |= wire.StatWritable
	}
	if rights&1 != 0 || e.IsDir() && who.Admin {
		s.Flags |= wire.StatXset
	}
	return s
}

// statPath answers kXR_stat at a manager.
func (c *conn) statPath(r *request) error {
	q := wire.DecodeStat(r.Body)
	if len(r.payload) == 0 && q.Handle != (wire.Handle{}) {
		return errBadHandle
	}
	path, opaque, err := r.pathOf()
	if err != nil {
		return err
	}
	if q.Options&wire.StatVFS != 0 {
		return c.statSpace(r, path)
	}
	who := c.session.identity()
	e, err := c.srv.o.Names.Stat(c.ctx, *who, path)
	if err == nil || errs.KindOf(err) == errs.NotFound {
		if g, own, missing := c.srv.o.Files.Pending(c.ctx, *who, path, c.session.processName(), e); missing == nil {
			if e, err = own, nil; !c.asWritten(&g, &e) && !opaque.Has(triedKey) {
				return ticketOf(&g).redirect(triesElse)
			}
		}
	}
	if err != nil {
		return err
	}
	var line [128]byte
	return c.ok(r, append(statOfEntry(e, *who).Append(line[:0]), 0))
}

// asWritten gives an entry the size that its writer knows, if that is known in this process.
func (c *conn) asWritten(g *hemera.Grant, e *hemera.Entry) bool {
	if c.srv.o.Local == nil {
		return false
	}
	t := ticketOf(g)
	n := c.srv.o.Local(t.node)
	if n == nil {
		return false
	}
	w, err := n.Written(c.ctx, t.permit, "")
	if err != nil {
		return false
	}
	e.Size, e.Mtime = w.Size, w.Mtime
	return true
}

// statx answers with one byte of flags a path.
func (c *conn) statx(r *request) error {
	var flags []byte
	for _, p := range wire.Lines(r.payload) {
		raw, _ := wire.SplitPath([]byte(p))
		path, err := wire.CleanPath(raw)
		if err != nil {
			return err
		}
		e, err := c.srv.o.Names.Stat(c.ctx, c.who(), path)
		if err != nil {
			return err
		}
		flags = append(flags, byte(statOfEntry(e, hemera.Identity{}).Flags&wire.StatIsDir))
	}
	if len(flags) == 0 {
		return errNoPath
	}
	return c.ok(r, flags)
}

// mkdir answers kXR_mkdir. A mode of zero leaves it to the policy; the owner can always use a directory.
func (c *conn) mkdir(r *request) error {
	path, _, err := r.pathOf()
	if err != nil {
		return err
	}
	q := wire.DecodeMkdir(r.Body)
	c.lend()
	_, err = c.srv.o.Names.Mkdir(c.ctx, c.who(), path, wishedMode(uint32(q.Mode), 0o700), q.Options&wire.MkdirPath != 0)
	if err != nil {
		return err
	}
	return c.ok(r, nil)
}

// rm answers kXR_rm, which also removes an empty directory: clients rely on it.
func (c *conn) rm(r *request) error { return c.remove(r, 0) }

func (c *conn) rmdir(r *request) error { return c.remove(r, hemera.KindDirectory) }

func (c *conn) remove(r *request, kind hemera.EntryKind) error {
	path, _, err := r.pathOf()
	if err != nil {
		return err
	}
	c.lend()
	err = c.srv.o.Names.Remove(c.ctx, c.who(), path, kind)
	if errors.Is(err, errs.NotFound) && kind != hemera.KindDirectory {
		own := c.srv.o.Files.Discard(c.ctx, c.who(), path, c.session.processName(), c.session.name)
		if !errors.Is(own, errs.NotFound) {
			err = own
		}
	}
	if err != nil {
		return err
	}
	return c.ok(r, nil)
}

func (c *conn) mv(r *request) error {
	if len(r.payload) == 0 {
		return errNoPath
	}
	first, second, err := wire.DecodeMv(r.Body).Split(r.payload)
	if err != nil {
		return err
	}
	rawFrom, _ := wire.SplitPath(first)
	rawTo, opaque := wire.SplitPath(second)
	from, err := wire.CleanPath(rawFrom)
	if err != nil {
		return err
	}
	to, err := wire.CleanPath(rawTo)
	if err != nil {
		return err
	}
	p, whole, err := publication(from, to, opaque)
	if err != nil {
		return err
	}
	c.lend()
	if whole {
		err = c.srv.o.Names.Publish(c.ctx, c.who(), p)
	} else {
		err = c.srv.o.Files.Move(c.ctx, c.who(), from, to, c.session.processName())
	}
	if err != nil {
		return err
	}
	return c.ok(r, nil)
}

// publication reads what a client wants a file to be that it moves; false when it does not say.
func publication(from, to string, opaque wire.Opaque) (p hemera.Publication, ok bool, err error) {
	size := opaque.Value(hemera.OpaqueSize)
	if size == "" {
		return p, false, nil
	}
	p = hemera.Publication{From: from, To: to, Replace: opaque.Value(hemera.OpaqueNew) == ""}
	if p.Size, err = strconv.ParseInt(size, 10, 64); err != nil || p.Size < 0 {
		return p, false, refuse(wire.ArgInvalid, hemera.OpaqueSize+" is no size")
	}
	if sum := opaque.Value(hemera.OpaqueSum); sum != "" {
		if p.Sum, err = hemera.ParseChecksum(sum); err != nil {
			return p, false, refuse(wire.ArgInvalid, hemera.OpaqueSum+" is no checksum")
		}
	}
	return p, true, nil
}

func (c *conn) chmod(r *request) error {
	path, opaque, err := r.pathOf()
	if err != nil {
		return err
	}
	c.lend()
	if err := c.dress(path, opaque); err != nil {
		return err
	}
	if err := c.srv.o.Attributes.SetMode(c.ctx, c.who(), path, uint32(wire.DecodeChmod(r.Body).Mode)&0o777); err != nil {
		return err
	}
	return c.ok(r, nil)
}

// dress sets the owner and time that come with a chmod. The owner is first: who gives a file away without
// being an admin is refused before anything has changed.
func (c *conn) dress(path string, opaque wire.Opaque) error {
	if owner := opaque.Value(hemera.OpaqueOwner); owner != "" {
		u, g, _ := strings.Cut(owner, ":")
		uid, err1 := strconv.ParseInt(u, 10, 64)
		gid, err2 := strconv.ParseInt(g, 10, 64)
		if err1 != nil || err2 != nil {
			return refuse(wire.ArgInvalid, hemera.OpaqueOwner+" is not uid:gid")
		}
		if err := c.srv.o.Attributes.SetOwner(c.ctx, c.who(), path, uid, gid); err != nil {
			return err
		}
	}
	if mtime := opaque.Value(hemera.OpaqueMtime); mtime != "" {
		ns, err := strconv.ParseInt(mtime, 10, 64)
		if err != nil {
			return refuse(wire.ArgInvalid, hemera.OpaqueMtime+" is no time")
		}
		return c.srv.o.Attributes.SetTimes(c.ctx, c.who(), path, time.Unix(0, ns))
	}
	return nil
}

// locate answers kXR_locate. A manager answers about names itself, so for directories, and for every server
// that may have a path ("*/path"), it names itself, as a server: clients would look behind a manager, and
// list a directory or add up the room once for each server. For every server ("*") it names the nodes.
func (c *conn) locate(r *request) error {
	raw, _ := wire.SplitPath(r.payload)
	named := wire.DecodeLocate(r.Body).Options&wire.LocatePrefName != 0
	raw, every := strings.CutPrefix(raw, "*")
	if every && raw == "" {
		return c.ok(r, wire.AppendLocations(nil, c.servers(named)))
	}
	path, err := wire.CleanPath(raw)
	if err != nil {
		return err
	}
	e, err := c.srv.o.Names.Stat(c.ctx, c.who(), path)
	if err != nil {
		return err
	}
	if every || e.IsDir() {
		return c.ok(r, wire.AppendLocations(nil, []wire.Location{c.here(named)}))
	}
	targets, err := c.srv.o.Files.Locate(c.ctx, c.who(), path)
	if err != nil {
		return err
	}
	list := make([]wire.Location, 0, len(targets))
	for _, t := range targets {
		list = append(list, wire.Location{Type: 'S', Access: 'r', Addr: t.Addr})
	}
	if len(list) == 0 {
		list = append(list, c.here(named))
	}
	return c.ok(r, wire.AppendLocations(nil, list))
}

// servers are the nodes that are online; this server where there are none.
func (c *conn) servers(named bool) (list []wire.Location) {
	if c.srv.o.View == nil {
		return []wire.Location{c.here(named)}
	}
	view := c.srv.o.View()
	for _, n := range view.Nodes {
		if n.Status != hemera.NodeOnline {
			continue
		}
		l := wire.Location{Type: 'S', Access: 'r', Addr: n.Addr}
		if slices.ContainsFunc(view.Disks, func(d hemera.Disk) bool { return d.Node == n.ID && d.Writable() }) {
			l.Access = 'w'
		}
		list = append(list, l)
	}
	if len(list) == 0 {
		return []wire.Location{c.here(named)}
	}
	return list
}

// here is this server as the client of this connection reaches it.
func (c *conn) here(named bool) wire.Location {
	addr := c.nc.LocalAddr().String()
	if named && c.srv.o.Host != "" && c.peer.Local.IsValid() {
		addr = c.srv.o.Host + ":" + strconv.Itoa(int(c.peer.Local.Port()))
	}
	return wire.Location{Type: 'S', Access: 'w', Addr: addr}
}
