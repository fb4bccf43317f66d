package daemon

import (
	"context"
	"net"
	"net/http"
	"net/netip"

	"hemera"
	"hemera/doors/admin"
	"hemera/errs"
	"hemera/platform/auth"
	"hemera/platform/link"
)

// processKey is where a request that came over the unix socket has its [link.Process].
type processKey struct{}

// withProcess keeps who is at the other end of a connection for the requests that come over it.
func withProcess(ctx context.Context, conn net.Conn) context.Context {
	if p, ok := conn.RemoteAddr().(link.Process); ok {
		return context.WithValue(ctx, processKey{}, p)
	}
	return ctx
}

func processOf(r *http.Request) (link.Process, bool) {
	p, ok := r.Context().Value(processKey{}).(link.Process)
	return p, ok
}

// socketOwner authorises requests of the admin API by who owns the client's socket: the process must
// run on this machine, and root and the server's own user are admins.
func socketOwner(owners auth.Owners, users auth.Users) admin.Authorizer {
	return func(r *http.Request) (hemera.Identity, error) {
		if p, ok := processOf(r); ok {
			return identityOf(users, p.UID, "localhost"), nil
		}
		remote, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil {
			return hemera.Identity{}, errs.As(err, errs.Unauthenticated, "daemon.Authorize", r.RemoteAddr)
		}
		local, err := localAddr(r)
		if err != nil {
			return hemera.Identity{}, err
		}
		uid, err := owners.Owner(remote, local)
		if err != nil {
			return hemera.Identity{}, errs.New(errs.Unauthenticated, "daemon.Authorize", remote.Addr().String(),
				"calls by HTTP are taken from processes of the manager's own machine only").
				WithRemedy("the hemera command asks for files from other machines through root://; run others on the manager's machine, for example by ssh")
		}
		return identityOf(users, uid, remote.Addr().Unmap().String()), nil
	}
}

// identityOf is the user of this machine that owns a client's socket.
func identityOf(users auth.Users, uid uint32, host string) hemera.Identity {
	account := users.FindUID(uid)
	who := hemera.Identity{
		Name: account.Name, UID: uid, GID: account.GID, Groups: account.Groups, Protocol: "socket",
		Host: host, App: "admin", Admin: auth.IsAdmin(uid),
	}
	if !account.Known {
		who.Name, who.GID = "nobody", hemera.NobodyID
	}
	return who
}

func localAddr(r *http.Request) (netip.AddrPort, error) {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return netip.AddrPort{}, errs.New(errs.Internal, "daemon.Authorize", "", "the server does not know its own address")
	}
	local, err := netip.ParseAddrPort(addr.String())
	return local, errs.As(err, errs.Internal, "daemon.Authorize", addr.String())
}
