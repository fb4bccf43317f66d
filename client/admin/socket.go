package admin

import (
	"net/url"
	"strings"

	"hemera/platform/link"
	"hemera/words/errs"
)

// socketScheme begins the URL of a unix socket.
const socketScheme = "unix:"

// SocketURL returns the URL of a unix socket, for [Dial]. It escapes bytes that a URL may not have.
func SocketURL(path string) string { return (&url.URL{Scheme: "unix", Path: path}).String() }

// IsSocketURL reports whether a URL names a unix socket: it serves the admin API, but no files.
func IsSocketURL(rawURL string) bool { return strings.HasPrefix(rawURL, socketScheme) }

// socketPath returns the path of the unix socket that a URL names. It fails with Invalid for a relative path, and for one
// that is too long for the kernel (link.CheckSocketPath).
func socketPath(rawURL string) (string, error) {
	path := strings.TrimPrefix(rawURL, socketScheme+"//")
	// A path with an invalid escape is used as it is: people write paths.
	if u, err := url.Parse(rawURL); err == nil {
		path = u.Host + u.Path
	}
	if !strings.HasPrefix(path, "/") {
		return "", errs.New(errs.Invalid, "admin.Dial", rawURL, "is not a URL of a unix socket").
			WithRemedy("write it with three slashes and the whole path: unix:///run/hemera/admin.sock")
	}
	return path, link.CheckSocketPath(path)
}
