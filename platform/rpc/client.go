package rpc

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Timeouts of calls whose context has no deadline.
const (
	callTimeout     = 20 * time.Second // longer than any call to the manager takes, except a long poll
	exchangeTimeout = 90 * time.Second // a long poll
	dialTimeout     = 5 * time.Second  // to one address, handshake included
)

// ClientOptions says how a node reaches the manager.
type ClientOptions struct {
	// Addrs has the manager's control addresses, host:port. Some may be down.
	Addrs []string
	// TLS has the node's certificate and verifies the manager's.
	TLS *tls.Config
	// DialContext opens connections; nil is package net's, with defaults.
	DialContext func(ctx context.Context, addr string) (net.Conn, error)
}

// Client is a node's client of the manager. It implements hemera.Control, and requests certificates. It connects at the
// first call and again after each loss; if one address does not answer, it tries the next. It is safe for concurrent use.
type Client struct {
	options ClientOptions // complete
	codec   connect.Codec
	addrs   string                  // all of them, for errors
	next    atomic.Uint64           // index of the address to try first
	current atomic.Pointer[session] // never nil
}

// session is a set of connections, with one typed caller for each method. After a renewal of the node's certificate a new
// one replaces it, because HTTP/2 would keep using connections with the old certificate. It is immutable. Calls that have
// begun on an older session end there.
type session struct {
	transport *http.Transport
	register  *method[hemera.NodeHello, hemera.NodeWelcome]
	heartbeat *method[heartbeatRequest, hemera.HeartbeatReply]
	exchange  *method[exchangeRequest, hemera.ExchangeReply]
	commit    *method[commitRequest, acknowledgement]
	abort     *method[abortRequest, empty]
	keep      *method[keepRequest, empty]
	announce  *method[announceRequest, empty]
	replace   *method[replaceRequest, grantReply]
	resolve   *method[resolveRequest, resolveReply]
	mayFetch  *method[mayFetchRequest, empty]
	join      *method[joinRequest, certificateReply]
	renew     *method[renewRequest, certificateReply]
	tape      tapeMethods
}

// Dial makes a client. It does not connect yet. It fails with Invalid without an address.
func Dial(o ClientOptions) (*Client, error) {
	if len(o.Addrs) == 0 || o.TLS == nil {
		return nil, errs.New(errs.Invalid, "rpc.Dial", "", "needs the manager's address and a TLS configuration")
	}
	c, err := newCodec()
	if err != nil {
		return nil, err
	}
	if o.DialContext == nil { // simulations and tests have their own
		o.DialContext = func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}
	}
	o.TLS = o.TLS.Clone() // NextProtos is set here, not by the caller
	o.TLS.NextProtos = []string{"h2"}
	client := &Client{options: o, codec: c, addrs: strings.Join(o.Addrs, ",")}
	client.Reconnect()
	return client, nil // with a session, but not connected yet
}

// Reconnect makes later calls use new connections, which present the newest certificate. Calls under way keep theirs,
// which close after an idle time.
func (c *Client) Reconnect() {
	transport := &http.Transport{
		DialTLSContext:    c.dial,
		ForceAttemptHTTP2: true,        // package http does not do it by default if a function dials
		IdleConnTimeout:   time.Minute, // heartbeats keep the one in use
		HTTP2: &http.HTTP2Config{
			// If the manager's machine is gone, this is noticed within ten seconds.
			SendPingTimeout: 5 * time.Second,
			PingTimeout:     5 * time.Second,
		},
	}
	old := c.current.Swap(c.session(transport))
	if old != nil {
		old.transport.CloseIdleConnections()
	}
}

