package auth

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hemera/words/errs"
	"hemera/words/hemera"
)

type fakeUsers map[string]uint32

func (f fakeUsers) Find(name string) Account {
	if uid, ok := f[name]; ok {
		return Account{Known: true, Name: name, UID: uid, GID: uid, Groups: []uint32{uid, 100}}
	}
	return unknown(name)
}

func (f fakeUsers) FindUID(uid uint32) Account {
	for name, u := range f {
		if u == uid {
			return f.Find(name)
		}
	}
	return unknown("")
}

type ownedBy uint32

func (o ownedBy) Owner(netip.AddrPort, netip.AddrPort) (uint32, error) { return uint32(o), nil }

type ownerless struct{}

func (ownerless) Owner(netip.AddrPort, netip.AddrPort) (uint32, error) { return 0, unowned("test") }

func serverUser(uid uint32) Users { return fakeUsers{"server": uid} }

// TestMappingsOfNetworks: the first network that contains the address counts, and copies never have a name.
func TestMappingsOfNetworks(t *testing.T) {
	var networks []Network
	for _, text := range []string{"10.1.7.0/24=own", "10.1.0.0/16=squash", "10.2.0.0/16=nobody", "10.3.0.0/16"} {
		n, err := ParseNetwork(text)
		if err != nil {
			t.Fatal(err)
		}
		networks = append(networks, n)
	}
	p := NewManagerPolicy(networks)
	for _, c := range []struct{ remote, app, want string }{
		{"10.1.7.1:9", "", "unix own host"},
		{"10.1.8.1:9", "", "unix host"},
		{"10.2.8.1:9", "", "host"},
		{"10.3.8.1:9", "", "unix host"},
		{"127.0.0.1:9", "", "unix host"},
		{"10.1.7.1:9", "hemera-tpc", "host"},
		{"127.0.0.1:9", "hemera-tpc", "host"},
		{"192.0.2.1:9", "hemera-tpc", ""},
	} {
		offer, _ := p.Offer(Peer{Remote: netip.MustParseAddrPort(c.remote), Local: netip.MustParseAddrPort("10.9.9.9:1094"), App: c.app})
		var got []string
		for _, m := range offer {
			got = append(got, m.Name())
			if u, ok := m.(Unix); ok && u.Own {
				got = append(got, "own")
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s as %q: %s, want %s", c.remote, c.app, s, c.want)
		}
	}
	for _, bad := range []string{"", "10.1.0.0/16=", "10.1.0.0/16=root", "=own", "10.1.0.0"} {
		if n, err := ParseNetwork(bad); err == nil {
			t.Errorf("%q is %v", bad, n)
		}
	}
	if s := networks[0].String() + " " + networks[1].String(); s != "10.1.7.0/24=own 10.1.0.0/16" {
		t.Error(s)
	}
}

func TestUnixBelievesTheKernel(t *testing.T) {
	self := uint32(os.Geteuid())
	users := fakeUsers{"root": 0, "alice": 1001, "bob": 1002, "operator": self + 5000}
	local := Peer{Remote: netip.MustParseAddrPort("127.0.0.1:5000"), Local: netip.MustParseAddrPort("127.0.0.1:1094"), App: "xrdcp"}
	cases := []struct {
		about string
		unix  Unix
		claim string
		want  *hemera.Identity // nil: Unauthenticated
	}{
		{"own name", Unix{Owners: ownedBy(1001)}, "alice", &hemera.Identity{Name: "alice", UID: 1001, GID: 1001}},
		{"another's name", Unix{Owners: ownedBy(1002)}, "alice", nil},
		{"another's name, claimed root", Unix{Owners: ownedBy(1002)}, "root", nil},
		{"known user under an unknown name", Unix{Owners: ownedBy(1002)}, "mallory", nil},
		{"unknown user under a known name", Unix{Owners: ownedBy(7777)}, "alice", nil},
		{"both unknown", Unix{Owners: ownedBy(7777)}, "dave", &hemera.Identity{Name: "7777", UID: 7777, GID: hemera.NobodyID}},
		{"root itself", Unix{Owners: ownedBy(0)}, "root", &hemera.Identity{Name: "root", Admin: true}},
		{"root as another", Unix{Owners: ownedBy(0)}, "alice", &hemera.Identity{Name: "alice", UID: 1001, GID: 1001}},
		{"root as an unknown", Unix{Owners: ownedBy(0)}, "zoe", &hemera.Identity{Name: "zoe", UID: hemera.NobodyID, GID: hemera.NobodyID}},
		{"the server's user", Unix{Owners: ownedBy(self)}, "bob", &hemera.Identity{Name: "bob", UID: 1002, GID: 1002}},
		{"no owner", Unix{Owners: ownerless{}}, "alice", nil},
		{"trusted network", Unix{Trusted: true}, "alice", &hemera.Identity{Name: "alice", UID: 1001, GID: 1001}},
		{"trusted network, an unknown", Unix{Trusted: true}, "zoe", &hemera.Identity{Name: "zoe", UID: hemera.NobodyID, GID: hemera.NobodyID}},
		{"trusted network, root", Unix{Trusted: true}, "root", &hemera.Identity{Name: "nobody", UID: hemera.NobodyID, GID: hemera.NobodyID}},
		{"trusted network, the server's user", Unix{Trusted: true, Users: serverUser(self)}, "server", &hemera.Identity{Name: "nobody", UID: hemera.NobodyID, GID: hemera.NobodyID}},
		{"network with root, who is no admin", Unix{Trusted: true, Own: true}, "root", &hemera.Identity{Name: "root"}},
	}
	for _, c := range cases {
		t.Run(c.about, func(t *testing.T) {
			if c.unix.Users == nil {
				c.unix.Users = users
			}
			who, more, err := c.unix.Begin(local).Step([]byte("unix\x00" + c.claim + " users\x00"))
			if more != nil {
				t.Errorf("unix takes one step, it asked for more: %q", more)
			}
			if c.want == nil {
				if who != nil || !errors.Is(err, errs.Unauthenticated) {
					t.Fatalf("got %+v, %v; want Unauthenticated", who, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if who.Name != c.want.Name || who.UID != c.want.UID || who.GID != c.want.GID || who.Admin != c.want.Admin {
				t.Errorf("got %+v, want %+v", *who, *c.want)
			}
			if who.Claimed != c.claim || who.Protocol != "unix" || who.Host != "127.0.0.1" || who.App != "xrdcp" {
				t.Errorf("got %+v", *who)
			}
		})
	}
}

func TestMismatchSaysWhoOwnsTheConnection(t *testing.T) {
	u := Unix{Owners: ownedBy(1002), Users: fakeUsers{"alice": 1001, "bob": 1002}}
	_, _, err := u.Begin(Peer{}).Step([]byte("unix\x00alice\x00"))
	if err == nil || !strings.Contains(err.Error(), `"alice"`) || !strings.Contains(err.Error(), `"bob" (uid 1002)`) || errs.RemedyOf(err) == "" {
		t.Errorf("the text must name both users and a remedy: %v", err)
	}
}

func TestManagerPolicy(t *testing.T) {
	p := NewManagerPolicy([]Network{{Prefix: netip.MustParsePrefix("10.1.0.0/16")}, {Prefix: netip.MustParsePrefix("fd00::/8"), Map: MapOwn}})
	cases := []struct {
		remote, local string
		offer         string // "" is Denied
		trusted       bool
	}{
		{"127.0.0.1:9", "127.0.0.1:1094", "unix host", false},
		{"127.0.0.5:9", "127.0.0.1:1094", "unix host", false},
		{"[::1]:9", "[::1]:1094", "unix host", false},
		{"[::ffff:127.0.0.1]:9", "[::ffff:127.0.0.1]:1094", "unix host", false},
		{"192.0.2.7:9", "192.0.2.7:1094", "unix host", false},
		{"10.1.2.3:9", "10.1.0.1:1094", "unix host", true},
		{"[::ffff:10.1.2.3]:9", "[::ffff:10.1.0.1]:1094", "unix host", true},
		{"[fd12::1]:9", "[fd12::2]:1094", "unix host", true},
		{"10.2.2.3:9", "10.2.0.1:1094", "", false},
		{"192.0.2.8:9", "192.0.2.7:1094", "", false},
		{"[2001:db8::1]:9", "[2001:db8::2]:1094", "", false},
	}
	for _, c := range cases {
		peer := Peer{Remote: netip.MustParseAddrPort(c.remote), Local: netip.MustParseAddrPort(c.local)}
		offer, err := p.Offer(peer)
		if c.offer == "" {
			if offer != nil || !errors.Is(err, errs.Denied) || !strings.HasPrefix(errs.RemedyOf(err), "ask the admin of this server to add your network to auth.trusted_networks") {
				t.Errorf("%s: got %v, %v (remedy %q); want Denied naming the setting", c.remote, offer, err, errs.RemedyOf(err))
			}
			continue
		}
		var names []string
		for _, m := range offer {
			names = append(names, m.Offer())
		}
		if err != nil || strings.Join(names, " ") != c.offer || offer[0].(Unix).Trusted != c.trusted {
			t.Errorf("%s: offers %v (%+v), %v", c.remote, names, offer, err)
		}
	}
	if _, err := p.Offer(Peer{}); !errors.Is(err, errs.Denied) {
		t.Errorf("a peer without addresses: %v, want Denied", err)
	}
}

func TestNodePolicyServesEveryoneAsNobody(t *testing.T) {
	peer := Peer{Remote: netip.MustParseAddrPort("192.0.2.8:9"), Login: "root"}
	offer, err := NodePolicy{}.Offer(peer)
	who := NodePolicy{}.Anonymous(peer)
	if offer != nil || err != nil || who.Name != "nobody" || who.UID != hemera.NobodyID || who.Admin || who.Host != "192.0.2.8" {
		t.Errorf("got %v, %v, %+v", offer, err, who)
	}
}

func TestHostTakesNoCredentials(t *testing.T) {
	for _, good := range []string{"host", "host\x00"} {
		who, _, err := Host{}.Begin(Peer{}).Step([]byte(good))
		if err != nil || who.Name != "nobody" || who.UID != hemera.NobodyID || who.Admin {
			t.Errorf("%q: %+v, %v", good, who, err)
		}
	}
	for _, bad := range []string{"", "hos", "gsi\x00", "host\x00root", "host\x00\x00", "unix\x00root"} {
		if who, _, err := (Host{}).Begin(Peer{}).Step([]byte(bad)); who != nil || !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %+v, %v; want Invalid", bad, who, err)
		}
	}
}

// TestKernelOwners asks both ways about real connections: the answers must be this process's user, NotFound for a missing
// connection, and not root for the uid 0 of a closed socket.
func TestKernelOwners(t *testing.T) {
	ways := map[string]Owners{"netlink": diag{}, "proc": procNet{"/proc/net"}, "both": NewKernelOwners()}
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err) // machines without IPv6
			continue
		}
		defer l.Close()
		dial := l.Addr().String()
		if at == "[::]:0" { // an IPv4 client of an IPv6 socket
			dial = fmt.Sprintf("127.0.0.1:%d", l.Addr().(*net.TCPAddr).Port)
		}
		client, err := net.Dial("tcp", dial)
		if err != nil {
			t.Fatal(err)
		}
		served, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer served.Close()
		remote, local := unmap(served.RemoteAddr()), unmap(served.LocalAddr())
		for name, way := range ways {
			uid, err := way.Owner(remote, local)
			if errors.Is(err, errs.Unsupported) {
				t.Logf("%s %s: %v", name, at, err)
				continue
			}
			if err != nil || uid != uint32(os.Geteuid()) {
				t.Errorf("%s %s: uid %d, %v; want %d", name, at, uid, err, os.Geteuid())
			}
			if uid, err := way.Owner(netip.AddrPortFrom(remote.Addr(), 1), local); !errors.Is(err, errs.NotFound) {
				t.Errorf("%s %s: a connection that is not there: uid %d, %v", name, at, uid, err)
			}
			if uid, err := way.Owner(local, netip.AddrPortFrom(remote.Addr(), 1)); !errors.Is(err, errs.NotFound) {
				t.Errorf("%s %s: the listening socket passed for a client: uid %d, %v", name, at, uid, err)
			}
		}
		client.Close()
		for name, way := range ways {
			if uid, err := way.Owner(remote, local); err == nil || errors.Is(err, errs.Unsupported) && name == "both" {
				t.Errorf("%s %s: a closed client's connection still has owner %d, %v", name, at, uid, err)
			}
		}
	}
}

