package storm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hemera/test/fixture/lan"
	"hemera/test/fixture/rig"
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
	*rig.Cluster
	lan *lan.LAN
}

// newCluster starts everything and waits until all disks are there.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	network := lan.New(t, hosts)
	c := &cluster{rig.NewOn(t, *program, "root://"+lan.Address(0)+":1094", network.Command), network}
	c.Patience = patience
	c.Manager("--listen", lan.Address(0), "--port", "1094", "--trusted-networks", "10.78.0.0/24=own",
		"--repair-grace", "10s", "--removal-hold", "2s", "--space-headroom", "8MiB", "--cache-namespace", "256MiB")
	join := c.JoinFile(nodes)
	for i := range nodes {
		c.mount(c.disk(i))
		host, name := 1+i, fmt.Sprint("node", i)
		c.Add(host, name, "node", "--data", c.Path(name), "--listen", lan.Address(host), "--port", "1095", "--join-file", join,
			"--disk", filepath.Join(c.disk(i), "pieces"), "--scrub-rate", "1GiB").Start()
	}
	c.AwaitOnline(nodes)
	t.Cleanup(func() {
		if t.Failed() {
			c.Logs()
		}
	})
	return c
}

// disk returns the directory on which a node's filesystem is mounted. The node's disk is a folder in it.
func (c *cluster) disk(i int) string { return c.Path(fmt.Sprint("disk", i)) }

// mount makes a small filesystem.
func (c *cluster) mount(path string) {
	c.T.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		c.T.Fatal(err)
	}
	if err := unix.Mount("storm", path, "tmpfs", 0, fmt.Sprintf("size=%d", diskSize)); err != nil {
		c.T.Skipf("filesystems cannot be mounted here: %v", err)
	}
	c.T.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
	if err := os.Mkdir(filepath.Join(path, "pieces"), 0o700); err != nil {
		c.T.Fatal(err)
	}
}

// said counts the lines of all logs that have a message.
func (c *cluster) said(message string) (count int) {
	for _, s := range c.Servers() {
		count += strings.Count(s.Log(), `"msg":"`+message+`"`)
	}
	return count
}
