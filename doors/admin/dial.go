package admin

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"connectrpc.com/connect"

	"hemera/platform/rpc"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// PortDefault is the port of a manager when its URL names none; IANA's for XRootD.
const PortDefault = "1094"

// dialTime bounds the making of a connection, and the search for its server.
const dialTime = 10 * time.Second

// answerMax bounds one message of an answer: the largest is a view of thousands of disks.
const answerMax = 64 << 20

// Client asks an admin door. It has a part for each subject, which stands beside the door's part in the same file, and
// implements the same interfaces of package hemera as the manager behind the door. Identities passed to it are ignored:
// the server finds out by itself who calls. Errors are *[RemoteError]. A Client is safe for concurrent use.
type Client struct {
	*server
	aboutClient
	attributesClient
	backupClient
	benchmarkClient
	clusterClient
	convertClient
	maintClient
	namesClient
	observeClient
	quotaClient
	rebuildClient
	recycleClient
	statusClient
	tapeClient
	trustClient
	walkClient
	writesClient
}

var (
	_ hemera.ClusterAdmin = (*Client)(nil)
	_ hemera.TokenAdmin   = (*Client)(nil)
	_ hemera.TrustAdmin   = (*Client)(nil)
	_ hemera.MaintAdmin   = (*Client)(nil)
	_ hemera.Observer     = (*Client)(nil)
	_ hemera.QuotaAdmin   = (*Client)(nil)
	_ hemera.StatusAdmin  = (*Client)(nil)
	_ hemera.WriteAdmin   = (*Client)(nil)
	_ hemera.ConvertAdmin = (*Client)(nil)
	_ hemera.Benchmarker  = (*Client)(nil)
	_ hemera.Names        = (*Client)(nil)
	_ hemera.Attributes   = (*Client)(nil)
	_ hemera.Backups      = (*Client)(nil)
	_ hemera.Rebuilder    = (*Client)(nil)
	_ hemera.RecycleBin   = (*Client)(nil)
	_ hemera.TapeAdmin    = (*Client)(nil)
	_ hemera.Staging      = (*Client)(nil)
)

// server is the door that a Client asks, and the connections to it.
type server struct {
	base string       // http://host:port, or http://localhost over a unix socket
	addr string       // for errors
	http *http.Client // has no timeout: a verb may take as long as it needs, and its context ends it
}

// clientOf makes a client of a server.
// All parts share the server, and so its connections.
func clientOf(s *server) *Client {
	return &Client{
		server: s, aboutClient: aboutClient{s}, attributesClient: attributesClient{s}, backupClient: backupClient{s}, benchmarkClient: benchmarkClient{s},
		clusterClient: clusterClient{s}, convertClient: convertClient{s}, maintClient: maintClient{s}, namesClient: namesClient{s}, observeClient: observeClient{s}, quotaClient: quotaClient{s},
		rebuildClient: rebuildClient{s}, recycleClient: recycleClient{s}, statusClient: statusClient{s}, tapeClient: tapeClient{s}, trustClient: trustClient{s}, walkClient: walkClient{s}, writesClient: writesClient{s},
	}
}

// Dial makes a client of the server at a URL: root://host[:port] as data commands take it, or
// http://host[:port], or unix:///path for the unix socket of a manager on this machine. It does not connect yet.
// It fails with Invalid if the text is not such a URL.
func Dial(rawURL string) (*Client, error) { return DialFrom(rawURL, nil) }

// DialFrom is Dial for a client that may run on another machine than the server; elsewhere then carries its requests.
// Close closes elsewhere too.
func DialFrom(rawURL string, elsewhere Caller) (*Client, error) {
	if IsSocketURL(rawURL) {
		return dialSocket(rawURL)
	}
	u, err := url.Parse(escapeZone(rawURL))
	if err != nil || u.Hostname() == "" || u.Scheme != "root" && u.Scheme != "xroot" && u.Scheme != "http" {
		return nil, errs.New(errs.Invalid, "admin.Dial", rawURL, "is not a URL of a manager").
			WithRemedy("write it as root://host:1094, or unix:///path/of/admin.sock on the manager's machine")
	}
	// url.Parse accepts any scheme; only these lead to a manager.
	port := u.Port()
	if port == "" {
		port = PortDefault
	}
	addr := net.JoinHostPort(u.Hostname(), port)
	c := newClient((&url.URL{Scheme: "http", Host: addr}).String(), addr, (&net.Dialer{Timeout: dialTime}).DialContext)
	// The first request decides which way to go: it brings a context.
	if elsewhere != nil {
		c.http.Transport = &nearest{base: c.base, host: u.Hostname(), here: c.http.Transport, elsewhere: through{elsewhere}}
	}
	return c, nil
}

