package auth

import (
	"fmt"
	"os/user"
	"strconv"

	"hemera/words/hemera"
)

// Account has the machine's data of a user. Known is false for unknown names and numbers; such clients are served as the
// user nobody under the name that they sent.
type Account struct {
	Known    bool
	Name     string
	UID, GID uint32
	Groups   []uint32
}

// identity returns the account as the identity of a door's client.
func (a Account) identity(protocol string, peer Peer) hemera.Identity {
	return hemera.Identity{
		Name: a.Name, UID: a.UID, GID: a.GID, Groups: a.Groups,
		Protocol: protocol, Host: peer.Remote.Addr().Unmap().String(), App: peer.App,
	}
}

func (a Account) describe(uid uint32) string {
	if a.Known {
		return fmt.Sprintf("%q (uid %d)", a.Name, uid)
	}
	return fmt.Sprintf("uid %d", uid)
}

// Users maps names to accounts. Doors call it once for each login; it must not block for long.
type Users interface {
	Find(name string) Account
	FindUID(uid uint32) Account
}

// SystemUsers reads the machine's users from /etc/passwd and /etc/group, at each login. It does not ask directory
// services behind NSS, since that needs the C library.
type SystemUsers struct{}

// Find implements [Users].
func (SystemUsers) Find(name string) Account {
	u, err := user.Lookup(name)
	if err != nil {
		return unknown(name)
	}
	return account(u)
}

// FindUID implements [Users].
func (SystemUsers) FindUID(uid uint32) Account {
	u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if err != nil {
		return unknown("")
	}
	return account(u)
}

func unknown(name string) Account {
	return Account{Name: name, UID: hemera.NobodyID, GID: hemera.NobodyID}
}

func account(u *user.User) Account {
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err1 != nil || err2 != nil {
		return unknown(u.Username)
	}
	a := Account{Known: true, Name: u.Username, UID: uint32(uid), GID: uint32(gid)}
	ids, err := u.GroupIds()
	if err != nil {
		return a // groups are optional: the primary group remains
	}
	for _, id := range ids {
		if g, err := strconv.ParseUint(id, 10, 32); err == nil {
			a.Groups = append(a.Groups, uint32(g))
		}
	}
	return a
}
