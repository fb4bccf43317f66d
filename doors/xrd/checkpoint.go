package xrd

import (
	"hemera/doors/xrd/translate"
	"hemera/doors/xrd/undo"
	"hemera/rules/limits"
	"hemera/rules/wire"
)

// checkpointHandlers serve checkpoints: changes that can be undone.
type checkpointHandlers struct {
	writes *writeHandlers
	files  *fileHandlers
	budget *limits.Budget[Client] // for memory
}

// chkpoint answers kXR_chkpoint. Changes between begin and commit can be undone, and are undone when the client leaves.
func (c *checkpointHandlers) chkpoint(r *request) error {
	q := wire.DecodeChkpoint(r.Body)
	if q.Operation == wire.CkpXeq { // carries another request in its payload
		return c.chkpointXeq(r, q)
	}
	h, err := r.session.handles.file(q.Handle)
	if err == nil {
		err = h.forWriting()
	}
	if err != nil {
		return err
	}
	h.inUse.Wait() // writes that came on bound connections precede the checkpoint
	switch {
	case q.Operation == wire.CkpBegin && h.undo != nil:
		return translate.Refuse(wire.ItExists, "a checkpoint is under way")
	case q.Operation == wire.CkpBegin:
		h.undo = undo.New(h.file.Info().Size, c.budget.Open(h.client))
		return r.ok(nil)
	case q.Operation == wire.CkpQuery:
		reply := wire.ChkpointReply{Max: undo.BytesMax}
		if h.undo != nil {
			reply.Used = uint32(h.undo.Used())
		}
		return r.ok(reply.Append(nil))
	case h.undo == nil:
		return translate.Refuse(wire.NotFound, "no checkpoint is under way")
	case q.Operation == wire.CkpCommit:
		h.forgetUndo()
		return r.ok(nil)
	case q.Operation == wire.CkpRollback:
		if err := h.rollback(); err != nil {
			return err
		}
		return r.ok(nil)
	}
	return translate.Refuse(wire.ArgInvalid, "the checkpoint operation is not known")
}

// chkpointXeq runs the change that the payload describes. The data of the change follows the payload.
func (c *checkpointHandlers) chkpointXeq(r *request, q wire.Chkpoint) error {
	if len(r.payload) != wire.RequestHeaderSize { // the data could not be told from requests
		return closeAfter{translate.Refuse(wire.ArgInvalid, "a checkpointed change needs its request's header")}
	}
	inner := &request{RequestHeader: wire.ParseRequestHeader(r.payload), conn: r.conn, session: r.session, trace: r.trace}
	inner.Stream = r.Stream // the answer belongs to the checkpoint
	if inner.Length < 0 {
		return closeAfter{translate.Refuse(wire.ArgInvalid, "the request's length is negative")}
	}
	h, err := r.session.handles.file(q.Handle)
	if err == nil {
		err = h.forWriting()
	}
	if err == nil && h.undo == nil {
		err = translate.Refuse(wire.NotFound, "no checkpoint is under way")
	}
	if inner.ID == wire.ReqWritev {
		return c.chkpointWritev(inner, h, q.Handle, err)
	}
	run := c.writes.write // it also drops the data of a refused change
	if err == nil {
		switch inner.ID {
		case wire.ReqWrite:
			w := wire.DecodeWrite(inner.Body)
			err = saveBefore(h, w.Handle, q.Handle, w.Offset, int64(inner.Length))
		case wire.ReqPgwrite:
			run = c.writes.pgwrite
			w := wire.DecodePgwrite(inner.Body)
			err = saveBefore(h, w.Handle, q.Handle, w.Offset, int64(inner.Length))
		case wire.ReqTruncate:
			if inner.Length != 0 {
				err = translate.Refuse(wire.ArgInvalid, "a checkpointed truncation goes by handle")
				break
			}
			run = c.files.truncate
			w := wire.DecodeTruncate(inner.Body)
			err = saveBefore(h, w.Handle, q.Handle, w.Size, h.undo.Size()-w.Size) // the bytes that are cut off
		default:
			err = translate.Refuse(wire.ArgInvalid, inner.ID.String()+" cannot be checkpointed")
		}
	}
	if err != nil {
		return inner.drain(int64(inner.Length), err)
	}
	return run(inner)
}

// chkpointWritev runs a vector of changes. It saves all ranges before it writes the first.
func (c *checkpointHandlers) chkpointWritev(inner *request, h *fileHandle, own wire.Handle, err error) error {
	err2 := inner.conn.intake.readPayload(inner, payloadMax)
	if inner.release != nil {
		defer inner.release()
	}
	if err2 != nil {
		return closeAfter{err2}
	}
	n, listErr := wire.CheckSegments(inner.payload) // with the lengths, the begin of the next request is known
	if listErr != nil {
		return closeAfter{listErr}
	}
	var total int64
	for i := range n {
		s := wire.ParseSegment(inner.payload[i*wire.SegmentSize:])
		total += int64(s.Length)
		if err == nil {
			err = saveBefore(h, s.Handle, own, s.Offset, int64(s.Length))
		}
	}
	if err != nil {
		return dropVector(inner, total, err)
	}
	return c.writes.writev(inner)
}

// saveBefore saves the n bytes at off of the handle target, before a request under the checkpoint of h overwrites them.
// own is the handle of h; it fails if target is another one.
func saveBefore(h *fileHandle, target, own wire.Handle, off, n int64) error {
	if target != own {
		return translate.Refuse(wire.ArgInvalid, "the change is for another file than the checkpoint")
	}
	return h.undo.Save(h.file, h.path, off, n)
}
