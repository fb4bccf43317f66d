package crash

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/test/fixture/rig"
)

var program = flag.String("hemera", "", "the hemera program to test")

const (
	nodes = 3
	// patience bounds what a client may take.
	patience = 60 * time.Second
	poll     = 50 * time.Millisecond
)

// cluster is a manager and nodes, with a client.
type cluster struct {
	*rig.Cluster
	manager *rig.Server
	nodes   []*rig.Server
	client  *xrootd.Client
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{Cluster: rig.New(t, *program, 1+nodes)}
	c.manager = c.Manager("--port", c.Port(0), "--log-level", "info")
	return c.withNodes(t)
}

// newHeldCluster makes a cluster whose manager has a socket that outlives it.
func newHeldCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{Cluster: rig.New(t, *program, 1+nodes)}
	c.manager = c.HeldManager("--log-level", "info")
	return c.withNodes(t)
}

// withNodes starts the nodes and makes the client.
func (c *cluster) withNodes(t *testing.T) *cluster {
	t.Helper()
	join := c.JoinFile(nodes)
	for i := range nodes {
		name := fmt.Sprint("node", i)
		if err := os.MkdirAll(c.disk(i), 0o700); err != nil {
			t.Fatal(err)
		}
		n := c.Add(0, name, "node", "--data", c.Path(name), "--port", c.Port(1+i), "--join-file", join, "--disk", c.disk(i))
		c.nodes = append(c.nodes, n)
		n.Start()
	}
	c.AwaitOnline(nodes)
	c.client = xrootd.New(xrootd.Options{App: "crash", RetryFor: 20 * time.Second, Stall: 20 * time.Second})
	t.Cleanup(func() { _ = c.client.Close() })
	return c
}

func (c *cluster) disk(i int) string { return c.Path(fmt.Sprint("disk", i)) }