// TestKernelOwnersOfAnotherUser makes a socket as another user (sockets belong to the thread's fsuid). It needs root.
func TestKernelOwnersOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const other = 54321
	to := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: l.Addr().(*net.TCPAddr).Port}
	runtime.LockOSThread()
	_, failed := unix.SetfsuidRetUid(other)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Connect(fd, to)
	}
	_, restored := unix.SetfsuidRetUid(0)
	runtime.UnlockOSThread()
	if err := errors.Join(failed, err, restored); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	served, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	peer := Peer{Remote: served.RemoteAddr().(*net.TCPAddr).AddrPort(), Local: served.LocalAddr().(*net.TCPAddr).AddrPort()}
	for name, way := range map[string]Owners{"netlink": diag{}, "proc": procNet{"/proc/net"}} {
		uid, err := way.Owner(unmap(served.RemoteAddr()), unmap(served.LocalAddr()))
		if errors.Is(err, errs.Unsupported) {
			t.Logf("%s: %v", name, err)
			continue
		}
		if err != nil || uid != other {
			t.Errorf("%s: uid %d, %v; want %d", name, uid, err, other)
		}
	}
	offer, err := NewManagerPolicy(nil).Offer(peer)
	if err != nil {
		t.Fatal(err)
	}
	if who, _, err := offer[0].Begin(peer).Step([]byte("unix\x00root\x00")); who != nil || !errors.Is(err, errs.Unauthenticated) {
		t.Errorf("uid %d claims root: %+v, %v", other, who, err)
	}
}

