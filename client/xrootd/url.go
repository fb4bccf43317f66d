package xrootd

import (
	"net"
	"strconv"
	"strings"

	"hemera/rules/wire"
	"hemera/words/errs"
)

// DefaultPort is the default port of XRootD servers.
const DefaultPort = 1094

// Endpoint is a server with the user of a session. It is comparable, and a key of the pool.
type Endpoint struct {
	User string // login name, "" for the client's own
	Host string // name or address, IPv6 without brackets
	Port int
}

// Addr returns host:port, ready to dial.
func (e Endpoint) Addr() string { return net.JoinHostPort(e.Host, strconv.Itoa(e.Port)) }

// String returns [user@]host:port.
func (e Endpoint) String() string {
	if e.User == "" {
		return e.Addr()
	}
	return e.User + "@" + e.Addr()
}

// ParseEndpoint reads [user@]host[:port]; IPv6 addresses are in brackets if a port follows. The default port is
// [DefaultPort]. It fails with Invalid and says what is wrong. It looks up nothing.
func ParseEndpoint(s string) (Endpoint, error) {
	var e Endpoint
	rest := s
	if i := strings.LastIndexByte(rest, '@'); i >= 0 { // the last one, because a user name may have one
		e.User, rest = rest[:i], rest[i+1:]
		e.User, _, _ = strings.Cut(e.User, ":") // a password is not used
	}
	e.Port = DefaultPort
	// net.SplitHostPort fails without a port, which is allowed here.
	host, port, err := net.SplitHostPort(rest)
	if err != nil {
		host, port = rest, ""
		if strings.HasPrefix(rest, "[") && strings.HasSuffix(rest, "]") {
			host = rest[1 : len(rest)-1]
		}
		if strings.Contains(host, ":") && net.ParseIP(host) == nil {
			return Endpoint{}, errs.New(errs.Invalid, "xrootd.ParseServerAddress", s, "want host:port")
		}
	}
	if port != "" {
		if e.Port, err = strconv.Atoi(port); err != nil || e.Port < 1 || e.Port > 65535 {
			return Endpoint{}, errs.New(errs.Invalid, "xrootd.ParseServerAddress", s, "port must be 1 to 65535")
		}
	}
	// The zone of a link-local address names the interface: an empty one would be looked up as a host, until that times
	// out.
	if _, zone, has := strings.Cut(host, "%"); has && zone == "" {
		return Endpoint{}, errs.New(errs.Invalid, "xrootd.ParseServerAddress", s, "the zone after % is empty").WithRemedy("name the interface, as in [fe80::1%eth0]:1094")
	}
	if e.Host = host; host == "" || strings.ContainsAny(host, "[]/?# \t\r\n\x00") {
		return Endpoint{}, errs.New(errs.Invalid, "xrootd.ParseServerAddress", s, "the host is missing or malformed")
	}
	return e, nil
}

// URL names a file or directory on a server: root://[user@]host[:port]/<path>[?<opaque>], where the path is absolute and
// so usually begins with a second slash. Nothing in it is percent-decoded.
type URL struct {
	Endpoint
	Path   string // absolute and clean; a slash at its end means a directory
	Opaque wire.Opaque
}

// IsRemote reports whether s has a scheme that [ParseURL] reads, as opposed to a local path.
func IsRemote(s string) bool {
	return strings.HasPrefix(s, "root://") || strings.HasPrefix(s, "xroot://")
}

// ParseURL reads a URL. It fails with Invalid and says what is wrong: another scheme, no host, or a path that is not
// clean.
func ParseURL(s string) (URL, error) {
	_, rest, ok := strings.Cut(s, "://")
	if !ok || !IsRemote(s) {
		return URL{}, errs.New(errs.Invalid, "xrootd.ParseURL", s, "want root://host:port//path")
	}
	rest, cgi, _ := strings.Cut(rest, "?") // the opaque part, which is not decoded
	server, path, _ := strings.Cut(rest, "/")
	e, err := ParseEndpoint(server)
	if err != nil {
		return URL{}, err
	}
	path, err = wire.CleanPath("/" + path)
	if err != nil {
		return URL{}, errs.As(err, errs.Invalid, "xrootd.ParseURL", s)
	}
	return URL{Endpoint: e, Path: path, Opaque: wire.Opaque(cgi)}, nil
}

// String returns the URL with its opaque part, which may have secrets; see [URL.Redacted].
func (u URL) String() string {
	return u.Opaque.Join(u.Redacted())
}

// Redacted returns the URL without its opaque part, for logs and errors.
func (u URL) Redacted() string { return "root://" + u.Endpoint.String() + "/" + u.Path }

// Join returns the URL of an entry below u; rel is clean and relative.
func (u URL) Join(rel string) URL {
	if rel != "" {
		u.Path = strings.TrimSuffix(u.Path, "/") + "/" + rel
	}
	return u
}

// checkPath refuses a path that requests cannot carry: the text after a ? would be taken for options, and the request
// would concern another file. Only joined names, such as those of local files, can have one.
func (u URL) checkPath(op string) error {
	if !strings.Contains(u.Path, "?") {
		return nil
	}
	return errs.New(errs.Invalid, op, u.Redacted(), "the XRootD protocol cannot name a file with a ? in its path").
		WithRemedy("rename it")
}

// payload returns the form in requests: path?opaque.
func (u URL) payload() []byte { return []byte(u.Opaque.Join(u.Path)) }
