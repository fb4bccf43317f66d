package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/words/errs"
)

func (c *cluster) parse(path string) xrootd.URL {
	u, err := xrootd.ParseURL(c.URL + "/" + path)
	if err != nil {
		c.T.Fatal(err)
	}
	return u
}

func randomBytes(n int) []byte {
	p := make([]byte, n)
	var seed [32]byte
	_, _ = rand.NewChaCha8(seed).Read(p)
	return p
}

// TestNodeDiesWhileItIsRead: the reader goes on at the other replica, whichever it was reading.
func TestNodeDiesWhileItIsRead(t *testing.T) {
	c := newCluster(t)
	ctx := t.Context()
	data := randomBytes(32 << 20)
	u := c.parse("/read")
	f, err := c.client.Open(ctx, u, xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644})
	if err == nil {
		err = errors.Join(f.WriteAt(ctx, data, 0), f.Close(ctx))
	}
	if err != nil {
		t.Fatal(err)
	}
	if f, err = c.client.Open(ctx, u, xrootd.OpenOptions{}); err != nil {
		t.Fatal(err)
	}
	defer f.Close(ctx)
	part := len(data) / (nodes + 1)
	buf := make([]byte, part)
	for i := range nodes + 1 {
		off := i * part
		if _, err := f.ReadAt(ctx, buf, int64(off)); err != nil && !errors.Is(err, io.EOF) {
			c.Logs()
			t.Fatalf("after %d of the nodes were killed in turn: %v", i, err)
		}
		if !bytes.Equal(buf, data[off:off+part]) {
			t.Fatalf("wrong bytes at %d", off)
		}
		if i < nodes { // one of them is the one that was just read from
			if i > 0 {
				c.nodes[i-1].Start()
				c.AwaitOnline(nodes)
			}
			c.nodes[i].Kill()
		}
	}
}

// TestNodeDiesWhileXrdcpWrites: the stock client finishes or fails; a file that is there is whole.
func TestNodeDiesWhileXrdcpWrites(t *testing.T) {
	xrdcp, err := exec.LookPath("xrdcp")
	if err != nil {
		t.Skip("no xrdcp is installed")
	}
	c := newCluster(t)
	data := randomBytes(64 << 20)
	source := filepath.Join(c.Dir, "source")
	if err := os.WriteFile(source, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for victim := range c.nodes {
		name := fmt.Sprintf("/written%d", victim)
		ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
		cmd := exec.CommandContext(ctx, xrdcp, "--nopbar", "--xrate", "30m", source, c.URL+"/"+name)
		cmd.Env = append(os.Environ(), "XRD_CONNECTIONWINDOW=5", "XRD_CONNECTIONRETRY=3", "XRD_STREAMERRORWINDOW=10")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c.Await("some bytes of the file", func() bool { return c.pending() > 1<<20 })
		c.nodes[victim].Kill()
		err := cmd.Wait()
		cancel()
		c.nodes[victim].Start()
		c.AwaitOnline(nodes)
		there := c.whole(name, data)
		t.Logf("%s killed: xrdcp: %v; the file is there: %t", c.nodes[victim].Name(), err, there)
		if err == nil && !there {
			c.Logs()
			t.Errorf("xrdcp says it wrote %s, and it is not there: %s", name, out.String())
		}
	}
}

// pending returns the number of bytes of the largest unfinished piece.
func (c *cluster) pending() (largest int64) {
	for i := range nodes {
		names, _ := filepath.Glob(filepath.Join(c.disk(i), "pending", "*"))
		for _, name := range names {
			if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) < time.Second {
				largest = max(largest, info.Size())
			}
		}
	}
	return largest
}

// whole reports whether the file is there; one that is must have the content.
func (c *cluster) whole(name string, want []byte) bool {
	ctx := c.T.Context()
	f, err := c.client.Open(ctx, c.parse(name), xrootd.OpenOptions{})
	if err != nil {
		if errs.KindOf(err) != errs.NotFound {
			c.T.Errorf("%s: %v", name, err)
		}
		return false
	}
	defer f.Close(ctx)
	got, err := io.ReadAll(f.NewReader(ctx, 0, f.Info().Size))
	if err != nil || !bytes.Equal(got, want) {
		c.T.Errorf("%s has %d bytes, right: %t (%v)", name, len(got), bytes.Equal(got, want), err)
	}
	return true
}