func unmap(a net.Addr) netip.AddrPort {
	p := a.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
}

func TestDiagAnswersThatProveNothing(t *testing.T) {
	client, server := netip.MustParseAddrPort("127.0.0.1:5000"), netip.MustParseAddrPort("127.0.0.1:1094")
	good := make([]byte, 16+diagAnswerSize)
	binary.NativeEndian.PutUint16(good[4:], sockDiagByFamily)
	body := good[16:]
	body[1] = tcpEstablished
	binary.BigEndian.PutUint16(body[4:], 5000)
	binary.BigEndian.PutUint16(body[6:], 1094)
	binary.NativeEndian.PutUint32(body[64:], 1001)
	binary.NativeEndian.PutUint32(body[68:], 99)
	if uid, err := diagAnswer(good, client, server); uid != 1001 || err != nil {
		t.Fatalf("the good answer: %d, %v", uid, err)
	}
	damage := map[string]func(b []byte){
		"closing":       func(b []byte) { b[16+1] = 5 },
		"no inode":      func(b []byte) { copy(b[16+68:], make([]byte, 4)) },
		"other client":  func(b []byte) { b[16+4]++ },
		"listening":     func(b []byte) { b[16+6], b[16+7] = 0, 0 },
		"other message": func(b []byte) { b[4]++ },
	}
	for name, f := range damage {
		b := append([]byte(nil), good...)
		f(b)
		if uid, err := diagAnswer(b, client, server); err == nil {
			t.Errorf("%s: passed with uid %d", name, uid)
		}
	}
	for n := range len(good) {
		if uid, err := diagAnswer(good[:n], client, server); err == nil {
			t.Errorf("cut to %d bytes: passed with uid %d", n, uid)
		}
	}
}

