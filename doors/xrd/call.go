package xrd

import (
	"bytes"

	"hemera/rules/limits"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

const (
	// callMax bounds the argument of a query with a call: an attribute of the largest size, in base64.
	callMax = 160 << 10
	// callSeconds is the wait of a client when too many calls are under way.
	callSeconds = 1
)

// isCall reports whether a query carries a call of the admin API.
func isCall(q wire.Query, payload []byte) bool {
	return q.Kind == wire.QueryOpaque && bytes.HasPrefix(payload, []byte(wire.OpaqueCall))
}

// serveCall answers a query with a call, as the identity of the session. It runs outside the connection's goroutine,
// which detects meanwhile that the client leaves. The pieces of the answer are sent as they come.
func (q *queryHandlers) serveCall(r *request) error {
	c := r.conn
	if !c.async.acquire() {
		return &waitFor{Seconds: callSeconds, Text: "too much slow work on this connection"}
	}
	// A call may run as long as an admin's command, so calls are bounded for each client, besides the slots of the
	// connection.
	account := q.srv.o.Budgets.Calls.Open(c.countedAs())
	if verdict := account.Take(1); verdict != limits.Fits {
		account.Close()
		c.async.release()
		return &waitFor{Seconds: callSeconds, Text: "too many calls are under way: " + verdict.String()}
	}
	who, message := r.who(), bytes.Clone(r.payload[len(wire.OpaqueCall):]) // the payload's memory is reused
	own := r.detach()                                                      // the request ends now, and the answer later
	c.async.start(c, func() {
		defer func() {
			account.Give(1)
			account.Close()
		}()
		if err := q.answerCall(own, who, message); err != nil {
			_ = c.nc.Close()
		}
	})
	return nil
}

// answerCall sends each piece of the answer as it comes. Its error ends the connection.
func (q *queryHandlers) answerCall(r *request, who hemera.Identity, message []byte) error {
	out := r.conn.out
	err := q.calls.Call(r.context(), who, message, func(piece []byte) error {
		if err := out.Answer(r.Stream, wire.StatusOKSoFar, piece); err != nil {
			return err
		}
		return out.Flush()
	})
	// The last frame is empty, because the pieces were sent with kXR_oksofar.
	if err == nil {
		err = r.ok(nil)
	} else {
		err = r.fail(err)
	}
	if err != nil {
		return err
	}
	return out.Flush()
}
