package xrd

import (
	"context"
	"encoding/binary"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"hemera/doors/xrd/translate"
	"hemera/doors/xrd/undo"
	"hemera/rules/limits"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// handle is a file, or one piece of a file, that a session has open.
//
// A write ends with its handle in one of these ways:
//   - close of a file commits it; if that fails, nothing of it is visible.
//   - close of a piece keeps it: its head has decided by a seal or an abort before.
//   - abort removes the pending data.
//   - When a client disconnects its write stays pending for a while, and the client finds it with another open. The
//     write is aborted instead if the client asked for that (posc), or if pages are known to be bad. A checkpoint that
//     was not committed is undone.
//
// Each handle is ended once, by the goroutine of the session's connection or by asynchronous work that it started.
type handle interface {
	// data returns the common part.
	data() *openFile
	// close ends the handle as its client asked for. After a write it returns when the file is durable and visible.
	close(ctx context.Context) error
	// abort ends the handle and removes a pending write.
	abort(ctx context.Context)
	// abandon ends the handle of a client that disconnected. The client may continue a write.
	abandon(log *slog.Logger)
}

// endable is the common part of [hemera.File] and [hemera.PieceHandle].
type endable interface {
	hemera.Handle
	End(ctx context.Context, how hemera.Ending) error
}

// openFile is the state of an open file or piece. It belongs to the session's goroutine. Work on a bound connection, and
// asynchronous work, uses only file and the bad pages, and is counted in inUse.
type openFile struct {
	file     endable // all I/O uses it
	path     string  // as the client opened it, for errors and logs
	writable bool    // opened for writing; never changes
	onTape   bool    // a read without a good piece sends the client to the manager; never changes
	ended    bool    // sealed or aborted by a query: only close is possible
	bad      badPages
	counted  *limits.Account[Client] // the budget of open files that has this one; nil if none
	client   Client                  // the client that is charged for it; zero for none
	// inUse counts work that uses the file outside the session's goroutine. Only that goroutine adds to it.
	inUse sync.WaitGroup
}

func (f *openFile) data() *openFile { return f }

// uncount ends the charge of an open file. Later calls do nothing.
func (f *openFile) uncount() {
	if f.counted != nil {
		f.counted.Give(1)
		f.counted.Close()
		f.counted = nil
	}
}

// forReading fails if the file was ended.
func (f *openFile) forReading() error {
	if f.ended {
		return errBadHandle
	}
	return nil
}

// forWriting fails if the file was ended, or is open for reading.
func (f *openFile) forWriting() error {
	switch {
	case f.ended:
		return errBadHandle
	case !f.writable:
		return translate.Refuse(wire.NotAuthorized, "the file is not open for writing")
	}
	return nil
}

// badPages has the pages whose checksums did not match and that the client must send again before it closes. It is safe
// for concurrent use.
type badPages struct {
	mu    sync.Mutex
	pages map[int64]int // the length of each, by offset
}

// add records a page. inRequest is the number of earlier bad pages of the same request.
func (b *badPages) add(off int64, n, inRequest int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pages == nil {
		b.pages = map[int64]int{}
	}
	b.pages[off] = n
	if inRequest >= wire.PageErrorsMax || len(b.pages) > wire.PageErrorsFileMax {
		return translate.Refuse(wire.TooManyErrs, "too many pages do not match their checksums")
	}
	return nil
}

// remove forgets a page that arrived again with a matching checksum.
func (b *badPages) remove(off int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pages, off)
}

// has reports whether the client must send the page again.
func (b *badPages) has(off int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.pages[off]
	return ok
}

func (b *badPages) any() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.pages) > 0
}

// fileHandle is a handle of a whole file, for a client.
type fileHandle struct {
	openFile
	posc    bool              // persist on successful close: aborted when the connection ends
	undo    *undo.Log[Client] // the current checkpoint
	pull    *pull             // third-party copy into this file
	restart *copyRestart      // set if the copy is restarted when a write fails
	write   *hemera.Grant     // of a write that a manager's door opened itself
	granted *hemera.Permit    // of a read that a manager's door opened itself
	// attributes has the changes through this handle, by stored name; nil removes one.
	attributes map[string][]byte
}

