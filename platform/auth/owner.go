package auth

import (
	"net/netip"
	"os"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// IsAdmin reports whether a user is an admin, by its uid in the kernel: root, or the user that runs the server. The user
// nobody is never an admin: the kernel reports it for all users without a number in the server's user namespace.
func IsAdmin(uid uint32) bool { return isAdmin(uid, uint32(os.Geteuid())) }

func isAdmin(uid, server uint32) bool {
	return uid == 0 || uid == server && uid != hemera.NobodyID
}

// Owners finds the user that owns a TCP socket of this machine. It blocks for the kernel, for milliseconds.
type Owners interface {
	// Owner returns the uid of the socket with client as its own address and server as its peer. It fails with NotFound
	// if there is no such socket here, and with Unsupported if this way of asking is not available.
	Owner(client, server netip.AddrPort) (uint32, error)
}

// KernelOwners asks the kernel: over netlink (inet_diag, one exact lookup), or by reading /proc/net/tcp if netlink is not
// compiled in or not allowed.
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