// session makes the callers of all methods over one transport.
func (c *Client) session(transport *http.Transport) *session {
	h := &http.Client{Transport: transport}
	return &session{
		transport: transport,
		register:  caller[hemera.NodeHello, hemera.NodeWelcome](c, h, "Register"),
		heartbeat: caller[heartbeatRequest, hemera.HeartbeatReply](c, h, "Heartbeat"),
		exchange:  caller[exchangeRequest, hemera.ExchangeReply](c, h, "Exchange"),
		commit:    caller[commitRequest, acknowledgement](c, h, "Commit"),
		abort:     caller[abortRequest, empty](c, h, "Abort"),
		keep:      caller[keepRequest, empty](c, h, "Keep"),
		announce:  caller[announceRequest, empty](c, h, "Announce"),
		replace:   caller[replaceRequest, grantReply](c, h, "Replace"),
		resolve:   caller[resolveRequest, resolveReply](c, h, "Resolve"),
		mayFetch:  caller[mayFetchRequest, empty](c, h, "MayFetch"),
		join:      caller[joinRequest, certificateReply](c, h, "Join"),
		renew:     caller[renewRequest, certificateReply](c, h, "Renew"),
		tape: tapeMethods{
			report: caller[reportLibraryRequest, empty](c, h, "ReportLibrary"),
			next:   caller[nextMountRequest, tapeapi.Mount](c, h, "NextMount"),
			jobs:   caller[tapeJobsRequest, tapeapi.JobsReply](c, h, "TapeJobs"),
			grant:  caller[tapeGrantRequest, tapeapi.Grant](c, h, "TapeGrant"),
			done:   caller[tapeDoneRequest, acknowledgement](c, h, "TapeDone"),
		},
	}
}

// method is the caller of one method, whose messages have the types Req and Res.
type method[Req, Res any] struct {
	client *connect.Client[Envelope, Envelope]
}

// caller makes the caller of one method. "manager" is never resolved: dial chooses the address.
func caller[Req, Res any](c *Client, h *http.Client, name string) *method[Req, Res] {
	return &method[Req, Res]{connect.NewClient[Envelope, Envelope](h, "https://manager"+Path+name,
		connect.WithCodec(c.codec),
		connect.WithResponseInitializer(NewEnvelope[Res]),
		connect.WithReadMaxBytes(messageMax),
		connect.WithAcceptCompression("gzip", nil, nil),
	)}
}

// dial connects to the first address that answers as the manager, beginning with the one that answered last time.
func (c *Client) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	var failed error
	first := c.next.Load() // several calls may dial at once; the last one that succeeds stays
	for i := range c.options.Addrs {
		index := (first + uint64(i)) % uint64(len(c.options.Addrs))
		conn, err := c.dialOne(ctx, c.options.Addrs[index])
		if err == nil {
			c.next.Store(index)
			return conn, nil
		}
		failed = err          // of the last address that was tried
		if ctx.Err() != nil { // no time is left for another address
			break
		}
	}
	return nil, failed
}

// dialOne connects to one address and verifies that the manager answers there. It blocks for at most dialTimeout, so that
// an address without an answer leaves time for the next.
func (c *Client) dialOne(ctx context.Context, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	raw, err := c.options.DialContext(ctx, addr)
	if err != nil {
		return nil, err
	}
	// The handshake is included: an address with another server is as useless as one without.
	secure := tls.Client(raw, c.options.TLS)
	if err := secure.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	return secure, nil
}

// Close closes the client's idle connections. It does not wait for calls under way.
func (c *Client) Close() error {
	c.current.Load().transport.CloseIdleConnections()
	return nil
}

// call sends one message and waits for its answer. A context without a deadline gets limit, so that no call of a node
// blocks for ever.
func call[Req, Res any](ctx context.Context, c *Client, to *method[Req, Res], limit time.Duration, message *Req) (*Res, error) {
	if _, ok := ctx.Deadline(); !ok {
		bounded, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx = bounded
	}
	// The trace id is sent along, so that a user's request can be followed through the logs of all servers.
	request := connect.NewRequest(&Envelope{message})
	if id := hemera.TraceID(ctx); id != "" {
		request.Header().Set(headerTrace, id)
	}
	response, err := to.client.CallUnary(ctx, request) // blocks; the result is never nil, as callers use its fields
	if err != nil {
		name := strings.TrimPrefix(request.Spec().Procedure, Path)
		return new(Res), fromWire(ctx, c.codec, err, name+" at "+c.addrs)
	}
	return response.Msg.Value.(*Res), nil
}
