package meter

import (
	"os"
	"strings"

	"hemera/words/errs"
)

// Login is the user of a controller. The zero value is nobody. It prints as its user alone.
type Login struct {
	User     string
	password string
}

// String returns the user, so that a login may be logged.
func (l Login) String() string { return l.User }

// GoString returns the user too.
func (l Login) GoString() string { return l.User }

// ReadLogin reads a file with USER:PASSWORD in its first line. It fails with Denied if others than its owner can read it.
func ReadLogin(path string) (Login, error) {
	const op = "meter.ReadLogin"
	st, err := os.Stat(path)
	if err != nil {
		return Login{}, errs.Wrap(err, op, path)
	}
	// Like ssh with keys.
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
