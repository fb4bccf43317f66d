package xrd

import (
	"bytes"

	"hemera"
	"hemera/rules/limits"
	"hemera/rules/wire"
)

const (
	// callMax is the longest argument of a query that carries a call: an attribute at its limit, in base64.
	callMax = 160 << 10
	// callSeconds is how long a client is asked to wait when too many calls are under way.
	callSeconds = 1
)

// isCall reports whether a query carries a call of the admin API.
func isCall(q wire.Query, payload []byte) bool {
	return q.Kind == wire.QueryOpaque && bytes.HasPrefix(payload, []byte(hemera.OpaqueCall))
}

// call answers a query that carries a call, as the identity of the session. It runs beside the connection, which sees
// meanwhile that its client goes away; the answer goes out as it comes.
func (c *conn) call(r *request) error {
	select {
	case c.slots <- struct{}{}:
	default:
		return &waitFor{Seconds: callSeconds, Text: "too much slow work on this connection"}
	}
	account := c.srv.o.Budgets.Calls.Open(c.countedAs())
	if verdict := account.Take(1); verdict != limits.Fits {
		account.Close()
		<-c.slots
		return &waitFor{Seconds: callSeconds, Text: "too many calls are under way: " + verdict.String()}
	}
	who, message := c.who(), bytes.Clone(r.payload[len(hemera.OpaqueCall):])
	own := &request{RequestHeader: r.RequestHeader, trace: r.traceID()}
	c.jobs.Go(func() {
		defer func() {
			account.Give(1)
			account.Close()
			<-c.slots
		}()
		defer c.contain()
		if err := c.answerCall(own, who, message); err != nil {
			_ = c.nc.Close()
		}
	})
	return nil
}

// answerCall sends each piece of the answer when it is there. Its error ends the connection.
func (c *conn) answerCall(r *request, who hemera.Identity, message []byte) error {
	err := c.srv.o.Calls.Call(c.traced(r), who, message, func(piece []byte) error {
		if err := c.out.Answer(r.Stream, wire.StatusOKSoFar, piece); err != nil {
			return err
		}
		return c.out.Flush()
	})
	if err == nil {
		err = c.ok(r, nil)
	} else {
		err = c.answerError(r, err)
	}
	if err != nil {
		return err
	}
	return c.out.Flush()
}
