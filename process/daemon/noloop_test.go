package daemon

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"hemera/client/copy"
	"hemera/client/xrootd"
	"hemera/words/hemera"
)

// TestWithoutEventLoop: a cluster with a goroutine for each connection serves this client and stock ones, with parallel
// streams too, and leaves nothing open when it ends.
func TestWithoutEventLoop(t *testing.T) {
	url := runUp(t, UpOptions{Nodes: 2, Disks: 2, Manager: ManagerOptions{
		WithoutLoop: true, Space: hemera.Space{Policy: hemera.Policy{Layout: hemera.Replica(2), Checksum: hemera.Adler32}},
	}})
	dir := t.TempDir()
	data, back := filepath.Join(dir, "data"), filepath.Join(dir, "back")
	content := bytes.Repeat([]byte("0123456789abcdef\n"), 2<<20) // 34 MiB: it is redirected, and read in parallel
	if err := os.WriteFile(data, content, 0o600); err != nil {
		t.Fatal(err)
	}
	same := func(step string) {
		t.Helper()
		got, err := os.ReadFile(back)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes came back, %v", step, len(got), err)
		}
		_ = os.Remove(back)
	}
	c := xrootd.New(xrootd.Options{})
	defer c.Close()
	for _, way := range [][2]string{{data, url + "/ours"}, {url + "/ours", back}} {
		if _, err := copy.Run(t.Context(), c, []string{way[0]}, way[1], copy.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	same("our client")
	for _, command := range [][]string{
		{"xrdfs", url, "mkdir", "/d"},
		{"xrdcp", "--nopbar", "-S", "4", data, url + "/d/stock"},
		{"xrdcp", "--nopbar", "-S", "4", url + "/d/stock", back},
		{"xrdfs", url, "query", "checksum", "/d/stock"},
		{"xrdfs", url, "rm", "/d/stock"},
	} {
		if _, err := exec.LookPath(command[0]); err != nil {
			t.Skip(command[0] + " is not installed")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
		cancel()
		if err != nil {
			t.Fatalf("%q: %v, %s", command, err, out)
		}
	}
	same("the stock client")
}

// TestPortsWithoutEventLoop: with this option neither a manager, a node nor both in one process have a loop.
func TestPortsWithoutEventLoop(t *testing.T) {
	for _, without := range []bool{false, true} {
		u, err := OpenUp(t.Context(), UpOptions{Nodes: 1, Disks: 1, Manager: ManagerOptions{
			Dir: t.TempDir(), Listen: "127.0.0.1:0", WithoutLoop: without, Log: keptLog(t),
		}})
		if err != nil {
			t.Fatal(err)
		}
		p, err := openPort(t.Context(), "127.0.0.1:0", nil, without, keptLog(t))
		if err != nil {
			t.Fatal(err)
		}
		if m, n := u.Manager.port.loop == nil, u.Nodes[0].port.loop == nil; m != without || n != without || (p.loop == nil) != without {
			t.Errorf("without a loop %v: manager %v, node %v, a port of its own %v", without, m, n, p.loop == nil)
		}
		p.close()
		u.close()
	}
}
