package link

import (
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestInheritedSocket: a client that connects while no process runs waits for the next one.
func TestInheritedSocket(t *testing.T) {
	if addr := os.Getenv("HEMERA_TEST_INHERIT"); addr != "" {
		greetOne(t, addr)
		return
	}
	held, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	client, err := net.Dial("tcp", held.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=3 exec "$0" -test.run='^TestInheritedSocket$'`, os.Args[0])
	cmd.Env = append(os.Environ(), "HEMERA_TEST_INHERIT="+held.Addr().String())
	for _, l := range []net.Listener{other, held} {
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	none, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer none.Close()
	cmd.ExtraFiles = append([]*os.File{none}, cmd.ExtraFiles...)
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "Exec format error") {
		t.Skip("this process is emulated, and the kernel starts no programs of its kind")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, err := io.ReadAll(client); err != nil || string(got) != "hello" {
		t.Errorf("read %q, %v", got, err)
	}
	// Only the process that LISTEN_PID names uses the sockets.
	t.Setenv("LISTEN_PID", "1")
	t.Setenv("LISTEN_FDS", "1")
	if l := DefaultOptions().inherited(held.Addr().String()); l != nil {
		t.Error("another process's socket is taken")
	}
}

// greetOne runs in the new process: the address is in use, but by the socket that it inherited.
func greetOne(t *testing.T, addr string) {
	l, err := Listen(t.Context(), addr, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Fatal(err)
	}
}

func TestListensOn(t *testing.T) {
	for _, c := range []struct {
		have, want string
		same       bool
	}{
		{"127.0.0.1:1094", "127.0.0.1:1094", true},
		{"127.0.0.1:1094", "127.0.0.1:1095", false},
		{"127.0.0.2:1094", "127.0.0.1:1094", false},
		{"[::]:1094", "0.0.0.0:1094", true},
		{"[::]:1094", ":1094", true},
		{"[::]:1094", "127.0.0.1:1094", false},
		{"127.0.0.1:1094", "0.0.0.0:1094", false},
		{"[::ffff:10.0.0.1]:1094", "10.0.0.1:1094", true},
		{"10.0.0.1:1094", "localhost:1094", false},
		{"10.0.0.1:1094", "10.0.0.1", false},
	} {
		at, err := net.ResolveTCPAddr("tcp", c.have)
		if err != nil {
			t.Fatal(err)
		}
		if got := listensOn(at, c.want); got != c.same {
			t.Errorf("%s for %s: %v", c.have, c.want, got)
		}
	}
}
