package daemon

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"hemera/client/admin"
	"hemera/platform/auth"
	"hemera/platform/link"
	"hemera/words/errs"
	"hemera/words/hemera"
)

func withSocket(dir, socket string, wished bool) ManagerOptions {
	return ManagerOptions{Dir: dir, Listen: "127.0.0.1:0", CacheBytes: 1 << 28, Log: slog.New(slog.DiscardHandler), HTTPSocket: socket, SocketWished: wished}
}

// TestAdminSocket: while the manager runs, the unix socket serves the admin API and the metrics to its clients' users.
func TestAdminSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "admin.sock")
	for _, d := range []string{dir, filepath.Dir(dir)} { // others may pass
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}) // left by a killed process
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	m, err := OpenManager(t.Context(), withSocket(filepath.Join(dir, "d"), path, true))
	if err != nil {
		t.Fatal(err)
	}
	stop := serving(t, m.Run)
	c, err := admin.Dial(admin.SocketURL(path))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Cluster.View(t.Context()); err != nil || m.Socket != path {
		t.Errorf("at %q: %v", m.Socket, err)
	}
	if code, text := over(t, dialAs(t, path, os.Geteuid()), "GET", "http://any.name/metrics"); code != http.StatusOK || !strings.Contains(text, `hemera_limit_used{limit="connections http"} 2`) {
		t.Errorf("metrics: %d; the connections of two requests are to count: %s", code, text)
	}
	if os.Geteuid() == 0 {
		const verbs = "http://localhost/hemera.admin.v1.Admin/"
		if code, text := over(t, dialAs(t, path, 54321), "POST", verbs+"View"); code != http.StatusForbidden {
			t.Errorf("a user as admin: %d %s", code, text)
		}
		if code, text := over(t, dialAs(t, path, 54321), "POST", verbs+"Stat"); !strings.Contains(text, "path") || code == http.StatusForbidden {
			t.Errorf("a user's verb: %d %s", code, text)
		}
	}
	c.Close()
	stop()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the end: %v", err)
	}
}

// dialAs connects as another user, which depends on the connecting thread.
func dialAs(t *testing.T, path string, uid int) net.Conn {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	become := func(uid int) {
		if _, _, err := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); err != 0 {
			t.Fatal(err)
		}
	}
	self := os.Geteuid()
	become(uid)
	defer become(self)
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// over does one request on a connection.
func over(t *testing.T, conn net.Conn, method, url string) (int, string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	}}
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// TestSocketThatCannotBe: a manager starts without the default socket if that is not possible.
func TestSocketThatCannotBe(t *testing.T) {
	long := "/" + strings.Repeat("x", 120)
	for _, wished := range []bool{false, true} {
		m, err := OpenManager(t.Context(), withSocket(t.TempDir(), long, wished))
		if wished {
			if !errors.Is(err, errs.Invalid) || errs.RemedyOf(err) == "" {
				t.Errorf("wished: %v", err)
			}
			continue
		}
		if err != nil || m.Socket != "" {
			t.Fatalf("by default: %v", err)
		}
		m.close()
	}
}

// TestTwoManagersOneSocket: the second does not take the first one's socket.
func TestTwoManagersOneSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	m, err := OpenManager(t.Context(), withSocket(t.TempDir(), path, true))
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	if _, err := OpenManager(t.Context(), withSocket(t.TempDir(), path, true)); !errors.Is(err, errs.Exists) {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}

type noAccounts struct{}

func (noAccounts) Find(name string) auth.Account { return auth.Account{Name: name} }

func (noAccounts) FindUID(uint32) auth.Account { return auth.Account{} }

// TestSocketIdentities: root is an admin. The user nobody, which stands for numbers unknown in this user namespace, never is.
func TestSocketIdentities(t *testing.T) {
	authorize := socketOwner(&owners{}, noAccounts{})
	for uid, is := range map[uint32]bool{0: true, uint32(os.Geteuid()): true, 4711: os.Geteuid() == 4711, hemera.NobodyID: false} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r = r.WithContext(context.WithValue(r.Context(), processKey{}, link.Process{PID: 1, UID: uid}))
		if who, err := authorize(r); err != nil || who.Admin != is || who.UID != uid || who.Name != "nobody" {
			t.Errorf("uid %d: %+v, %v", uid, who, err)
		}
	}
}
