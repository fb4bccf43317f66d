package xrd

import (
	"hemera/doors/xrd/translate"
	"hemera/doors/xrd/transport"
	"hemera/rules/limits"
	"hemera/rules/wire"
)

const (
	// payloadMax is the longest payload, in bytes, of most requests that carry no file data.
	payloadMax = transport.BufferSize
	// drainMax is the longest payload, in bytes, that is read and dropped so that the connection can go on.
	drainMax = 16 << 20
	// retryBusySeconds is how long a client waits before it repeats a request that found no memory or no slot.
	retryBusySeconds = 5
)

// intake takes off a connection what follows a request's header. Whatever happens to the request, the next one is found
// where this one ends; if that cannot be, the connection ends.
//
// A payload that is there already costs nothing. One that the client still has to send has a deadline, and its memory
// is charged to the client's budget, and grows only with the bytes that arrive.
type intake struct {
	in       *transport.Source
	deadline *readDeadline
	budget   *limits.Budget[Client]
	// forOpenFiles: payloads longer than a buffer are taken only from clients with an open file. Nodes have no other
	// use for them.
	forOpenFiles bool

	account   *limits.Account[Client] // nil until it was first needed
	accountOf Client
}

// readPayload reads the payload of a request. max is the longest that its kind allows.
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
		r.payload = b // stays valid: nothing is read before the handler returns
		i.in.Skip(n)
		return nil
	}
	return i.awaitPayload(r, n)
}

// awaitPayload reads a payload that is long, or not there yet.
func (i *intake) awaitPayload(r *request, n int) error {
	if n > transport.BufferSize && i.forOpenFiles && r.session != nil && r.session.handles.open.Load() == 0 {
		return i.skip(r, translate.Refuse(wire.ArgTooLong, "a node takes requests of this length for open files only"))
	}
	defer i.deadline.require(int64(n))() // a client that stops sending costs memory for so long at most
	if verdict := i.reserve(r, max(n, transport.BufferSize)); verdict != limits.Fits {
		return i.skip(r, &waitFor{Seconds: retryBusySeconds, Text: "too many long requests are under way: " + verdict.String()})
	}
	if n <= transport.BufferSize { // it fits behind the header, and needs no memory of its own
		b, err := i.in.Peek(n)
		if err != nil {
			return closeAfter{err}
		}
		r.payload = b
		i.in.Skip(n)
		return nil
	}
	b := make([]byte, 0, transport.BufferSize) // grows with what arrives
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

// skip drops the payload of a request that is refused, and returns err.
func (i *intake) skip(r *request, err error) error {
	// Writes may be longer: their data passes through a chunk, and is dropped as it comes.
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

// reserve charges n bytes to the request's client until the request was served. Unless it returns Fits the request must
// not be taken.
func (i *intake) reserve(r *request, n int) limits.Verdict {
	// A node knows no user but those whose files are open. Several, or none, are the connection's.
	client := r.conn.countedAs()
	if r.session != nil && r.session.handles.client.Name != "" {
		client = r.session.handles.client
	}
	if i.account == nil || i.accountOf != client { // a login changes which client that is, and so may an open
		i.close()
		i.account, i.accountOf = i.budget.Open(client), client
	}
	account := i.account // stays open: most connections that need it once need it again
	verdict := account.Take(int64(n))
	if verdict == limits.Fits {
		r.release = func() { account.Give(int64(n)) }
	}
	return verdict
}

// close ends what the connection has of the budget.
func (i *intake) close() {
	if i.account != nil {
		i.account.Close()
		i.account = nil
	}
}
