package xrd

import (
	"hemera/doors/xrd/translate"
	"hemera/doors/xrd/transport"
	"hemera/rules/limits"
	"hemera/rules/wire"
)

const (
	// payloadMax bounds the payload, in bytes, of most requests without file data.
	payloadMax = transport.BufferSize
	// drainMax bounds the payload, in bytes, of a refused request that is read and dropped so that the connection can
	// continue.
	drainMax = 16 << 20
	// retryBusySeconds is the wait of a client before it repeats a request that found no memory or slot.
	retryBusySeconds = 5
)

// intake reads the bytes after a request's header. After every request, also a failed one, the connection is at the begin
// of the next; if that is not possible the connection ends.
//
// A payload that has arrived costs nothing. Otherwise it has a deadline, its memory is charged to the client's budget,
// and the memory grows only with the bytes that arrive.
type intake struct {
	in       *transport.Source
	deadline *readDeadline
	budget   *limits.Budget[Client]
	// forOpenFiles: payloads longer than a buffer are accepted only from clients with an open file. Nodes need no others.
	forOpenFiles bool

	account   *limits.Account[Client] // nil until first needed
	accountOf Client
}

// readPayload reads the payload of a request. max is the longest payload of its kind.
func (i *intake) readPayload(r *request, max int) error {
	n := int(r.Length) // dispatch has refused negative lengths
	switch {
	case n > max:
		return i.skip(r, translate.Refuse(wire.ArgTooLong, "the request is longer than the server takes"))
	case n <= i.in.Buffered():
		b, err := i.in.Peek(n)
		if err != nil {
			return closeAfter{err}
		}
		r.payload = b // valid until the handler returns, because nothing is read before
		i.in.Skip(n)
		return nil
	}
	return i.awaitPayload(r, n)
}

// awaitPayload reads a payload that is long or has not arrived.
func (i *intake) awaitPayload(r *request, n int) error {
	if n > transport.BufferSize && i.forOpenFiles && r.session != nil && r.session.handles.open.Load() == 0 {
		return i.skip(r, translate.Refuse(wire.ArgTooLong, "a node takes requests of this length for open files only"))
	}
	defer i.deadline.require(int64(n))() // bounds the time for which a client that stops sending occupies memory
	if verdict := i.reserve(r, max(n, transport.BufferSize)); verdict != limits.Fits {
		return i.skip(r, &waitFor{Seconds: retryBusySeconds, Text: "too many long requests are under way: " + verdict.String()})
	}
	if n <= transport.BufferSize { // fits behind the header and needs no memory of its own
		b, err := i.in.Peek(n)
		if err != nil {
			return closeAfter{err}
		}
		r.payload = b
		i.in.Skip(n)
		return nil
	}
	b := make([]byte, 0, transport.BufferSize) // grows with the bytes that arrive
	for len(b) < n {
		p, err := i.in.Peek(min(n-len(b), transport.BufferSize/4))
		if err != nil {
			return closeAfter{err}
		}
		b = append(b, p...)
		i.in.Skip(len(p))
	}
	r.payload = b
	return nil
}

// skip drops the payload of a refused request, and returns err.
func (i *intake) skip(r *request, err error) error {
	// Writes may be longer: their data passes through a chunk and is dropped.
	if r.Length > drainMax && r.ID != wire.ReqWrite && r.ID != wire.ReqPgwrite {
		return closeAfter{err}
	}
	return i.drain(int64(r.Length), err)
}

// drain drops n bytes of data and returns err. It returns another error only if the connection fails.
func (i *intake) drain(n int64, err error) error {
	if int64(i.in.Buffered()) < n {
		defer i.deadline.require(n)()
	}
	if e := i.in.Drain(n); e != nil {
		return closeAfter{e}
	}
	return err
}

// reserve charges n bytes to the request's client until the request was served. It accepts the request only if it returns
// Fits.
func (i *intake) reserve(r *request, n int) limits.Verdict {
	// A node knows only users with open files. With several users, or none, the connection is charged.
	client := r.conn.countedAs()
	if r.session != nil && r.session.handles.client.Name != "" {
		client = r.session.handles.client
	}
	if i.account == nil || i.accountOf != client { // a login or an open may change the client
		i.close()
		i.account, i.accountOf = i.budget.Open(client), client
	}
	account := i.account // stays open, because most connections that need it once need it again
	verdict := account.Take(int64(n))
	if verdict == limits.Fits {
		r.release = func() { account.Give(int64(n)) }
	}
	return verdict
}

// close ends the account of the connection.
func (i *intake) close() {
	if i.account != nil {
		i.account.Close()
		i.account = nil
	}
}
