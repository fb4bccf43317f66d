package auth

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// payloadMax bounds the credentials of one step; names are far shorter.
const payloadMax = 1024

// Unix is the XRootD mechanism "unix": the client sends its user and group name. A name alone proves nothing, so it is
// accepted in two cases only: the client is a process on this machine, and the kernel confirms that the user owns its
// socket; or Trusted is set, because the admin vouches for the network's hosts. Trusted peers never become Admin. Without
// Own, uid 0 and the server's own user become nobody.
type Unix struct {
	Owners  Owners // finds who owns a local client's socket; required unless Trusted
	Users   Users
	Trusted bool
	Own     bool
}

// Name implements [Mechanism].
func (Unix) Name() string { return "unix" }

// Offer implements [Mechanism].
func (Unix) Offer() string { return "unix" }

// Begin implements [Mechanism].
func (u Unix) Begin(peer Peer) Exchange { return unixExchange{u, peer} }

type unixExchange struct {
	unix Unix
	peer Peer
}

// Step implements [Exchange]; it is the only step. The group that the client names is ignored: the account's groups are
// looked up.
func (x unixExchange) Step(credentials []byte) (*hemera.Identity, []byte, error) {
	user, _, err := ParseUnix(credentials)
	if err != nil {
		return nil, nil, err
	}
	account := x.unix.Users.Find(user)
	who := account.identity("unix", x.peer)
	who.Claimed = user
	if x.unix.Trusted {
		if !x.unix.Own && account.Known && IsAdmin(account.UID) {
			who = nobody("unix", x.peer)
			who.Claimed = user
		}
		return &who, nil, nil
	}
	owner, err := x.unix.Owners.Owner(x.peer.Remote, x.peer.Local)
	if err != nil {
		return nil, nil, errs.As(err, errs.Unauthenticated, "auth.CheckUnix", user)
	}
	switch {
	case IsAdmin(owner):
		who.Admin = account.Known && IsAdmin(account.UID)
		return &who, nil, nil
	case account.Known && account.UID == owner:
		return &who, nil, nil
	}
	real := x.unix.Users.FindUID(owner)
	if !account.Known && !real.Known {
		// Neither is in /etc/passwd (accounts from a directory service): the name cannot be checked, but the number is
		// certain.
		who.Name, who.UID = strconv.FormatUint(uint64(owner), 10), owner
		return &who, nil, nil
	}
	return nil, nil, errs.New(errs.Unauthenticated, "auth.CheckUnix", user, fmt.Sprintf(
		"the client says it is %q, but its connection belongs to %s", user, real.describe(owner))).
		WithRemedy("log in under your own name: root://NAME@host sets the name a client gives")
}

// ParseUnix reads the credentials "unix\0user group\0"; the group and the last zero byte may be missing. It fails with
// Invalid and says what is wrong.
func ParseUnix(credentials []byte) (user, group string, err error) {
	invalid := func(text string) (string, string, error) {
		return "", "", errs.New(errs.Invalid, "auth.CheckUnix", "", text)
	}
	if len(credentials) > payloadMax {
		return invalid(fmt.Sprintf("credentials of %d bytes are longer than %d", len(credentials), payloadMax))
	}
	rest, ok := bytes.CutPrefix(credentials, []byte("unix\x00"))
	if !ok {
		return invalid("credentials do not begin with the mechanism's name")
	}
	text := strings.TrimSuffix(string(rest), "\x00")
	user, group, _ = strings.Cut(text, " ")
	switch {
	case user == "":
		return invalid("credentials name no user")
	case !printable(user) || !printable(group):
		return invalid("user and group must be printable text without spaces")
	}
	return user, group, nil
}

func printable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
}
