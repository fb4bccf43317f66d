package daemon

import (
	"context"
	"net"
	"net/http"
	"net/netip"

	"hemera/doors/admin"
	"hemera/platform/auth"
	"hemera/platform/link"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// processKey is the context key of the [link.Process] behind a request over the unix socket.
type processKey struct{}

// withProcess adds the process at the other end of a connection to the context of all requests on it.
func withProcess(ctx context.Context, conn net.Conn) context.Context {
	if p, ok := conn.RemoteAddr().(link.Process); ok {
		return context.WithValue(ctx, processKey{}, p)
	}
	return ctx
}

// processOf returns the process behind a request over the unix socket; ok is false for a request over TCP.
func processOf(r *http.Request) (link.Process, bool) {
	p, ok := r.Context().Value(processKey{}).(link.Process)
	return p, ok
}

// socketOwner identifies callers of the admin API by the owner of the client's socket, so the client must run on this
// machine. root and the server's own user are admins. It uses no password and no certificate: the kernel identifies the
// caller. It fails with Unauthenticated for processes of other machines, which the kernel cannot identify.
func socketOwner(owners auth.Owners, users auth.Users) admin.Authorizer {
	return func(r *http.Request) (hemera.Identity, error) {
		// At a unix socket the kernel identified the process when it connected.
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
		// The kernel knows the owner of a local TCP connection's other end.
		uid, err := owners.Owner(remote, local)
		if err != nil {
			return hemera.Identity{}, errs.New(errs.Unauthenticated, "daemon.Authorize", remote.Addr().String(),
				"calls by HTTP are taken from processes of the manager's own machine only").
				WithRemedy("the hemera command asks for files from other machines through root://; run others on the manager's machine, for example by ssh")
		}
		return identityOf(users, uid, remote.Addr().Unmap().String()), nil
	}
}

// identityOf returns the identity of a user of this machine. A number without an account becomes nobody. The groups are
// those of the account, not of the calling process.
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

// localAddr returns the address of the server that received a request. net/http puts it into the context of each request;
// it is missing if the handler does not run in a server.
func localAddr(r *http.Request) (netip.AddrPort, error) {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return netip.AddrPort{}, errs.New(errs.Internal, "daemon.Authorize", "", "the server does not know its own address")
	}
	local, err := netip.ParseAddrPort(addr.String())
	return local, errs.As(err, errs.Internal, "daemon.Authorize", addr.String())
}
