package admin

import (
	"context"
	"net"
	"net/url"
	"strings"

	"hemera/platform/link"
	"hemera/words/errs"
)

// socketScheme begins the URL of a unix socket.
const socketScheme = "unix:"

// SocketURL is the URL of a unix socket, for [Dial].
// Bytes that a URL may not have are escaped.
func SocketURL(path string) string { return (&url.URL{Scheme: "unix", Path: path}).String() }

// IsSocketURL reports whether a URL names a unix socket: the admin API is there, and no files are.
func IsSocketURL(rawURL string) bool { return strings.HasPrefix(rawURL, socketScheme) }

// dialSocket is Dial for a unix socket.
// It fails with Invalid for a relative path, and for one that is longer than the kernel takes
// (link.CheckSocketPath).
func dialSocket(rawURL string) (*Client, error) {
	path := strings.TrimPrefix(rawURL, socketScheme+"//")
	// A path with a % that escapes nothing is meant as it is: people write paths.
	if u, err := url.Parse(rawURL); err == nil {
		path = u.Host + u.Path
	}
	if !strings.HasPrefix(path, "/") {
		return nil, errs.New(errs.Invalid, "admin.Dial", rawURL, "is not a URL of a unix socket").
			WithRemedy("write it with three slashes and the whole path: unix:///run/hemera/admin.sock")
	}
	if err := link.CheckSocketPath(path); err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: dialTime}
	// The host in the URL is not used: every connection goes to the socket.
	return newClient("http://localhost", rawURL, func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", path)
	}), nil
}
