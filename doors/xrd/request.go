package xrd

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"hemera/doors/xrd/translate"
	"hemera/doors/xrd/transport"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// request is one request of a client. Its data arrives on conn, and its answer goes there. It is valid until its handler
// returns; asynchronous work uses a copy from [request.detach].
type request struct {
	wire.RequestHeader
	conn    *conn
	session *session // nil before the login
	payload []byte   // aliases the input buffer; nil if the handler reads it itself
	release func()   // returns what the payload took from a budget; nil for nothing
	trace   string
}

// detach returns a copy of the request for work that answers it later. It has no payload.
func (r *request) detach() *request {
	return &request{RequestHeader: r.RequestHeader, conn: r.conn, session: r.session, trace: r.traceID()}
}

// ok answers the request with success and a body, which may be empty.
func (r *request) ok(body []byte) error {
	return r.conn.out.Answer(r.Stream, wire.StatusOK, body)
}

// okText answers with a text and the NUL that clients expect.
func (r *request) okText(text string) error {
	return r.ok(append([]byte(text), 0))
}

// fail answers the request with the outcome of its handler. If the connection itself has failed it sends no answer and
// returns an error.
func (r *request) fail(err error) error {
	if _, gone := errors.AsType[transport.Broken](err); gone {
		return err
	}
	status, body := r.failure(err)
	return r.conn.out.Answer(r.Stream, status, body)
}

// failure encodes the answer that reports err: a redirect, a wait or an error.
func (r *request) failure(err error) (wire.Status, []byte) {
	if elsewhere, ok := errors.AsType[*redirect](err); ok {
		return wire.StatusRedirect, elsewhere.Append(make([]byte, 0, 8+len(elsewhere.Host)+len(elsewhere.Opaque)))
	}
	if later, ok := errors.AsType[*waitFor](err); ok {
		return wire.StatusWait, wire.Wait(*later).Append(nil)
	}
	// The client shows the trace id to its user, and the log has the whole error with it.
	trace := r.traceID()
	answer := translate.ErrorAnswer(err, trace)
	level := slog.LevelDebug
	if answer.Code == wire.ServerError { // a defect, or an error without a code of its own
		level = slog.LevelWarn
	}
	if log := r.conn.srv.o.Log; log.Enabled(r.conn.ctx, level) {
		log.Log(r.conn.ctx, level, "request failed", "op", r.ID.String(), "code", int(answer.Code), "error", err, "peer", r.conn.peer.Remote, "trace", trace)
	}
	return wire.StatusError, wire.AppendError(nil, answer)
}

// drain drops n bytes of the request's data and returns err, or another error if the connection fails.
func (r *request) drain(n int64, err error) error { return r.conn.intake.drain(n, err) }

// lend lets another goroutine take the poller. Handlers call it before they wait for a disk or a commit; see [conn.lend].
func (r *request) lend() { r.conn.lend() }

// who returns the identity of an authenticated client.
func (r *request) who() hemera.Identity { return *r.session.identity() }

// traceID returns the id of the request in logs. It is made when first needed.
func (r *request) traceID() string {
	if r.trace == "" {
		r.trace = hemera.NewTraceID()
	}
	return r.trace
}

// useTrace adopts the trace id of the client.
func (r *request) useTrace(opaque wire.Opaque) {
	if trace := opaque.Value(wire.OpaqueTrace); trace != "" && len(trace) <= 64 {
		r.trace = printable(trace)
	}
}

// context returns the connection's context with the request's trace id.
func (r *request) context() context.Context { return hemera.WithTrace(r.conn.ctx, r.traceID()) }

// path returns the clean path of the request and the opaque part behind it.
func (r *request) path() (string, wire.Opaque, error) {
	raw, opaque := wire.SplitPath(r.payload)
	path, err := wire.CleanPath(raw)
	return path, opaque, err
}

// byPath reports whether a request that may have a handle or a path has a path. A kXR_fattr begins with a path, which may
// be empty.
func (r *request) byPath() bool {
	return len(r.payload) > 0 && (r.ID != wire.ReqFattr || r.payload[0] != 0)
}

// handler serves one kind of request. Serve answers the request and returns nil, or returns the error for the answer: an
// error of the services, a *redirect, a *waitFor, or a closeAfter. It is called in the goroutine of the connection, and
// may block it.
type handler interface {
	Serve(r *request) error
}

// handlerFunc makes a function a handler.
type handlerFunc func(*request) error

// Serve implements handler.
func (f handlerFunc) Serve(r *request) error { return f(r) }

// handlers has the handlers of a part of a role.
type handlers map[wire.RequestID]handlerFunc

// printable makes a text of a client safe for logs.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f || r == 0xfffd {
			return '_'
		}
		return r
	}, s[:min(len(s), 64)])
}
