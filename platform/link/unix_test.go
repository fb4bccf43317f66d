package link

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hemera/rules/limits"
	"hemera/words/errs"
)

func listenUnix(t *testing.T, path string) net.Listener {
	t.Helper()
	l, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func dialUnix(t *testing.T, path string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Every user may connect, whatever the server's umask, and is identified by the kernel.
func TestUnixSocketKnowsItsClients(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	path := filepath.Join(t.TempDir(), "s")
	l := listenUnix(t, path)
	if info, err := os.Lstat(path); err != nil || info.Mode() != fs.ModeSocket|0o666 {
		t.Fatalf("%v, %v", info, err)
	}
	dialUnix(t, path)
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if want := (Process{PID: int32(os.Getpid()), UID: uint32(os.Geteuid())}); c.RemoteAddr() != want {
		t.Errorf("the client is %v, want %v", c.RemoteAddr(), want)
	}
}

// A socket that a killed process left is replaced. A socket in use, and a file that is not a socket, stay.
func TestUnixSocketReplacesOnlyWhatIsStale(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	killed, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	killed.SetUnlinkOnClose(false)
	killed.Close()
	first := listenUnix(t, path)
	if _, err := ListenUnix(path); !errors.Is(err, errs.Exists) || errs.RemedyOf(err) == "" {
		t.Errorf("a socket in use: %v", err)
	}
	dialUnix(t, path) // it is still there
	first.Close()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the end: %v", err)
	}
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "l")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, link} {
		if _, err := ListenUnix(p); !errors.Is(err, errs.Exists) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 8 || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// A listener that is closed late does not remove its successor's file.
func TestUnixSocketRemovesOnlyItsOwn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	old := listenUnix(t, path)
	if err := os.Rename(path, filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	listenUnix(t, path)
	old.Close()
	dialUnix(t, path)
}

func TestUnixSocketPathIsBounded(t *testing.T) {
	dir := t.TempDir()
	name := func(length int) string { return filepath.Join(dir, strings.Repeat("x", length-len(dir)-1)) }
	listenUnix(t, name(socketPathMax))
	if _, err := ListenUnix(name(socketPathMax + 1)); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "107") {
		t.Errorf("%v", err)
	}
}

// Each user has a share of the connections, and an admin can connect if there are no more.
func TestMuxCountsUsersOfASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	self := Process{PID: int32(os.Getpid()), UID: uint32(os.Geteuid())}
	admin := make(chan bool, 1)
	admin <- false
	base, connections, accepted := boundedAt(t, listenUnix(t, path), limits.Bounds{Total: 64, Share: 3, Reserve: 2},
		MuxOptions{Admin: func(remote, _ net.Addr) bool {
			is := <-admin
			admin <- is
			return is && remote == self
		}})
	for range 3 {
		say(t, dialUnix(t, path), "GET /")
		if c := <-accepted[HTTP]; c.RemoteAddr() != self {
			t.Errorf("the door sees %v", c.RemoteAddr())
		}
	}
	closedByPeer(t, dialUnix(t, path))
	<-admin
	admin <- true
	say(t, dialUnix(t, path), "GET /")
	<-accepted[HTTP]
	if all := connections.Usages()[0]; all.Used != 4 || all.Clients != 1 || all.RefusedShare == 0 {
		t.Errorf("%s: %+v", base.Addr(), all)
	}
}
