package netwatch

import (
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hemera/test/fixture/lan"
	"hemera/test/fixture/rig"
)

var program = flag.String("hemera", "", "the hemera program to test")

const (
	nodes = 4
	// The manager's host is the first, the clients' is the last.
	client = nodes + 1
	hosts  = nodes + 2
	// loser is the host with the bad cable, and share what is lost of what it sends.
	loser = 3
	share = 0.03
	// clients copy files of fileSize without an end, so that all nodes send to all others.
	clients  = 3
	fileSize = 8 << 20
	// bound is the longest time for anything that must happen. Clearing takes longest: what was lost fades in minutes.
	bound = 12 * time.Minute
)

// cluster is a manager and nodes, each on a host of its own.
type cluster struct {
	*rig.Cluster
	lan *lan.LAN
}

// network has the fields that a test reads of a row of `hemera net ls -j`.
type network struct {
	ID        int     `json:"id"`
	Hostport  string  `json:"hostport"`
	Standing  string  `json:"standing"`
	Cause     string  `json:"cause"`
	Direction string  `json:"direction"`
	Weight    float64 `json:"weight"`
}

// newCluster starts everything and waits until all disks are there.
func newCluster(t *testing.T) *cluster {
	network := lan.New(t, hosts)
	c := &cluster{rig.NewOn(t, *program, "root://"+lan.Address(0)+":1094", network.Command), network}
	c.Manager("--listen", lan.Address(0), "--port", "1094", "--trusted-networks", "10.78.0.0/24")
	join := c.JoinFile(nodes)
	for h := 1; h <= nodes; h++ {
		name, disk := fmt.Sprint("node", h), c.Path(fmt.Sprint("disk", h))
		if err := os.MkdirAll(disk, 0o700); err != nil {
			t.Fatal(err)
		}
		c.Add(h, name, "node", "--data", c.Path(name), "--listen", lan.Address(h), "--port", "1095", "--join-file", join, "--disk", disk).Start()
	}
	c.AwaitOnline(nodes)
	return c
}

// networks asks for the rows of all nodes.
func (c *cluster) networks() []network {
	c.T.Helper()
	list, err := rig.Rows[network](c.Cluster, "net", "ls")
	if err != nil {
		c.T.Fatal(err)
	}
	return list
}

// await looks every second until what must happen has happened.
func (c *cluster) await(what string, limit time.Duration, happened func() bool) time.Duration {
	c.T.Helper()
	began := time.Now()
	for !happened() {
		if time.Since(began) > limit {
			table, _ := c.Admin("net", "ls")
			c.T.Fatalf("%s: not within %s\n%s", what, limit, table)
		}
		time.Sleep(time.Second)
	}
	return time.Since(began).Round(time.Second)
}

// load has clients write and read files until the test ends.
func (c *cluster) load() {
	source := filepath.Join(c.Dir, "source")
	content := make([]byte, fileSize)
	_, _ = rand.Read(content)
	if err := os.WriteFile(source, content, 0o600); err != nil {
		c.T.Fatal(err)
	}
	stop := make(chan struct{})
	ended := make(chan struct{})
	for n := range clients {
		go func() {
			defer func() { ended <- struct{}{} }()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				path := fmt.Sprintf(":/load/%d-%d", n, i%8)
				for _, ends := range [][]string{{source, path}, {path, filepath.Join(c.Dir, fmt.Sprint("copy", n))}} {
					cmd := c.lan.Command(client, c.Program, "--url", c.URL, "cp", "-f", ends[0], ends[1])
					if out, err := cmd.CombinedOutput(); err != nil {
						c.T.Errorf("cp %v: %v\n%s", ends, err, out)
						return
					}
				}
				time.Sleep(50 * time.Millisecond)
			}
		}()
	}
	c.T.Cleanup(func() {
		close(stop)
		for range clients {
			<-ended
		}
	})
}

// suspected returns the nodes whose network is.
func suspected(list []network) (bad []network) {
	for _, n := range list {
		if n.Standing == "suspected" {
			bad = append(bad, n)
		}
	}
	return bad
}

// TestABadCableIsNamed: see the package comment.
func TestABadCableIsNamed(t *testing.T) {
	if os.Getenv("HEMERA_NETWORKS") == "" || *program == "" {
		t.Skip("it takes some minutes of a machine that does little else: scripts/test.sh loss")
	}
	if _, err := exec.LookPath("nsenter"); err != nil {
		t.Skip("there is no nsenter command")
	}
	c := newCluster(t)
	c.Must("mkdir", "/load")
	c.Must("chmod", "777", "/load")
	c.load()
	address := lan.Address(loser) + ":1095"
	took := c.await("all networks are well", bound, func() bool {
		well := 0
		for _, n := range c.networks() {
			if n.Standing == "suspected" {
				t.Fatalf("before anything is lost: %+v", n)
			}
			if n.Standing == "well" {
				well++
			}
		}
		return well == nodes
	})
	t.Logf("all networks are known to be well after %s", took)

	stop := c.lan.LoseSent(loser, share)
	// only reports whether the loser alone is suspected.
	only := func() bool {
		bad := suspected(c.networks())
		for _, n := range bad {
			if n.Hostport != address {
				t.Fatalf("another node is suspected: %+v", n)
			}
		}
		return len(bad) == 1
	}
	took = c.await("the loser is suspected", bound, only)
	row := suspected(c.networks())[0]
	table, _ := c.Admin("net", "ls")
	why, _ := c.Admin("net", "why", lan.Address(loser))
	t.Logf("it is suspected after %s\n%s\n%s", took, table, why)
	if row.Cause != "port" || row.Direction != "out" || row.Weight >= 0.8 {
		t.Errorf("%+v", row)
	}
	if status, err := c.Admin("status"); err == nil || strings.Count(status, "node_network") != 1 || !strings.Contains(status, "the network of "+address+" is suspected") {
		t.Errorf("status: %v\n%s", err, status)
	}
	for range 12 {
		time.Sleep(5 * time.Second)
		if !only() {
			t.Errorf("it is taken for well while it loses: %+v", c.networks())
		}
	}

	stop()
	took = c.await("it is well again", bound, func() bool { return !only() })
	t.Logf("it is not suspected any more %s after the cable is good", took)
	if status, _ := c.Admin("status"); strings.Contains(status, "node_network") {
		t.Errorf("status: %s", status)
	}
	for _, n := range c.networks() {
		if n.Weight != 1 {
			t.Errorf("%+v", n)
		}
	}
}
