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

// handle is what a session has open: a file, or one piece of a file.
//
// What becomes of a write when its handle ends:
//
//   - close of a file commits it; nothing of it is visible if that fails.
//   - close of a piece keeps it: its head decides, by a seal or an abort before.
//   - abort removes what is pending.
//   - a client that goes away leaves its write pending for a while, and finds it when it opens again. It is aborted if
//     the client asked for that (posc), or if pages are known to be bad. A checkpoint that was not committed is undone.
//
// Each handle is ended once, by the goroutine of the session's connection or by asynchronous work that it started.
type handle interface {
	// data is the part that both have in common.
	data() *openFile
	// close ends the handle as its client asked for. Of a write it returns when the file is durable and visible.
	close(ctx context.Context) error
	// abort ends the handle; nothing of a write is kept.
	abort(ctx context.Context)
	// abandon ends the handle of a client that went away, which may come back to a write.
	abandon(log *slog.Logger)
}

// endable is what [hemera.File] and [hemera.PieceHandle] have in common.
type endable interface {
	hemera.Handle
	End(ctx context.Context, how hemera.Ending) error
}

// openFile is what is read and written through a handle. It belongs to the session's goroutine. Work on a bound
// connection, and asynchronous work, uses only file and the bad pages, and is counted in inUse.
type openFile struct {
	file     endable // what is open: all I/O goes here
	path     string  // as the client opened it, for errors and logs
	writable bool    // opened for writing; never changes
	onTape   bool    // a read that finds no good piece sends the client to the manager; never changes
	ended    bool    // sealed or aborted by a query: only close is left
	bad      badPages
	counted  *limits.Account[Client] // the budget of open files that this one is counted in; nil if none
	client   Client                  // whom it is charged to, and what is used for it; zero for none
	// inUse counts work that uses the file beside the session's goroutine, which alone adds to it.
	inUse sync.WaitGroup
}

func (f *openFile) data() *openFile { return f }

// uncount ends the count of an open file. Later calls do nothing.
func (f *openFile) uncount() {
	if f.counted != nil {
		f.counted.Give(1)
		f.counted.Close()
		f.counted = nil
	}
}

// forReading fails for a file that was ended.
func (f *openFile) forReading() error {
	if f.ended {
		return errBadHandle
	}
	return nil
}

// forWriting fails for a file that was ended, or is open for reading.
func (f *openFile) forWriting() error {
	switch {
	case f.ended:
		return errBadHandle
	case !f.writable:
		return translate.Refuse(wire.NotAuthorized, "the file is not open for writing")
	}
	return nil
}

// badPages are pages whose checksums did not match and that the client has to send again before it closes. Safe for
// concurrent use.
type badPages struct {
	mu    sync.Mutex
	pages map[int64]int // the length of each, by offset
}

// add records a page. inRequest is how many of the same request are bad already.
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

// remove forgets a page that came again, with a checksum that matches.
func (b *badPages) remove(off int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pages, off)
}

// has reports whether the client is to send the page again.
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

// fileHandle is a handle of a whole file, as clients have them.
type fileHandle struct {
	openFile
	posc    bool              // persist on successful close: aborted when the connection ends
	undo    *undo.Log[Client] // checkpoint under way
	pull    *pull             // third-party copy into this file
	restart *copyRestart      // to have a copy restarted when a write fails
	write   *hemera.Grant     // of a write that a manager's door opened itself
	granted *hemera.Permit    // of a read that a manager's door opened itself
	// attributes were set through this handle, under their stored names; nil removes one.
	attributes map[string][]byte
}

// close first lets the work on bound connections and the queries of holes end.
func (h *fileHandle) close(ctx context.Context) error {
	h.inUse.Wait()
	switch {
	case h.ended:
		h.detach(ctx)
		return nil
	// A client that closes the destination of a copy cancels it; the protocol has no other way.
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
	// A checkpoint that was not committed is undone by the close.
	if h.undo != nil {
		if err := h.rollback(); err != nil {
			h.abort(ctx)
			return err
		}
	}
	h.passAttributes()
	return h.file.End(ctx, hemera.EndClose)
}

// abort also ends the count of the handle, as a handle that is aborted may never have got into its table.
func (h *fileHandle) abort(ctx context.Context) {
	h.uncount() // the caller may not remove the handle from its table
	h.forgetUndo()
	if h.writable {
		_ = h.file.End(ctx, hemera.EndAbort)
		return
	}
	h.detach(ctx)
}

// detach ends use of the file, and keeps a pending write for a client that comes back. It never commits.
func (h *fileHandle) detach(ctx context.Context) {
	h.forgetUndo()
	h.passAttributes()
	_ = h.file.End(ctx, hemera.EndDetach)
}

// abandonTimeout bounds what is done for a client that went away.
const abandonTimeout = 30 * time.Second

// abandon ends the handle without an answer, and keeps what the client may want to find again.
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
		// A copy that has ended well has all its bytes, and its client heard so.
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
	// The client asked for nothing to be kept, or its data is known to be incomplete.
	if h.posc || h.bad.any() && h.writable {
		h.abort(ctx)
		return
	}
	h.detach(ctx)
}

// pieceHandle is a handle of one piece, as head nodes have them at other nodes. A query seals or aborts the piece, and
// then it is closed. Close alone keeps a piece pending.
type pieceHandle struct {
	openFile
	piece hemera.PieceHandle // also file
}

