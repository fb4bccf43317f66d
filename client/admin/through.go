package admin

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"hemera/words/adminapi"
)

// dialTime bounds the making of a connection, and the search for its server.
const dialTime = 10 * time.Second

// Caller brings requests to a manager's other door, which answers as admindoor.NewCalls does.
type Caller interface {
	// Call sends one HTTP request and calls answer with the pieces of the response.
	Call(ctx context.Context, request []byte, answer func([]byte) error) error
	Close() error
}

// through is an http.RoundTripper by way of a Caller.
type through struct{ Caller }

// RoundTrip implements http.RoundTripper.
// The goroutine ends when the call does. It blocks in the pipe while nobody reads the body, and closing the body,
// or an error here, ends it: the pipe then fails its writes, and the context the call.
func (t through) RoundTrip(r *http.Request) (*http.Response, error) {
	// Requests are small (requestMax), so they are sent whole.
	var request bytes.Buffer
	if err := r.Write(&request); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	// The answer is read while it arrives.
	in, out := io.Pipe()
	go func() {
		_ = out.CloseWithError(t.Call(ctx, request.Bytes(), func(b []byte) error {
			_, err := out.Write(b)
			return err
		}))
	}()
	response, err := http.ReadResponse(bufio.NewReader(in), r)
	if err != nil {
		cancel()
		_ = in.Close()
		return nil, err
	}
	response.Body = &throughBody{response.Body, in, cancel}
	return response, nil
}

// CloseIdleConnections is what http.Client looks for.
func (t through) CloseIdleConnections() { _ = t.Close() }

// throughBody ends the call when nobody wants the rest.
type throughBody struct {
	io.Reader
	in     *io.PipeReader
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *throughBody) Close() error {
	b.cancel()
	return b.in.Close()
}

// nearest asks a server on this machine by HTTP, as it finds out there who owns the socket, and others through their
// other door. The first request finds out which it is.
type nearest struct {
	base, host      string
	here, elsewhere http.RoundTripper
	once            sync.Once
	way             http.RoundTripper // of both, after once
}

// RoundTrip implements http.RoundTripper.
func (n *nearest) RoundTrip(r *http.Request) (*http.Response, error) {
	// holds: concurrent first requests wait for one decision, at most dialTime.
	n.once.Do(func() {
		// The decision includes a look-up of names and one request.
		ctx, cancel := context.WithTimeout(r.Context(), dialTime)
		defer cancel()
		if n.way = n.here; !onThisMachine(ctx, n.host) || n.foreign(ctx) {
			n.way = n.elsewhere
		}
	})
	return n.way.RoundTrip(r)
}

// CloseIdleConnections is what http.Client looks for.
func (n *nearest) CloseIdleConnections() {
	for _, way := range []http.RoundTripper{n.here, n.elsewhere} {
		if c, ok := way.(interface{ CloseIdleConnections() }); ok {
			c.CloseIdleConnections()
		}
	}
}

// foreign reports whether a server at an address of this machine does not believe in that: the address leads to
// another machine, or out of a container.
// A server that cannot find the owner of the connection among the processes of its own machine answers 401.
func (n *nearest) foreign(ctx context.Context) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.base+adminapi.Service+"Version", strings.NewReader("{}"))
	if err != nil {
		return false
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := n.here.RoundTrip(r)
	if err != nil {
		return false // what is asked next fails likewise, and says why
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, adminapi.RequestMax)) // so that the connection is used again
	_ = response.Body.Close()
	return response.StatusCode == http.StatusUnauthorized
}

// onThisMachine reports whether a host is this machine. A name that nobody knows is, as far as that goes: what is
// then tried says what is wrong with it.
func onThisMachine(ctx context.Context, host string) bool {
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return true
	}
	own, _ := net.InterfaceAddrs()
	for _, addr := range addrs {
		addr = addr.Unmap()
		if addr.IsLoopback() || addr.IsUnspecified() {
			return true
		}
		for _, a := range own {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(addr.AsSlice()) {
				return true
			}
		}
	}
	return false
}
