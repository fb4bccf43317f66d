package admin

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// answerPiece is how much of an answer is collected before it is sent on.
const answerPiece = 32 << 10

// callerKey is the context key of an identity that a door has already proved; see caller.
// Its type is not exported, so that only this package can put an identity there.
type callerKey struct{}

// calls has a handler of [NewHandler] answer requests that came through another door.
type calls struct{ http.Handler }

// NewCalls lets another door pass requests on to a handler of [NewHandler]: those of verbs only, as the identity that
// the door found out.
func NewCalls(h http.Handler) hemera.Calls { return calls{h} }

// Call implements hemera.Calls.
// It fails with Invalid if the bytes are not an HTTP request, with Unsupported for a path that is not of a verb,
// and with the error of answer. The errors of a verb are in its HTTP response.
func (c calls) Call(ctx context.Context, who hemera.Identity, request []byte, answer func([]byte) error) error {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(request)))
	if err != nil {
		return errs.As(err, errs.Invalid, "admin.Call", "")
	}
	if r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, adminapi.Service) {
		return errs.New(errs.Unsupported, "admin.Call", r.URL.Path, "only verbs of the admin API are answered here")
	}
	// For the log; nothing is decided by it.
	r.RemoteAddr = who.Host
	w := &callAnswer{header: http.Header{}, answer: answer}
	w.out = bufio.NewWriterSize(pieces{w}, answerPiece)
	c.ServeHTTP(w, r.WithContext(context.WithValue(ctx, callerKey{}, who)))
	// A verb without any output still has a status line.
	w.WriteHeader(http.StatusOK)
	_ = w.out.Flush()
	return w.err
}

// caller is who sent a request that came through another door.
func caller(ctx context.Context) (who hemera.Identity, ok bool) {
	who, ok = ctx.Value(callerKey{}).(hemera.Identity)
	return who, ok
}

// callAnswer is an http.ResponseWriter whose response ends where the answer ends.
// It is used by the one goroutine that runs the verb. Deadlines have no meaning here: http.ResponseController finds
// none and says so, which guard ignores.
type callAnswer struct {
	header http.Header
	begun  bool               // the status line was written
	out    *bufio.Writer      // collects up to answerPiece; below it is pieces
	answer func([]byte) error // of the other door; it must not keep the bytes
	err    error              // the answer's
}

// pieces keeps the error that sending ended with.
type pieces struct{ w *callAnswer }

// Write implements io.Writer.
func (p pieces) Write(b []byte) (int, error) {
	if p.w.err = p.w.answer(b); p.w.err != nil {
		return 0, p.w.err
	}
	return len(b), nil
}

// Header implements http.ResponseWriter.
func (w *callAnswer) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
// Only the first status counts, as in net/http.
func (w *callAnswer) WriteHeader(status int) {
	if w.begun {
		return
	}
	w.begun = true
	fmt.Fprintf(w.out, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	_ = w.header.Write(w.out)
	_, _ = w.out.WriteString("\r\n")
}

// Write implements http.ResponseWriter.
func (w *callAnswer) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.out.Write(b)
}

// Flush implements http.Flusher.
// Connect flushes after each message of a stream, so that a match of a search is shown when it is found.
func (w *callAnswer) Flush() {
	w.WriteHeader(http.StatusOK)
	_ = w.out.Flush()
}
