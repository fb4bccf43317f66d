package storm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hemera/test/fixture/lan"
	"hemera/test/fixture/process"
)

const (
	nodes = 10
	// The manager's host is the first, the clients' is the last.
	client = nodes + 1
	hosts  = nodes + 2
	// diskSize is that of each node's filesystem, in bytes. It is in memory.
	diskSize = 256 << 20
	// patience bounds every wait for something that must happen.
	patience = 4 * time.Minute
	poll     = 200 * time.Millisecond
)

// cluster is a manager and nodes, each on a host of its own. Server 0 is the manager.
type cluster struct {
	*lan.LAN
	t       *testing.T
	dir     string
	url     string
	servers []*process.Server
}

// newCluster starts everything and waits until all disks are there.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{LAN: lan.New(t, hosts), t: t, dir: t.TempDir(), url: "root://" + lan.Address(0) + ":1094"}
	c.add("manager", "--data", filepath.Join(c.dir, "manager"), "--trusted-networks", "10.78.0.0/24=own", "--port", "1094",
		"--repair-grace", "10s", "--removal-hold", "2s", "--space-headroom", "8MiB", "--cache-namespace", "256MiB")
	c.await("the manager", func() bool { _, err := c.admin("ns", "stat"); return err == nil })
	token, err := c.admin("token", "create", "--uses", fmt.Sprint(nodes))
	if err != nil {
		t.Fatalf("token create: %v\n%s", err, token)
	}
	file := filepath.Join(c.dir, "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range nodes {
		c.mount(c.disk(i))
		c.add("node", "--data", filepath.Join(c.dir, fmt.Sprint("node", i)), "--port", "1095", "--join-file", file,
			"--disk", filepath.Join(c.disk(i), "pieces"), "--scrub-rate", "1GiB")
	}
	c.awaitOnline()
	return c
}

// disk is the directory on which a node's filesystem is mounted. The node's disk is a folder in it.
func (c *cluster) disk(i int) string { return filepath.Join(c.dir, fmt.Sprint("disk", i)) }

// mount makes a small filesystem.
func (c *cluster) mount(path string) {
	c.t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := unix.Mount("storm", path, "tmpfs", 0, fmt.Sprintf("size=%d", diskSize)); err != nil {
		c.t.Skipf("filesystems cannot be mounted here: %v", err)
	}
	c.t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
	if err := os.Mkdir(filepath.Join(path, "pieces"), 0o700); err != nil {
		c.t.Fatal(err)
	}
}

// admin runs a command on the manager's host and returns what it printed. It ends after half a minute.
func (c *cluster) admin(args ...string) (string, error) {
	cmd := c.Command(0, *program, append([]string{"--url", c.url}, args...)...)
	timer := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	out, err := cmd.Output()
	return string(out), err
}

// must is admin for a command that cannot fail.
func (c *cluster) must(args ...string) string {
	c.t.Helper()
	out, err := c.admin(args...)
	if err != nil {
		c.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// await polls until what must happen has happened, and returns how long that took.
func (c *cluster) await(what string, happened func() bool) time.Duration {
	c.t.Helper()
	began := time.Now()
	for !happened() {
		if time.Since(began) > patience {
			status, _ := c.admin("status")
			c.t.Fatalf("%s: not within %s\n%s", what, patience, status)
		}
		time.Sleep(poll)
	}
	return time.Since(began).Round(time.Second)
}

// awaitOnline waits until all disks can be read and written.
func (c *cluster) awaitOnline() {
	c.t.Helper()
	c.await("all disks online", func() bool {
		out, _ := c.admin("-m", "fs", "ls")
		return strings.Count(out, "active=online") == nodes
	})
}

// add starts a server on the next host.
func (c *cluster) add(args ...string) {
	c.t.Helper()
	host := len(c.servers)
	args = append(args, "--listen", lan.Address(host))
	s := process.New(c.t, filepath.Join(c.dir, fmt.Sprint(host, ".log")), func() *exec.Cmd { return c.Command(host, *program, args...) })
	c.servers = append(c.servers, s)
	c.t.Cleanup(func() {
		if c.t.Failed() {
			s.Tail()
		}
	})
	s.Start()
}

// said counts the lines of all logs that have a message.
func (c *cluster) said(message string) (count int) {
	for _, s := range c.servers {
		count += strings.Count(s.Log(), `"msg":"`+message+`"`)
	}
	return count
}
