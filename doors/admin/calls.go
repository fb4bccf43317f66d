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

// answerPiece bounds the bytes of an answer that are collected before they are sent.
const answerPiece = 32 << 10

// callerKey is the context key of an identity that another door has authenticated; see caller. The type is not exported,
// so that only this package can set it.
type callerKey struct{}

// calls passes requests that came through another door to a handler of [NewHandler].
type calls struct{ http.Handler }

// NewCalls returns an interface through which another door passes requests to a handler of [NewHandler]. Only requests of
// verbs are accepted. They run as the identity that the door has authenticated.
func NewCalls(h http.Handler) adminapi.Calls { return calls{h} }

// Call implements adminapi.Calls. It fails with Invalid if the bytes are not an HTTP request, with Unsupported if the path
// is not a verb's, and with the error of answer. Errors of a verb are in its HTTP response.
func (c calls) Call(ctx context.Context, who hemera.Identity, request []byte, answer func([]byte) error) error {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(request)))
	if err != nil {
		return errs.As(err, errs.Invalid, "admin.Call", "")
	}
	if r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, adminapi.Service) {
		return errs.New(errs.Unsupported, "admin.Call", r.URL.Path, "only verbs of the admin API are answered here")
	}
	// For the log only; no decision depends on it.
	r.RemoteAddr = who.Host
	w := &callAnswer{header: http.Header{}, answer: answer}
	w.out = bufio.NewWriterSize(pieces{w}, answerPiece)
	c.ServeHTTP(w, r.WithContext(context.WithValue(ctx, callerKey{}, who)))
	// A verb without output still has a status line.
	w.WriteHeader(http.StatusOK)
	_ = w.out.Flush()
	return w.err
}

// caller returns the sender of a request that came through another door.
func caller(ctx context.Context) (who hemera.Identity, ok bool) {
	who, ok = ctx.Value(callerKey{}).(hemera.Identity)
	return who, ok
}

// callAnswer is an http.ResponseWriter that sends the response to another door. Only the goroutine of the verb uses it.
// It has no deadlines, so http.ResponseController returns an error, which guard ignores.
type callAnswer struct {
	header http.Header
	begun  bool               // the status line was written
	out    *bufio.Writer      // collects up to answerPiece, then writes to pieces
	answer func([]byte) error // of the other door; must not retain the bytes
	err    error              // the error of answer
}

// pieces sends bytes and keeps the error of sending.
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

// WriteHeader implements http.ResponseWriter. Only the first status counts, as in net/http.
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

// Flush implements http.Flusher. Connect flushes after each message of a stream, so that a match of a search is shown at
// once.
func (w *callAnswer) Flush() {
	w.WriteHeader(http.StatusOK)
	_ = w.out.Flush()
}