// close of a piece that was not ended keeps it pending, unless pages are known to be bad.
func (h *pieceHandle) close(ctx context.Context) error {
	h.inUse.Wait()
	switch {
	case h.ended:
		_ = h.file.End(ctx, hemera.EndClose) // after an abort there is nothing to end
		return nil
	case h.bad.any():
		h.abort(ctx)
		return translate.Refuse(wire.ChkSumErr, "pages whose checksums did not match were not sent again; nothing was kept")
	}
	return h.file.End(ctx, hemera.EndClose)
}

// abort removes the piece, also one that is sealed.
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
	_ = h.file.End(ctx, hemera.EndDetach) // its head may come back, to write on or to abort it
}

// handleTable holds what one session has open. It belongs to the goroutine of the session's connection but for open and
// reading.
type handleTable struct {
	limit  int // of handles
	budget *limits.Budget[Client]
	files  map[wire.Handle]handle
	lastID uint32 // ids are not used again while the session lasts
	client Client // whom all that is open is charged to; zero if there are several, or none

	open    atomic.Int32 // len(files) // for Shutdown, CloseIdle and admins
	reading localReads   // for other sessions: see readMemory
}

// count charges one more open file to the client, and returns the account that gives it back.
func (t *handleTable) count(client Client) (*limits.Account[Client], error) {
	if len(t.files) >= t.limit { // one session's limit; the budget is its client's, over all sessions
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
		t.client = Client{} // a head, which works for several
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

// forReading returns what is open under the id. It fails for what was ended: then only close is left.
func (t *handleTable) forReading(id wire.Handle) (*openFile, error) {
	h, err := t.get(id)
	if err != nil {
		return nil, err
	}
	f := h.data()
	return f, f.forReading()
}

// forWriting returns what is open for writing under the id. It fails for what was ended, and for what is open for reading.
func (t *handleTable) forWriting(id wire.Handle) (*openFile, error) {
	h, err := t.get(id)
	if err != nil {
		return nil, err
	}
	f := h.data()
	return f, f.forWriting()
}

// file returns the handle with the id if it is of a file.
func (t *handleTable) file(id wire.Handle) (*fileHandle, error) {
	if h, ok := t.files[id].(*fileHandle); ok {
		return h, nil
	}
	return nil, errBadHandle
}

// remove takes a handle out of the table. The caller closes it.
func (t *handleTable) remove(id wire.Handle) {
	h := t.files[id]
	h.data().uncount()
	if f, ok := h.(*fileHandle); ok && f.granted != nil {
		t.reading.remove(id)
	}
	delete(t.files, id)
	t.open.Add(-1)
}

// abandonAll ends all handles, for a client that went away.
func (t *handleTable) abandonAll(o *Options) {
	for id, h := range t.files {
		// One that panics keeps none of the others open.
		o.Panics.Run("xrd.Close", "", func() { h.abandon(o.Log) })
		t.remove(id)
	}
}

// rollback puts the file back to where the checkpoint began, and ends it.
func (h *fileHandle) rollback() error {
	u := h.undo
	h.undo = nil
	return u.Rollback(h.file, h.path)
}

// forgetUndo ends a checkpoint, if there is one, with the file as it is now.
func (h *fileHandle) forgetUndo() {
	if h.undo != nil {
		h.undo.Forget()
		h.undo = nil
	}
}

// setAttribute keeps one change; a nil value removes the attribute.
func (h *fileHandle) setAttribute(name string, value []byte) {
	if h.attributes == nil {
		h.attributes = map[string][]byte{}
	}
	h.attributes[name] = value
}

// passAttributes gives the file what was set through the handle, so that it is committed with it.
func (h *fileHandle) passAttributes() {
	if pending, ok := h.file.(hemera.XattrSetter); ok {
		for name, value := range h.attributes {
			pending.SetXattr(name, value)
		}
	}
}

// copyRestart is kept with a handle whose copy can be restarted: the size that was announced, and the capability in
// opaque form.
type copyRestart struct {
	size       int64
	capability wire.Opaque
	// Once a write failed: whether the copy is restarted. Everything that fails on the handle afterwards is answered
	// alike: stock clients that get an error beside a redirect wait for ever.
	decided, restarts bool
}

// okOpen answers an open with the handle it makes.
func okOpen(r *request, h handle, o wire.Open) error {
	reply := wire.OpenReply{Handle: r.session.handles.add(h)}
	if o.Options&wire.OpenRetStat != 0 {
		s := translate.StatOf(h.data().file.Info())
		reply.Stat = &s
	}
	return r.ok(reply.Append(nil, o.Options&wire.OpenCompress != 0))
}

// localReads are the handles of reads that a session's manager's door opened itself, for other sessions to see. It is
// safe for concurrent use.
type localReads struct {
	mu      sync.Mutex
	handles map[wire.Handle]*fileHandle
}

// add records a handle, while it is open.
func (l *localReads) add(id wire.Handle, h *fileHandle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handles == nil {
		l.handles = map[wire.Handle]*fileHandle{}
	}
	l.handles[id] = h
}

// remove forgets a handle that is closed.
func (l *localReads) remove(id wire.Handle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.handles, id)
}

// contents lists the contents of the path that are open.
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
