package xrd

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"hemera/doors/xrd/translate"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// nameHandlers serve requests about paths at a manager.
//
// Each handler decodes the request, makes one call of a service as the session's identity, and encodes the result. The
// service checks permissions. A call that changes something returns when the change is durable, so these handlers call
// lend first.
type nameHandlers struct {
	names      hemera.Names      // the tree: stat, list, mkdir, remove, publish
	attributes hemera.Attributes // mode, owner, times, extended attributes
	files      hemera.Files      // files that are being written, and places of pieces
	locate     *locator
	local      localNodes                                                              // nil: no node is in this process
	space      func(context.Context, hemera.Identity, string) (hemera.PathRoom, error) // space below a path; nil: zeros
}

// localNodes finds a node of this process. It returns nil for other nodes.
type localNodes func(hemera.NodeID) hemera.Node

// stat answers kXR_stat at a manager.
func (n *nameHandlers) stat(r *request) error {
	q := wire.DecodeStat(r.Body)
	// Only a door with open files has handles, and it passes these requests to other handlers.
	if len(r.payload) == 0 && q.Handle != (wire.Handle{}) {
		return errBadHandle
	}
	path, opaque, err := r.path()
	if err != nil {
		return err
	}
	if q.Options&wire.StatVFS != 0 {
		return n.statSpace(r, path)
	}
	who := r.session.identity()
	e, err := n.names.Stat(r.conn.ctx, *who, path)
	// A process that asks for a file that it is writing gets the size so far, as on a local disk. Only the node with the
	// write knows it. If the node is in another process, the client is redirected there.
	if err == nil || errs.KindOf(err) == errs.NotFound {
		if g, own, missing := n.files.Pending(r.conn.ctx, *who, path, r.session.processName(), e); missing == nil {
			if e, err = own, nil; !n.addWritten(r, &g, &e) && !opaque.Has(translate.TriedKey) {
				return redirectToHead(&g, translate.RetryElsewhere)
			}
		}
	}
	if err != nil {
		return err
	}
	var line [128]byte // most lines fit, so a stat needs no allocation here
	return r.ok(append(translate.StatOfEntry(e, *who).Append(line[:0]), 0))
}

// addWritten sets the size of an entry that is being written. It returns false if the writer's node is not in this
// process.
func (n *nameHandlers) addWritten(r *request, g *hemera.Grant, e *hemera.Entry) bool {
	if n.local == nil {
		return false
	}
	node := n.local(headOf(g))
	if node == nil {
		return false
	}
	w, err := node.Written(r.conn.ctx, g.Permit, "")
	if err != nil {
		return false
	}
	e.Size, e.Mtime = w.Size, w.Mtime
	return true
}

// statx answers with one byte of flags for each path.
func (n *nameHandlers) statx(r *request) error {
	var flags []byte
	// One failed path fails the request: the answer has no place for an error of one path.
	for _, p := range wire.Lines(r.payload) {
		raw, _ := wire.SplitPath([]byte(p))
		path, err := wire.CleanPath(raw)
		if err != nil {
			return err
		}
		e, err := n.names.Stat(r.conn.ctx, r.who(), path)
		if err != nil {
			return err
		}
		// Clients read only these bits here, so the identity's permissions do not matter.
		const bits = wire.StatIsDir | wire.StatOffline | wire.StatBkpExist
		flags = append(flags, byte(translate.StatOfEntry(e, hemera.Identity{}).Flags&bits))
	}
	if len(flags) == 0 {
		return errNoPath
	}
	return r.ok(flags)
}

// mkdir answers kXR_mkdir. With mode zero the policy decides the mode. The owner can always use a new directory.
func (n *nameHandlers) mkdir(r *request) error {
	path, _, err := r.path()
	if err != nil {
		return err
	}
	q := wire.DecodeMkdir(r.Body)
	r.lend()
	_, err = n.names.Mkdir(r.conn.ctx, r.who(), path, translate.RequestedMode(uint32(q.Mode), 0o700), q.Options&wire.MkdirPath != 0)
	if err != nil {
		return err
	}
	return r.ok(nil)
}

