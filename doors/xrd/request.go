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

// request is one message of a client, and the way to answer it. Its data comes on conn and its answer goes there. It is
// valid until its handler returns: asynchronous work takes a copy with [request.detach].
type request struct {
	wire.RequestHeader
	conn    *conn
	session *session // nil before the login
	payload []byte   // aliases the input buffer; nil if the handler reads it itself
	release func()   // gives back what the payload took of a budget; nil for nothing
	trace   string
}

// detach returns a copy of the request for work that answers it later. It has no payload.
func (r *request) detach() *request {
	return &request{RequestHeader: r.RequestHeader, conn: r.conn, session: r.session, trace: r.traceID()}
}

// ok answers the request with a body, or none.
func (r *request) ok(body []byte) error {
	return r.conn.out.Answer(r.Stream, wire.StatusOK, body)
}

// okText answers with a text and the NUL that clients expect behind it.
func (r *request) okText(text string) error {
	return r.ok(append([]byte(text), 0))
}

// fail answers the request with what its handler returned. It returns an error, and answers nothing, if the connection
// itself has failed.
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
	// The client shows the trace id to its user, and the log has the whole error under it.
	trace := r.traceID()
	answer := translate.ErrorAnswer(err, trace)
	level := slog.LevelDebug
	if answer.Code == wire.ServerError { // a defect, or a failure that has no number
		level = slog.LevelWarn
	}
	if log := r.conn.srv.o.Log; log.Enabled(r.conn.ctx, level) {
		log.Log(r.conn.ctx, level, "request failed", "op", r.ID.String(), "code", int(answer.Code), "error", err, "peer", r.conn.peer.Remote, "trace", trace)
	}
	return wire.StatusError, wire.AppendError(nil, answer)
}

// drain drops n bytes of the request's data and returns err, or another error if the connection fails.
func (r *request) drain(n int64, err error) error { return r.conn.intake.drain(n, err) }

// lend gives the poller to another goroutine. Handlers call it before they wait for a disk or a commit; see [conn.lend].
func (r *request) lend() { r.conn.lend() }

// who returns the identity of an authenticated client.
func (r *request) who() hemera.Identity { return *r.session.identity() }

// traceID returns the id under which the request is found in logs. It is made when something first needs it.
func (r *request) traceID() string {
	if r.trace == "" {
		r.trace = hemera.NewTraceID()
	}
	return r.trace
}

// useTrace continues the trace that the client named.
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

// byPath reports whether a request that may name a handle or a path names a path. The path with which a kXR_fattr
// begins may be empty.
func (r *request) byPath() bool {
	return len(r.payload) > 0 && (r.ID != wire.ReqFattr || r.payload[0] != 0)
}

// handler serves one kind of request. Serve answers the request itself and returns nil, or returns the error to answer
// with: an error of the services, a *redirect, a *waitFor, or a closeAfter. It is called on the goroutine of the
// connection, and may block it.
type handler interface {
	Serve(r *request) error
}

// handlerFunc is a function as a handler.
type handlerFunc func(*request) error

// Serve implements handler.
func (f handlerFunc) Serve(r *request) error { return f(r) }

// handlers are what a part of a role serves.
type handlers map[wire.RequestID]handlerFunc

// printable makes a client's claim safe for logs.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f || r == 0xfffd {
			return '_'
		}
		return r
	}, s[:min(len(s), 64)])
}
