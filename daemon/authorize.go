package daemon

import (
	"net"
	"net/http"
	"net/netip"
	"os"

	"hemera"
	"hemera/admin"
	"hemera/auth"
	"hemera/errs"
)

// socketOwner authorises requests of the admin API by who owns the client's socket: the process must
// run on this machine, and root and the server's own user are admins.
func socketOwner(owners auth.Owners, users auth.Users) admin.Authorizer {
	return func(r *http.Request) (hemera.Identity, error) {
		remote, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil {
			return hemera.Identity{}, errs.As(err, errs.Unauthenticated, "admin.authorize", r.RemoteAddr)
		}
		local, err := localAddr(r)
		if err != nil {
			return hemera.Identity{}, err
		}
		uid, err := owners.Owner(remote, local)
		if err != nil {
			return hemera.Identity{}, errs.New(errs.Unauthenticated, "admin.authorize", remote.Addr().String(),
				"calls by HTTP are taken from processes of the manager's own machine only").
				WithRemedy("the hemera command asks for files from other machines through root://; run others on the manager's machine, for example by ssh")
		}
		account := users.FindUID(uid)
		who := hemera.Identity{
			Name: account.Name, UID: uid, GID: account.GID, Groups: account.Groups, Protocol: "socket",
			Host: remote.Addr().Unmap().String(), App: "admin", Admin: uid == 0 || uid == uint32(os.Geteuid()),
		}
		if !account.Known {
			who.Name, who.GID = "nobody", hemera.NobodyID
		}
		return who, nil
	}
}

func localAddr(r *http.Request) (netip.AddrPort, error) {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return netip.AddrPort{}, errs.New(errs.Internal, "admin.authorize", "", "the server does not know its own address")
	}
	local, err := netip.ParseAddrPort(addr.String())
	return local, errs.As(err, errs.Internal, "admin.authorize", addr.String())
}