// rm answers kXR_rm. It also removes an empty directory, because clients rely on that.
func (n *nameHandlers) rm(r *request) error { return n.remove(r, 0) }

// rmdir answers kXR_rmdir. It fails with NotDirectory for a file.
func (n *nameHandlers) rmdir(r *request) error { return n.remove(r, hemera.KindDirectory) }

// remove removes the entry at the path; kind zero accepts a file or an empty directory.
func (n *nameHandlers) remove(r *request, kind hemera.EntryKind) error {
	path, _, err := r.path()
	if err != nil {
		return err
	}
	r.lend()
	err = n.names.Remove(r.conn.ctx, r.who(), path, kind)
	// The path does not exist, but the same process may be writing it. Then the write is cancelled, and its close fails.
	if errors.Is(err, errs.NotFound) && kind != hemera.KindDirectory {
		own := n.files.Discard(r.conn.ctx, r.who(), path, r.session.processName(), r.session.name)
		if !errors.Is(own, errs.NotFound) {
			err = own
		}
	}
	if err != nil {
		return err
	}
	return r.ok(nil)
}

// mv answers kXR_mv: a rename or, if the client states the expected content, a publication.
func (n *nameHandlers) mv(r *request) error {
	if len(r.payload) == 0 {
		return errNoPath
	}
	first, second, err := wire.DecodeMv(r.Body).Split(r.payload)
	if err != nil {
		return err
	}
	rawFrom, _ := wire.SplitPath(first)
	rawTo, opaque := wire.SplitPath(second) // the conditions of the client come with the second path
	from, err := wire.CleanPath(rawFrom)
	if err != nil {
		return err
	}
	to, err := wire.CleanPath(rawTo)
	if err != nil {
		return err
	}
	p, publishes, err := translate.Publication(from, to, opaque)
	if err != nil {
		return err
	}
	r.lend()
	// Move also waits for a close that the same process has sent; a publication needs a closed file.
	if publishes {
		err = n.names.Publish(r.conn.ctx, r.who(), p)
	} else {
		err = n.files.Move(r.conn.ctx, r.who(), from, to, r.session.processName())
	}
	if err != nil {
		return err
	}
	return r.ok(nil)
}

// chmod answers kXR_chmod. Hemera's client also sends owner and time in the opaque part, because the protocol has no
// request for them.
func (n *nameHandlers) chmod(r *request) error {
	path, opaque, err := r.path()
	if err != nil {
		return err
	}
	r.lend()
	if err := n.setOwnerAndTime(r, path, opaque); err != nil {
		return err
	}
	if err := n.attributes.SetMode(r.conn.ctx, r.who(), path, uint32(wire.DecodeChmod(r.Body).Mode)&0o777); err != nil {
		return err
	}
	return r.ok(nil)
}

// setOwnerAndTime sets the owner and time that come with a chmod. The owner is first, so that a request to change the
// owner is refused before anything has changed if the client is not an admin.
func (n *nameHandlers) setOwnerAndTime(r *request, path string, opaque wire.Opaque) error {
	if owner := opaque.Value(wire.OpaqueOwner); owner != "" {
		u, g, _ := strings.Cut(owner, ":") // -1 leaves it unchanged
		uid, err1 := strconv.ParseInt(u, 10, 64)
		gid, err2 := strconv.ParseInt(g, 10, 64)
		if err1 != nil || err2 != nil {
			return translate.Refuse(wire.ArgInvalid, wire.OpaqueOwner+" is not uid:gid")
		}
		if err := n.attributes.SetOwner(r.conn.ctx, r.who(), path, uid, gid); err != nil {
			return err
		}
	}
	if mtime := opaque.Value(wire.OpaqueMtime); mtime != "" {
		ns, err := strconv.ParseInt(mtime, 10, 64) // nanoseconds since 1970
		if err != nil {
			return translate.Refuse(wire.ArgInvalid, wire.OpaqueMtime+" is not a time")
		}
		return n.attributes.SetTimes(r.conn.ctx, r.who(), path, time.Unix(0, ns))
	}
	return nil
}
