package auth

import (
	"fmt"
	"os/user"
	"strconv"

	"hemera/words/hemera"
)

// Account is what the machine knows of a user. Known is false for names and numbers it has never
// heard of; such clients are served as nobody under the name they gave.
type Account struct {
	Known    bool
	Name     string
	UID, GID uint32
	Groups   []uint32
}

// identity is the account as a door's clients are seen.
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

// Users maps names to accounts. The calls are made once a login and must not block for long.
type Users interface {
	Find(name string) Account
	FindUID(uid uint32) Account
}

// SystemUsers are the machine's: /etc/passwd and /etc/group, read at each login. Directory services
// behind NSS are not asked, since that takes the C library.
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
		return a // membership is a bonus: without it the primary group is all
	}
	for _, id := range ids {
		if g, err := strconv.ParseUint(id, 10, 32); err == nil {
			a.Groups = append(a.Groups, uint32(g))
		}
	}
	return a
}
