package xrd

import (
	"context"
	"hash/crc32"
	"strconv"

	"hemera"
	"hemera/errs"
	"hemera/rules/wire"
)

// Stock xrdcp begins a copy anew when a write fails for good and a redirect of the file's last open was
// flagged so (wire.FlagRecoverWrts, §5). It must not be flagged so from the beginning:
//   - a copy of what comes through a pipe begins anew with what is left in the pipe, and succeeds;
//   - when the failure comes after the last chunk was handed out, it forgets the server, writes a local file
//     of the same path, and succeeds.
//
// So the node decides when a write fails: if the size of the file was announced, which it is not for a pipe,
// and so much of it is to come that more chunks are, it answers the write with a redirect to the manager,
// with the grant and lostKey in the opaque part. The client opens the file there, to go on with it; the
// manager redirects this to itself, flagged, and refuses what comes then: the copy begins anew.
const lostKey = "hem.lost"

// anewChunks is how many chunks a copy may have on their way: its default is 4.
const anewChunks = 16

// anewChunk is the least size of a chunk that is reckoned with, which is the default.
const anewChunk = 8 << 20

// anew is what has a copy begun anew: the size that was announced, and the grant in opaque form.
type anew struct {
	size  int64
	grant wire.Opaque
	// Once a write failed: whether the copy begins anew. All that fails on the handle afterwards is answered
	// alike: stock clients that get an error beside a redirect wait for ever.
	decided, begins bool
}

// begins reports whether an open makes or empties the file.
func begins(o wire.Open) bool { return o.Options&(wire.OpenNew|wire.OpenDelete) != 0 }

// comesBack reports whether an open goes on with a write. Stock clients set the async option only the first time.
func comesBack(o wire.Open) bool {
	return !begins(o) && o.Options&(wire.OpenUpdate|wire.OpenWriteTo) != 0 && o.Options&wire.OpenAsync == 0
}

// anewFor is what is kept with a handle to have a copy begun anew, nil if it never can be.
func (c *conn) anewFor(opaque wire.Opaque, o wire.Open) *anew {
	size := announced(opaque)
	if size <= anewChunks*anewChunk || !begins(o) && !comesBack(o) || opaque.Has(hemera.OpaquePiece) ||
		c.session.login.Ability&wire.AbilityRedirFlags == 0 {
		return nil
	}
	return &anew{size: size, grant: wire.Opaque(hemera.OpaqueCapability + "=" + opaque.Value(hemera.OpaqueCapability) +
		"&" + hemera.OpaqueNode + "=" + opaque.Value(hemera.OpaqueNode))}
}

// announced is the size that the client expects the file to have, 0 if it did not say.
func announced(opaque wire.Opaque) int64 {
	size, err := strconv.ParseInt(opaque.Value("oss.asize"), 10, 64)
	if err != nil || size < 0 {
		return 0
	}
	return size
}

// beginAnew is the answer to a request on a handle that failed: err, or the redirect with which a copy begins
// anew. Only the session's goroutine may call it.
func (c *conn) beginAnew(r *request, err error) error {
	if c.session == nil {
		return err
	}
	id, off, writes := changed(r)
	h := c.session.handles[id]
	if h == nil || h.anew == nil {
		return err
	}
	a := h.anew
	addr := c.srv.o.ManagerAddr()
	if writes && !a.decided {
		a.decided = true
		a.begins = addr != "" && elsewhere(err) && off <= a.size-anewChunks*max(anewChunk, int64(r.Length))
	}
	if !a.begins || addr == "" {
		return err
	}
	return redirectTo(addr, a.grant.With(lostKey, lostMark(a.grant)))
}

// changed is the handle that a request is about, if it is one that clients send while they write, and where
// it writes, if it does.
func changed(r *request) (id wire.Handle, off int64, writes bool) {
	switch r.ID {
	case wire.ReqWrite:
		q := wire.DecodeWrite(r.Body)
		return q.Handle, q.Offset, true
	case wire.ReqPgwrite:
		q := wire.DecodePgwrite(r.Body)
		return q.Handle, q.Offset, true
	case wire.ReqSync:
		return wire.DecodeSync(r.Body).Handle, 0, false
	case wire.ReqTruncate:
		return wire.DecodeTruncate(r.Body).Handle, 0, false
	case wire.ReqRead:
		return wire.DecodeRead(r.Body).Handle, 0, false
	case wire.ReqPgread:
		return wire.DecodePgread(r.Body).Handle, 0, false
	}
	return id, 0, false
}

// elsewhere reports whether what failed here may succeed at another node.
func elsewhere(err error) bool {
	switch errs.KindOf(err) {
	case errs.IO, errs.Corrupt, errs.NoSpace, errs.ReadOnly, errs.Conflict, errs.Unavailable, errs.Timeout, errs.Fenced:
		return true
	}
	return false
}

// lostMark tells one grant from another: the opaque part of a copy that begins anew still has the mark.
func lostMark(opaque wire.Opaque) string {
	token := opaque.Value(hemera.OpaqueCapability)
	return strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(token))), 16)
}

// afterLoss answers, at the manager, the opens of a client that is to begin anew; nil for all others. The
// redirect names the path, or the client would take it for the same place and forget the flag.
func (c *conn) afterLoss(path string, opaque wire.Opaque, o wire.Open) error {
	said := opaque.Value(lostKey)
	if said == "" || !comesBack(o) {
		return nil
	}
	mark := lostMark(opaque)
	flagged := mark + ".flagged"
	switch {
	case said == mark && c.session.login.Ability&wire.AbilityRedirFlags != 0:
		return &redirect{wire.Redirect{ // where the flags stand for the port, the host is a URL
			Port: ^int32(wire.FlagRecoverWrts), Host: "root://" + c.srv.o.ManagerAddr() + "/" + path,
			Opaque: wire.Opaque(lostKey + "=" + flagged),
		}}
	case said == mark, said == flagged:
		return refuse(wire.Conflict, "the write was given up, its content is lost; write the file again from its beginning")
	}
	return nil
}

// lostFile is a write that is lost, for a client that comes back to it: what it writes says where it is.
type lostFile struct {
	hemera.Refusal
	path string
}

var _ hemera.File = lostFile{}

func newLostHandle(path string, err error) *handle {
	f := lostFile{hemera.Refusal{Err: err}, path}
	return &handle{file: f, whole: f, path: path, writable: true}
}

// Info is that of an empty file.
func (f lostFile) Info() hemera.FileInfo { return hemera.FileInfo{Path: f.path, Writable: true} }

// Shared implements hemera.File.
func (f lostFile) Shared() bool { return false }

// End fails unless the client only goes away.
func (f lostFile) End(_ context.Context, how hemera.Ending) error {
	if how == hemera.EndClose {
		return f.Err
	}
	return nil
}
