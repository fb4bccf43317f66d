package admin

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// PortDefault is the default port of a manager, IANA's for XRootD.
const PortDefault = "1094"

// Client calls an admin door. Each part implements the interfaces of the service behind the door. Identities passed to it
// are ignored: the server identifies the caller. Errors are *[RemoteError]. A Client is safe for concurrent use.
type Client struct {
	server      *server
	About       About
	Attributes  Attributes
	Backups     Backups
	Benchmark   Benchmark
	Cluster     Cluster
	Conversions Conversions
	Maint       Maint
	Names       Names
	Observe     Observe
	Quota       Quota
	Rebuild     Rebuild
	Recycle     Recycle
	Staging     Staging
	Status      Status
	Tape        Tape
	Trust       Trust
	Writes      Writes
}

var (
	_ hemera.Attributes     = Attributes{}
	_ adminapi.Backups      = Backups{}
	_ adminapi.Benchmarker  = Benchmark{}
	_ adminapi.ClusterAdmin = Cluster{}
	_ adminapi.ConvertAdmin = Conversions{}
	_ adminapi.MaintAdmin   = Maint{}
	_ hemera.Names          = Names{}
	_ adminapi.Observer     = Observe{}
	_ adminapi.QuotaAdmin   = Quota{}
	_ adminapi.Rebuilder    = Rebuild{}
	_ adminapi.RecycleBin   = Recycle{}
	_ tapeapi.Staging       = Staging{}
	_ adminapi.StatusAdmin  = Status{}
	_ adminapi.TapeAdmin    = Tape{}
	_ adminapi.TapeSessions = Tape{}
	_ adminapi.TapeKeys     = Tape{}
	_ adminapi.TokenAdmin   = Trust{}
	_ adminapi.TrustAdmin   = Trust{}
	_ adminapi.WriteAdmin   = Writes{}
)

// clientOf makes a client of a server, whose connections all parts share.
func clientOf(s *server) *Client {
	return &Client{s, About{s}, Attributes{s}, Backups{s}, Benchmark{s}, Cluster{s}, Conversions{s}, Maint{s}, Names{s}, Observe{s}, Quota{s}, Rebuild{s},
		Recycle{s}, Staging{s}, Status{s}, Tape{s}, Trust{s}, Writes{s}}
}

// Dial makes a client of the server at a URL: root://host[:port] as for data commands, http://host[:port], or
// unix:///path for the unix socket of a manager on this machine. It does not connect yet. It fails with Invalid if the
// text is not such a URL.
func Dial(rawURL string) (*Client, error) { return DialFrom(rawURL, nil) }

// DialFrom does the same as Dial for a client that may run on another machine than the server: then elsewhere carries its
// requests. Close closes elsewhere too.
func DialFrom(rawURL string, elsewhere Caller) (*Client, error) {
	if IsSocketURL(rawURL) {
		path, err := socketPath(rawURL)
		if err != nil {
			return nil, err
		}
		// The host in the URL is not used: every connection goes to the socket.
		return newClient("http://localhost", rawURL, func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "unix", path)
		}), nil
	}
	u, err := url.Parse(escapeZone(rawURL))
	if err != nil || u.Hostname() == "" || u.Scheme != "root" && u.Scheme != "xroot" && u.Scheme != "http" {
		return nil, errs.New(errs.Invalid, "admin.Dial", rawURL, "is not a URL of a manager").
			WithRemedy("write it as root://host:1094, or unix:///path/of/admin.sock on the manager's machine")
	}
	// url.Parse accepts any scheme, but only these URLs lead to a manager.
	port := u.Port()
	if port == "" {
		port = PortDefault
	}
	addr := net.JoinHostPort(u.Hostname(), port)
	c := newClient((&url.URL{Scheme: "http", Host: addr}).String(), addr, (&net.Dialer{Timeout: dialTime}).DialContext)
	// The choice between here and elsewhere waits for the first request, because it needs a context.
	if elsewhere != nil {
		s := c.server
		s.http.Transport = &nearest{base: s.base, host: u.Hostname(), here: s.http.Transport, elsewhere: through{elsewhere}}
	}
	return c, nil
}

// escapeZone escapes the zone of a link-local address for package url: [fe80::1%25eth0]. XRootD URLs do not escape it.
func escapeZone(rawURL string) string {
	from, to, at := strings.IndexByte(rawURL, '['), strings.IndexByte(rawURL, ']'), strings.IndexByte(rawURL, '%')
	if from < 0 || at < from || to < at || strings.HasPrefix(rawURL[at:], "%25") {
		return rawURL
	}
	return rawURL[:at] + "%25" + rawURL[at+1:]
}

// newClient makes a client whose connections dial makes. It keeps at most four idle ones, for a minute.
func newClient(base, addr string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *Client {
	transport := &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute}
	return clientOf(&server{base: base, addr: addr, http: &http.Client{Transport: transport}})
}

// Close closes idle connections. Calls under way continue.
func (c *Client) Close() { c.server.http.CloseIdleConnections() }