func FuzzParseUnix(f *testing.F) {
	for _, s := range []string{"unix\x00alice users\x00", "unix\x00alice\x00", "unix\x00alice", "unix\x00", "unix", "", "gsi\x00x", "unix\x00a b c\x00", "unix\x00a\x00b\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		user, group, err := ParseUnix(b)
		if err != nil {
			if user != "" || group != "" || !errors.Is(err, errs.Invalid) {
				t.Errorf("%q: %q %q with %v", b, user, group, err)
			}
			return
		}
		text := strings.TrimSuffix(strings.TrimSuffix("unix\x00"+user+" "+group, " "), "\x00")
		got := strings.TrimSuffix(strings.TrimSuffix(string(b), "\x00"), " ")
		if text != got || strings.ContainsAny(user+group, "\x00 \n") {
			t.Errorf("%q became %q %q", b, user, group)
		}
	})
}

// TestAdmins: a user without a number in the server's user namespace appears as nobody, and a server may run as nobody.
func TestAdmins(t *testing.T) {
	for _, c := range []struct {
		uid, server uint32
		is          bool
	}{
		{0, 1000, true}, {1000, 1000, true}, {1001, 1000, false}, {hemera.NobodyID, hemera.NobodyID, false}, {0, hemera.NobodyID, true}, {hemera.NobodyID, 0, false},
	} {
		if isAdmin(c.uid, c.server) != c.is {
			t.Errorf("uid %d at a server of %d", c.uid, c.server)
		}
	}
}
