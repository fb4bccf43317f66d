package xrd

import (
	"context"
	"hash/crc32"
	"strconv"

	"hemera/doors/xrd/translate"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// restartKey names, in an opaque part, the write that a copy is to be restarted for. Stock xrdcp restarts a copy when a
// write fails for good and a redirect of the file's last open was flagged so (wire.FlagRecoverWrts, §5). It must not be
// flagged so from the beginning:
//   - a copy of what comes through a pipe restarts with what is left in the pipe, and succeeds;
//   - when the failure comes after the last chunk was handed out, it forgets the server, writes a local file
//     of the same path, and succeeds.
//
// So the node decides when a write fails. If the size of the file was announced, which it is not for a pipe, and enough
// of it is to come that more chunks are, it answers the write with a redirect to the manager, with the capability and
// restartKey in the opaque part. The client opens the file there, to continue it. The manager redirects this to itself,
// flagged, and refuses what comes then: the copy restarts.
const restartKey = translate.RestartKey

const (
	// restartChunks is how many chunks a copy may have on their way: its default is 4.
	restartChunks = 16
	// restartChunkMin is the least size of a chunk, in bytes, that is expected, which is the default.
	restartChunkMin = 8 << 20
)

// copyRestarts has stock copies restarted whose writes failed. It has both sides: a node's, which decides, and a
// manager's, to which the client is sent.
type copyRestarts struct{ managerAddr func() string }

// forOpen returns what is kept with the handle of an open to have a copy restarted, nil if it never can be.
func (c *copyRestarts) forOpen(ss *session, opaque wire.Opaque, o wire.Open) *copyRestart {
	size := translate.ExpectedSize(opaque) // a copy of a pipe names none
	if size <= restartChunks*restartChunkMin || !translate.CreatesFile(o) && !translate.ReopensWrite(o) || ss.login.Ability&wire.AbilityRedirFlags == 0 {
		return nil
	}
	return &copyRestart{size: size, capability: wire.Opaque(wire.OpaqueCapability + "=" + opaque.Value(wire.OpaqueCapability) +
		"&" + wire.OpaqueNode + "=" + opaque.Value(wire.OpaqueNode))}
}

// onFailure returns the answer to a request that failed: err, or the redirect by which a copy is restarted. Only the
// session's goroutine may call it.
func (c *copyRestarts) onFailure(r *request, err error) error {
	if r.conn.session == nil {
		return err
	}
	id, off, writes := handleOf(r) // the zero handle is never given out
	h, ok := r.session.handles.files[id].(*fileHandle)
	if !ok || h.restart == nil {
		return err
	}
	a, addr := h.restart, c.managerAddr()
	if writes && !a.decided { // the first write that fails decides for all
		a.decided = true
		a.restarts = addr != "" && retryableElsewhere(err) && off <= a.size-restartChunks*max(restartChunkMin, int64(r.Length))
	}
	if !a.restarts || addr == "" {
		return err
	}
	return redirectTo(addr, a.capability.With(restartKey, restartMark(a.capability)))
}

// handleOf returns the handle that a request is about, if it is one that clients send while they write, and where it
// writes, if it does.
func handleOf(r *request) (id wire.Handle, off int64, writes bool) {
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

// retryableElsewhere reports whether what failed here may succeed at another node.
func retryableElsewhere(err error) bool {
	switch errs.KindOf(err) {
	case errs.IO, errs.Corrupt, errs.NoSpace, errs.ReadOnly, errs.Conflict, errs.Unavailable, errs.Timeout, errs.Fenced:
		return true
	}
	return false
}

// restartMark tells one capability from another: the opaque part of a copy that was restarted still has the mark.
func restartMark(opaque wire.Opaque) string {
	token := opaque.Value(wire.OpaqueCapability)
	return strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(token))), 16)
}

// onReopen answers, at the manager, the opens of a client that is to restart its copy; nil for all others. The redirect
// names the path, or the client would take it for the same place and forget the flag.
func (c *copyRestarts) onReopen(r *request, path string, opaque wire.Opaque, o wire.Open) error {
	got := opaque.Value(restartKey) // of which write, and whether the redirect was flagged already
	if got == "" || !translate.ReopensWrite(o) {
		return nil
	}
	mark := restartMark(opaque)
	flagged := mark + ".flagged"
	switch {
	case got == mark && r.session.login.Ability&wire.AbilityRedirFlags != 0:
		return &redirect{wire.Redirect{ // where the flags stand for the port, the host is a URL
			Port: ^int32(wire.FlagRecoverWrts), Host: "root://" + c.managerAddr() + "/" + path,
			Opaque: wire.Opaque(restartKey + "=" + flagged),
		}}
	case got == mark, got == flagged:
		return translate.Refuse(wire.Conflict, "the write was aborted, its content is lost; write the file again from its beginning")
	}
	return nil
}

// lostFile is a write that is lost, for a client that comes back to it. All that it can do is fail: the offset of the next
// write then decides whether the copy is restarted.
type lostFile struct {
	hemera.Refusal
	path string
}

var _ hemera.File = lostFile{}

func newLostHandle(path string, err error) *fileHandle {
	return &fileHandle{openFile: openFile{file: lostFile{hemera.Refusal{Err: err}, path}, path: path, writable: true}}
}

// Info describes an empty file.
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