// close first waits for work on bound connections and queries of holes.
func (h *fileHandle) close(ctx context.Context) error {
	h.inUse.Wait()
	switch {
	case h.ended:
		h.detach(ctx)
		return nil
	// A client that closes the destination of a copy cancels the copy; the protocol has no other way.
	case h.pull != nil && !h.pull.finished():
		h.pull.stop()
		h.abort(ctx)
		return nil
	case h.pull != nil && h.pull.err != nil: // the sync has reported it
		h.abort(ctx)
		return nil
	case h.bad.any():
		h.abort(ctx)
		return translate.Refuse(wire.ChkSumErr, "pages whose checksums did not match were not sent again; nothing was kept")
	}
	// The close undoes a checkpoint that was not committed.
	if h.undo != nil {
		if err := h.rollback(); err != nil {
			h.abort(ctx)
			return err
		}
	}
	h.passAttributes()
	return h.file.End(ctx, hemera.EndClose)
}

// abort also ends the charge of the handle, which may not have entered its table.
func (h *fileHandle) abort(ctx context.Context) {
	h.uncount() // the caller may not remove the handle from its table
	h.forgetUndo()
	if h.writable {
		_ = h.file.End(ctx, hemera.EndAbort)
		return
	}
	h.detach(ctx)
}

// detach ends the use of the file, and keeps a pending write for a client that reconnects. It never commits.
func (h *fileHandle) detach(ctx context.Context) {
	h.forgetUndo()
	h.passAttributes()
	_ = h.file.End(ctx, hemera.EndDetach)
}

// abandonTimeout bounds the work for a client that disconnected.
const abandonTimeout = 30 * time.Second

// abandon ends the handle without an answer, and keeps the data that the client may continue.
func (h *fileHandle) abandon(log *slog.Logger) {
	h.inUse.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), abandonTimeout)
	defer cancel()
	if h.ended {
		_ = h.file.End(ctx, hemera.EndDetach)
		return
	}
	if h.pull != nil {
		h.pull.stop()
		// A copy that has succeeded has all its bytes, and its client got the answer.
		if h.pull.done == nil || h.pull.err != nil {
			h.abort(ctx)
			return
		}
	}
	if h.undo != nil {
		if err := h.rollback(); err != nil {
			log.Warn("checkpoint of a lost client not rolled back", "path", h.path, "error", err)
			h.abort(ctx)
			return
		}
	}
	// The client asked for this, or its data is incomplete.
	if h.posc || h.bad.any() && h.writable {
		h.abort(ctx)
		return
	}
	h.detach(ctx)
}

// pieceHandle is a handle of one piece, for the head node. A query seals or aborts the piece before its close. Close
// alone keeps a piece pending.
type pieceHandle struct {
	openFile
	piece hemera.PieceHandle // also file
}

// close keeps a piece pending that was not ended, unless pages are known to be bad.
func (h *pieceHandle) close(ctx context.Context) error {
	h.inUse.Wait()
	switch {
	case h.ended:
		_ = h.file.End(ctx, hemera.EndClose) // after an abort nothing remains to end
		return nil
	case h.bad.any():
		h.abort(ctx)
		return translate.Refuse(wire.ChkSumErr, "pages whose checksums did not match were not sent again; nothing was kept")
	}
	return h.file.End(ctx, hemera.EndClose)
}

// abort removes the piece, also if it is sealed.
func (h *pieceHandle) abort(ctx context.Context) {
	h.uncount()
	_ = h.file.End(ctx, hemera.EndAbort)
}

// abandon keeps the piece for a head that reconnects.
func (h *pieceHandle) abandon(*slog.Logger) {
	h.inUse.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), abandonTimeout)
	defer cancel()
	if h.bad.any() && h.writable && !h.ended {
		h.abort(ctx)
		return
	}
	_ = h.file.End(ctx, hemera.EndDetach) // its head may reconnect to continue or abort it
}

// handleTable has the open handles of one session. It belongs to the goroutine of the session's connection except for
// open and reading.
type handleTable struct {
	limit  int // of handles
	budget *limits.Budget[Client]
	files  map[wire.Handle]handle
	lastID uint32 // ids are not reused while the session lives
	client Client // the client that is charged for all handles; zero if there are several, or none

	open    atomic.Int32 // len(files), for Shutdown, CloseIdle and admins
	reading localReads   // for other sessions: see readMemory
}

// count charges one more open file to the client, and returns its account.
func (t *handleTable) count(client Client) (*limits.Account[Client], error) {
	if len(t.files) >= t.limit { // the session's limit; the budget is for all sessions of the client
		return nil, errs.New(errs.Overloaded, "xrd.Open", "", "this session has too many open files").
			WithRemedy("close some")
	}
	account := t.budget.Open(client)
	if verdict := account.Take(1); verdict != limits.Fits {
		account.Close()
		return nil, errs.New(errs.Overloaded, "xrd.Open", "", "too many files are open at this server: "+verdict.String()).
			WithRemedy("close some, or let the server have more open files (LimitNOFILE)")
	}
	return account, nil
}

