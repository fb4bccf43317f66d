package conform

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hemera/platform/link"
)

// StockServer starts the XRootD server that is installed here, with an empty directory as its tree,
// and returns the URL of its root and the directory. The test is skipped where there is none. extra
// are lines for its configuration.
// The server is killed at the end of the test, and its directory removed.
func StockServer(t testing.TB, extra ...string) (url, root string) {
	t.Helper()
	program, err := exec.LookPath("xrootd")
	if err != nil {
		t.Skip("no stock xrootd is installed")
	}
	// Not t.TempDir: the server runs as another user, who must be able to get there.
	home, err := os.MkdirTemp("", "stock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	root = filepath.Join(home, "tree")
	for _, dir := range []string{home, root, filepath.Join(home, "admin")} { // the server runs as another user
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	port := FreePort(t)
	config := []string{
		"all.export /", "oss.localroot " + root, fmt.Sprintf("xrd.port %d", port),
		"all.adminpath " + filepath.Join(home, "admin"), "all.pidpath " + filepath.Join(home, "admin"),
		"xrootd.chksum max 2 adler32 crc32c", "xrd.network nodnr", // nodnr: names of clients are not looked up
	}
	file := filepath.Join(home, "xrootd.cfg")
	if err := os.WriteFile(file, []byte(strings.Join(append(config, extra...), "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(home, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program, "-c", file, "-n", "stock", "-l", "-") // -l -: no log file of its own
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, log, log
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: nobody(t)}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal("the stock xrootd does not start: ", err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() }) // it keeps nothing that must be closed
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	awaitListener(t, addr, log.Name())
	return "root://" + addr + "//", root
}

// FreePort returns a port for a server that listens in the test, or is started again at the same port. No other process gets it before the test ends.
func FreePort(t testing.TB) int {
	t.Helper()
	held, err := link.Hold(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = held.Close() })
	return held.First
}

// nobody returns the user that the server runs as: it refuses to be root. The test is skipped on a system without that
// user.
func nobody(t testing.TB) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Skip("there is no user nobody")
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// awaitListener polls because a foreign program tells in no other way that it is ready.
// The log is in the failure, because it says why the server ended.
func awaitListener(t testing.TB, addr, log string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return
		}
	}
	text, _ := os.ReadFile(log)
	t.Fatalf("the stock server does not listen:\n%s", text)
}