// escapeZone writes the zone of an address of one link as package url reads it: [fe80::1%25eth0]. XRootD URLs have it as it is.
func escapeZone(rawURL string) string {
	from, to, at := strings.IndexByte(rawURL, '['), strings.IndexByte(rawURL, ']'), strings.IndexByte(rawURL, '%')
	if from < 0 || at < from || to < at || strings.HasPrefix(rawURL[at:], "%25") {
		return rawURL
	}
	return rawURL[:at] + "%25" + rawURL[at+1:]
}

// newClient makes a client whose connections dial makes. Idle ones are kept for a minute, and at most four.
func newClient(base, addr string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *Client {
	transport := &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute}
	return clientOf(&server{base: base, addr: addr, http: &http.Client{Transport: transport}})
}

// Close ends idle connections.
// Calls under way go on.
func (s *server) Close() { s.http.CloseIdleConnections() }

// options are those of every call.
func options(answer func(connect.Spec, any) error) []connect.ClientOption {
	return []connect.ClientOption{
		connect.WithCodec(codec{}), connect.WithResponseInitializer(answer), connect.WithReadMaxBytes(answerMax),
		// Most calls stay on the manager's own machine: compressing would cost more than sending.
		connect.WithAcceptCompression("gzip", nil, nil),
	}
}

// request puts the context's trace id, or a new one, on a message.
// The trace joins the lines that one command causes in the logs of the client, the manager and the nodes.
func request(ctx context.Context, message any) (r *connect.Request[rpc.Envelope], trace string) {
	if trace = hemera.TraceID(ctx); trace == "" {
		trace = hemera.NewTraceID()
	}
	r = connect.NewRequest(&rpc.Envelope{Value: message})
	r.Header().Set(TraceHeader, trace)
	return r, trace
}

// call does one verb with one answer.
// It is not repeated after a failure: a verb may have been done although its answer was lost.
func call[Res, Req any](ctx context.Context, to *server, verb string, message Req) (answer Res, err error) {
	// The trace is known also if the answer never comes.
	r, trace := request(ctx, &message)
	res, err := connect.NewClient[rpc.Envelope, rpc.Envelope](to.http, to.base+service+verb, options(rpc.NewEnvelope[Res])...).CallUnary(ctx, r)
	if err != nil {
		return answer, fromConnect(ctx, err, to.addr, trace)
	}
	return *res.Msg.Value.(*Res), nil
}

// do is a call whose answer is empty.
func (s *server) do(ctx context.Context, verb string, message any) error {
	_, err := call[none](ctx, s, verb, message)
	return err
}

// receive does one verb with many answers; visit's error ends it and is returned as it is.
// Messages are decoded one at a time, so memory is bounded by answerMax whatever the number of messages.
func receive[Res, Req any](ctx context.Context, to *server, verb string, message Req, visit func(*Res) error) error {
	// A cancellation of our own is not the caller's.
	asker := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, trace := request(ctx, &message)
	s, err := connect.NewClient[rpc.Envelope, rpc.Envelope](to.http, to.base+service+verb, options(rpc.NewEnvelope[Res])...).CallServerStream(ctx, r)
	if err != nil {
		return fromConnect(asker, err, to.addr, trace)
	}
	for s.Receive() {
		if err := visit(s.Msg().Value.(*Res)); err != nil {
			cancel() // before Close, which would otherwise wait for what the server still has to say
			_ = s.Close()
			return err
		}
	}
	err = s.Err()
	_ = s.Close()
	return fromConnect(asker, err, to.addr, trace)
}