// add gives an open file its handle.
func (t *handleTable) add(h handle) wire.Handle {
	t.lastID++
	var id wire.Handle
	binary.BigEndian.PutUint32(id[:], t.lastID)
	if of := h.data().client; len(t.files) == 0 {
		t.client = of
	} else if t.client != of {
		t.client = Client{} // a head, which works for several clients
	}
	t.files[id] = h
	if f, ok := h.(*fileHandle); ok && f.granted != nil {
		t.reading.add(id, f)
	}
	t.open.Add(1)
	return id
}

// get returns the handle with the id.
func (t *handleTable) get(id wire.Handle) (handle, error) {
	if h := t.files[id]; h != nil {
		return h, nil
	}
	return nil, errBadHandle
}

// forReading returns the open file of the id. It fails if it was ended: then only close is possible.
func (t *handleTable) forReading(id wire.Handle) (*openFile, error) {
	h, err := t.get(id)
	if err != nil {
		return nil, err
	}
	f := h.data()
	return f, f.forReading()
}

// forWriting returns the open file of the id. It fails if it was ended, or is open for reading.
func (t *handleTable) forWriting(id wire.Handle) (*openFile, error) {
	h, err := t.get(id)
	if err != nil {
		return nil, err
	}
	f := h.data()
	return f, f.forWriting()
}

// file returns the handle of the id. It fails if the handle is of a piece.
func (t *handleTable) file(id wire.Handle) (*fileHandle, error) {
	if h, ok := t.files[id].(*fileHandle); ok {
		return h, nil
	}
	return nil, errBadHandle
}

// remove removes a handle from the table. The caller closes it.
func (t *handleTable) remove(id wire.Handle) {
	h := t.files[id]
	h.data().uncount()
	if f, ok := h.(*fileHandle); ok && f.granted != nil {
		t.reading.remove(id)
	}
	delete(t.files, id)
	t.open.Add(-1)
}

// abandonAll abandons all handles of a client that disconnected.
func (t *handleTable) abandonAll(o *Options) {
	for id, h := range t.files {
		// A panic in one must not keep the others open.
		o.Panics.Run("xrd.Close", "", func() { h.abandon(o.Log) })
		t.remove(id)
	}
}

// rollback restores the file to the begin of the checkpoint, and ends the checkpoint.
func (h *fileHandle) rollback() error {
	u := h.undo
	h.undo = nil
	return u.Rollback(h.file, h.path)
}

// forgetUndo ends a checkpoint, if there is one, and keeps its changes.
func (h *fileHandle) forgetUndo() {
	if h.undo != nil {
		h.undo.Forget()
		h.undo = nil
	}
}

// setAttribute records one change; a nil value removes the attribute.
func (h *fileHandle) setAttribute(name string, value []byte) {
	if h.attributes == nil {
		h.attributes = map[string][]byte{}
	}
	h.attributes[name] = value
}

// passAttributes gives the changes of attributes to the file, whose commit includes them.
func (h *fileHandle) passAttributes() {
	if pending, ok := h.file.(hemera.XattrSetter); ok {
		for name, value := range h.attributes {
			pending.SetXattr(name, value)
		}
	}
}

// copyRestart is the state of a handle whose copy can be restarted: the announced size, and the capability in opaque
// form.
type copyRestart struct {
	size       int64
	capability wire.Opaque
	// Set when a write failed, with the decision whether the copy is restarted. All later failures on the handle get the
	// same answer: stock clients that get an error beside a redirect wait for ever.
	decided, restarts bool
}

// okOpen answers an open with its handle.
func okOpen(r *request, h handle, o wire.Open) error {
	reply := wire.OpenReply{Handle: r.session.handles.add(h)}
	if o.Options&wire.OpenRetStat != 0 {
		s := translate.StatOf(h.data().file.Info())
		reply.Stat = &s
	}
	return r.ok(reply.Append(nil, o.Options&wire.OpenCompress != 0))
}

// localReads has the handles of reads that a manager's door opened itself, for other sessions. It is safe for concurrent
// use.
type localReads struct {
	mu      sync.Mutex
	handles map[wire.Handle]*fileHandle
}

// add records an open handle.
func (l *localReads) add(id wire.Handle, h *fileHandle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handles == nil {
		l.handles = map[wire.Handle]*fileHandle{}
	}
	l.handles[id] = h
}

// remove forgets a closed handle.
func (l *localReads) remove(id wire.Handle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.handles, id)
}

// contents returns the open contents of the path.
func (l *localReads) contents(path string) (list []*hemera.Content) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.handles {
		if h.path == path {
			list = append(list, h.granted.Content())
		}
	}
	return list
}
