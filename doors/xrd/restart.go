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

// restartKey is the key, in an opaque part, of the write for which a copy is restarted. Stock xrdcp restarts a copy when
// a write fails finally and a redirect of the file's last open had the flag wire.FlagRecoverWrts (§5). The flag must not
// be set from the begin:
//   - a copy from a pipe would restart with the rest of the pipe, and succeed;
//   - if the failure comes after the last chunk, it forgets the server, writes a local file with the same path, and
//     succeeds.
//
// So the node decides when a write fails. The size of the file must have been announced (which is not so for a pipe), and
// so much of it must remain that more chunks follow. Then the node answers the write with a redirect to the manager, with
// the capability and restartKey in the opaque part. The client opens the file there to continue it. The manager redirects
// this open to itself with the flag, and refuses the next: the copy restarts.
const restartKey = translate.RestartKey

const (
	// restartChunks bounds the chunks that a copy has in transit: its default is 4.
	restartChunks = 16
	// restartChunkMin is the least expected size of a chunk, in bytes: the default.
	restartChunkMin = 8 << 20
)

// copyRestarts restarts stock copies whose writes failed. It has both sides: the node's, which decides, and the
// manager's, to which the client is redirected.
type copyRestarts struct{ managerAddr func() string }

// forOpen returns the state that a handle needs to restart its copy, or nil if that is impossible.
func (c *copyRestarts) forOpen(ss *session, opaque wire.Opaque, o wire.Open) *copyRestart {
	size := translate.ExpectedSize(opaque) // a copy of a pipe announces none
	if size <= restartChunks*restartChunkMin || !translate.CreatesFile(o) && !translate.ReopensWrite(o) || ss.login.Ability&wire.AbilityRedirFlags == 0 {
		return nil
	}
	return &copyRestart{size: size, capability: wire.Opaque(wire.OpaqueCapability + "=" + opaque.Value(wire.OpaqueCapability) +
		"&" + wire.OpaqueNode + "=" + opaque.Value(wire.OpaqueNode))}
}

// onFailure returns the answer to a failed request: err, or the redirect that restarts a copy. Only the session's
// goroutine may call it.
func (c *copyRestarts) onFailure(r *request, err error) error {
	if r.conn.session == nil {
		return err
	}
	id, off, writes := handleOf(r) // the zero handle is never used
	h, ok := r.session.handles.files[id].(*fileHandle)
	if !ok || h.restart == nil {
		return err
	}
	a, addr := h.restart, c.managerAddr()
	if writes && !a.decided { // the first write that fails decides
		a.decided = true
		a.restarts = addr != "" && retryableElsewhere(err) && off <= a.size-restartChunks*max(restartChunkMin, int64(r.Length))
	}
	if !a.restarts || addr == "" {
		return err
	}
	return redirectTo(addr, a.capability.With(restartKey, restartMark(a.capability)))
}

// handleOf returns the handle of a request, for requests that clients send while they write, and the offset of a write.
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

// retryableElsewhere reports whether a request that failed with err may succeed at another node.
func retryableElsewhere(err error) bool {
	switch errs.KindOf(err) {
	case errs.IO, errs.Corrupt, errs.NoSpace, errs.ReadOnly, errs.Conflict, errs.Unavailable, errs.Timeout, errs.Fenced:
		return true
	}
	return false
}

// restartMark returns a mark of the capability: a restarted copy still sends the mark of the old one.
func restartMark(opaque wire.Opaque) string {
	token := opaque.Value(wire.OpaqueCapability)
	return strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(token))), 16)
}

// onReopen answers, at the manager, the opens of a client whose copy is restarted. It returns nil for all others. The
// redirect contains the path; otherwise the client would regard it as the same place and drop the flag.
func (c *copyRestarts) onReopen(r *request, path string, opaque wire.Opaque, o wire.Open) error {
	got := opaque.Value(restartKey) // which write, and whether the redirect had the flag
	if got == "" || !translate.ReopensWrite(o) {
		return nil
	}
	mark := restartMark(opaque)
	flagged := mark + ".flagged"
	switch {
	case got == mark && r.session.login.Ability&wire.AbilityRedirFlags != 0:
		return &redirect{wire.Redirect{ // with the flags in place of the port, the host is a URL
			Port: ^int32(wire.FlagRecoverWrts), Host: "root://" + c.managerAddr() + "/" + path,
			Opaque: wire.Opaque(restartKey + "=" + flagged),
		}}
	case got == mark, got == flagged:
		return translate.Refuse(wire.Conflict, "the write was aborted, its content is lost; write the file again from its beginning")
	}
	return nil
}

// lostFile stands for a lost write, when its client opens it again. All its calls fail: the offset of the next write then
// decides whether the copy is restarted.
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

// End fails unless the client only disconnects.
func (f lostFile) End(_ context.Context, how hemera.Ending) error {
	if how == hemera.EndClose {
		return f.Err
	}
	return nil
}
