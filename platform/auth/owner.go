package auth

import (
	"net/netip"
	"os"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// IsAdmin reports whether a user, by its uid in the kernel, is an admin: root, and the user that the server runs as. That is
// never nobody, which is how the kernel shows everybody who has no number in the server's user namespace.
func IsAdmin(uid uint32) bool { return isAdmin(uid, uint32(os.Geteuid())) }

func isAdmin(uid, server uint32) bool {
	return uid == 0 || uid == server && uid != hemera.NobodyID
}

// Owners finds which user owns a TCP socket of this machine.
type Owners interface {
	// Owner is the uid behind the socket whose own address is client and whose other end is server.
	// NotFound when there is no such socket here; Unsupported when this way of asking is closed.
	Owner(client, server netip.AddrPort) (uint32, error)
}

// KernelOwners asks the kernel: over netlink (inet_diag, one exact lookup), and where that is not
// compiled in or not allowed, by reading /proc/net/tcp.
type KernelOwners struct{ ways []Owners }

// NewKernelOwners returns the two ways, better first.
func NewKernelOwners() *KernelOwners {
	return &KernelOwners{ways: []Owners{diag{}, procNet{"/proc/net"}}}
}

// Owner implements [Owners].
func (k *KernelOwners) Owner(client, server netip.AddrPort) (uint32, error) {
	client = netip.AddrPortFrom(client.Addr().Unmap(), client.Port())
	server = netip.AddrPortFrom(server.Addr().Unmap(), server.Port())
	var last error
	for _, way := range k.ways {
		uid, err := way.Owner(client, server)
		if err == nil {
			return uid, nil
		}
		last = err
		if errs.KindOf(err) != errs.Unsupported {
			break
		}
	}
	return 0, errs.Wrap(last, "auth.Owner", client.String())
}
