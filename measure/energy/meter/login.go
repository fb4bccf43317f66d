package meter

import (
	"net/http"
	"os"
	"strings"

	"github.com/icholy/digest"

	"hemera/words/errs"
)

// Login is the user of a controller or plug. The zero value is nobody. It prints as its user alone.
type Login struct {
	User     string
	password string
}

// String is the user: a login may stand in a log.
func (l Login) String() string { return l.User }

// GoString is the user, too.
func (l Login) GoString() string { return l.User }

// set puts the login into a request.
func (l Login) set(r *http.Request) {
	// Most plugs have no password.
	if l.User != "" {
		r.SetBasicAuth(l.User, l.password)
	}
}

// digesting returns a client that answers a device that asks for a digest of the password (RFC 7616). The password itself is not
// sent. A device that asks for nothing gets nothing. The client c stays as it is.
func (l Login) digesting(c *http.Client) *http.Client {
	if l.User == "" {
		return c
	}
	next := *c
	next.Transport = &digest.Transport{Username: l.User, Password: l.password, Transport: c.Transport}
	return &next
}

// ReadLogin reads a file with USER:PASSWORD in its first line. Denied if others than its owner can read it.
func ReadLogin(path string) (Login, error) {
	const op = "meter.ReadLogin"
	st, err := os.Stat(path)
	if err != nil {
		return Login{}, errs.Wrap(err, op, path)
	}
	// As ssh does with keys.
	if st.Mode().Perm()&0o077 != 0 {
		return Login{}, errs.New(errs.Denied, op, path, "others than its owner may use the file with the password").WithRemedy("chmod 600 " + path)
	}
	text, err := os.ReadFile(path) // #nosec G304 -- the user names it
	if err != nil {
		return Login{}, errs.Wrap(err, op, path)
	}
	// A password may have colons and blanks, a user may not.
	line, _, _ := strings.Cut(string(text), "\n")
	user, password, ok := strings.Cut(strings.TrimRight(line, "\r"), ":")
	if !ok || user == "" {
		return Login{}, errs.New(errs.Invalid, op, path, "its first line is not USER:PASSWORD")
	}
	return Login{User: user, password: password}, nil
}
