package admin

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	"connectrpc.com/connect"

	"hemera"
	"hemera/errs"
)

// PortDefault is the port of a manager when its URL names none; IANA's for XRootD.
const PortDefault = "1094"

// dialTime bounds the making of a connection, and the search for its server.
const dialTime = 10 * time.Second

// answerMax bounds one message of an answer: the largest is a view of thousands of disks.
const answerMax = 64 << 20

// Client speaks to an admin door. It implements hemera.ClusterAdmin, MaintAdmin, QuotaAdmin, Observer,
// Benchmarker, Backups, Names and Attributes; calls may be made concurrently. Identities passed to it are
// ignored: the server finds out itself who is calling. Errors are *[RemoteError].
type Client struct {
	base string // http://host:port, or http://localhost over a unix socket
	addr string // for errors
	http *http.Client
}

var _ interface {
	hemera.ClusterAdmin
	hemera.MaintAdmin
	hemera.Observer
	hemera.QuotaAdmin
	hemera.Benchmarker
	hemera.Names
	hemera.Attributes
	hemera.Backups
} = (*Client)(nil)

// Dial makes a client of the server at a URL: root://host[:port] as data commands take it, or
// http://host[:port], or unix:///path for the unix socket of a manager on this machine. It does not connect yet.
// Invalid when the URL is none.
func Dial(rawURL string) (*Client, error) { return DialFrom(rawURL, nil) }

// DialFrom is Dial for a client that may run on another machine than the server; elsewhere then carries its requests.
// Close closes elsewhere too.
func DialFrom(rawURL string, elsewhere Caller) (*Client, error) {
	if IsSocketURL(rawURL) {
		return dialSocket(rawURL)
	}
	u, err := url.Parse(rawURL)
	if err != nil || u.Hostname() == "" || u.Scheme != "root" && u.Scheme != "xroot" && u.Scheme != "http" {
		return nil, errs.New(errs.Invalid, "admin.Dial", rawURL, "is no URL of a manager").
			WithRemedy("write it as root://host:1094, or unix:///path/of/admin.sock on the manager's machine")
	}
	port := u.Port()
	if port == "" {
		port = PortDefault
	}
	addr := net.JoinHostPort(u.Hostname(), port)
	c := newClient("http://"+addr, addr, (&net.Dialer{Timeout: dialTime}).DialContext)
	if elsewhere != nil {
		c.http.Transport = &nearest{base: c.base, host: u.Hostname(), here: c.http.Transport, elsewhere: through{elsewhere}}
	}
	return c, nil
}

func newClient(base, addr string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *Client {
	transport := &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute}
	return &Client{base: base, addr: addr, http: &http.Client{Transport: transport}}
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func options() []connect.ClientOption {
	return []connect.ClientOption{
		connect.WithCodec(codec{}), connect.WithReadMaxBytes(answerMax),
		// Most calls stay on the manager's own machine: compressing would cost more than sending.
		connect.WithAcceptCompression("gzip", nil, nil),
	}
}

// request puts the context's trace id, or a new one, on a message.
func request[Req any](ctx context.Context, message *Req) (r *connect.Request[Req], trace string) {
	if trace = hemera.TraceID(ctx); trace == "" {
		trace = hemera.NewTraceID()
	}
	r = connect.NewRequest(message)
	r.Header().Set(TraceHeader, trace)
	return r, trace
}

// call does one verb with one answer.
func call[Res, Req any](ctx context.Context, c *Client, verb string, message Req) (answer Res, err error) {
	r, trace := request(ctx, &message)
	res, err := connect.NewClient[Req, Res](c.http, c.base+service+verb, options()...).CallUnary(ctx, r)
	if err != nil {
		return answer, fromConnect(ctx, err, c.addr, trace)
	}
	return *res.Msg, nil
}

// do is a call whose answer is empty.
func (c *Client) do(ctx context.Context, verb string, message any) error {
	_, err := call[none](ctx, c, verb, message)
	return err
}

// receive does one verb with many answers; visit's error ends it and is returned as it is.
func receive[Res, Req any](ctx context.Context, c *Client, verb string, message Req, visit func(*Res) error) error {
	asker := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, trace := request(ctx, &message)
	s, err := connect.NewClient[Req, Res](c.http, c.base+service+verb, options()...).CallServerStream(ctx, r)
	if err != nil {
		return fromConnect(asker, err, c.addr, trace)
	}
	for s.Receive() {
		if err := visit(s.Msg()); err != nil {
			cancel() // before Close, which would otherwise wait for what the server still has to say
			_ = s.Close()
			return err
		}
	}
	err = s.Err()
	_ = s.Close()
	return fromConnect(asker, err, c.addr, trace)
}
