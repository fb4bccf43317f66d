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

// dialTime bounds making a connection, and the search for its server.
const dialTime = 10 * time.Second

// Caller carries requests to a manager's other door, which answers like admindoor.NewCalls.
type Caller interface {
	// Call sends one HTTP request and calls answer with the pieces of the response.
	Call(ctx context.Context, request []byte, answer func([]byte) error) error
	Close() error
}

// through is an http.RoundTripper that uses a Caller.
type through struct{ Caller }

// RoundTrip implements http.RoundTripper. Its goroutine ends with the call. It blocks in the pipe until the body is read.
// Closing the body ends it: then writes to the pipe fail, and the context of the call ends.
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

// CloseIdleConnections ends the caller's connections. http.Client calls it.
func (t through) CloseIdleConnections() { _ = t.Close() }

// throughBody ends the call when its reader does not want the rest.
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

// nearest uses HTTP for a server on this machine, because that server can identify the owner of the socket, and the other
// door for servers elsewhere. The first request decides.
type nearest struct {
	base, host      string
	here, elsewhere http.RoundTripper
	once            sync.Once
	way             http.RoundTripper // one of both, set by once
}

// RoundTrip implements http.RoundTripper.
func (n *nearest) RoundTrip(r *http.Request) (*http.Response, error) {
	// Concurrent first requests wait for one decision, at most dialTime.
	n.once.Do(func() {
		// The decision takes a name look-up and one request.
		ctx, cancel := context.WithTimeout(r.Context(), dialTime)
		defer cancel()
		if n.way = n.here; !onThisMachine(ctx, n.host) || n.foreign(ctx) {
			n.way = n.elsewhere
		}
	})
	return n.way.RoundTrip(r)
}

// CloseIdleConnections closes the idle connections of both ways. http.Client calls it.
func (n *nearest) CloseIdleConnections() {
	for _, way := range []http.RoundTripper{n.here, n.elsewhere} {
		if c, ok := way.(interface{ CloseIdleConnections() }); ok {
			c.CloseIdleConnections()
		}
	}
}

// foreign reports whether the server at an address of this machine is on another machine, as with a forwarded port or a
// container. A server that cannot find the owner of the connection among the processes of its own machine answers 401.
func (n *nearest) foreign(ctx context.Context) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.base+adminapi.Service+"Version", strings.NewReader("{}"))
	if err != nil {
		return false
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := n.here.RoundTrip(r)
	if err != nil {
		return false // the next request fails likewise, and says why
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, adminapi.RequestMax)) // so that the connection is reused
	_ = response.Body.Close()
	return response.StatusCode == http.StatusUnauthorized
}

// onThisMachine reports whether a host is this machine. It returns true for an unknown name: the following request then
// reports what is wrong with it.
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
