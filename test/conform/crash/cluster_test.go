package crash

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/test/fixture/process"
)

var program = flag.String("hemera", "", "the hemera program to test")

const (
	nodes = 3
	// patience bounds every wait for something that must happen.
	patience = 60 * time.Second
	poll     = 50 * time.Millisecond
)

// cluster is a manager and nodes as processes of their own.
type cluster struct {
	t       *testing.T
	dir     string
	url     string
	manager *process.Server
	nodes   []*process.Server
	client  *xrootd.Client
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	if *program == "" {
		t.Skip("no program to test: -args -hemera PATH")
	}
	path, err := filepath.Abs(*program)
	if err != nil {
		t.Fatal(err)
	}
	*program = path
	c := &cluster{t: t, dir: t.TempDir()}
	port := freePort(t)
	c.url = fmt.Sprintf("root://127.0.0.1:%d", port)
	c.manager = c.server("manager", "manager", "--data", filepath.Join(c.dir, "manager"), "--port", fmt.Sprint(port), "--log-level", "info")
	c.manager.Start()
	c.await("the manager", func() bool { _, err := c.admin("ns", "stat"); return err == nil })
	token, err := c.admin("token", "create", "--uses", fmt.Sprint(nodes))
	if err != nil {
		t.Fatalf("token create: %v\n%s", err, token)
	}
	for i := range nodes {
		name := fmt.Sprintf("node%d", i)
		if err := os.MkdirAll(c.disk(i), 0o700); err != nil {
			t.Fatal(err)
		}
		n := c.server(name, "node", "--data", filepath.Join(c.dir, name), "--port", fmt.Sprint(freePort(t)),
			"--join", strings.TrimSpace(token), "--disk", c.disk(i))
		c.nodes = append(c.nodes, n)
		n.Start()
	}
	c.awaitOnline()
	c.client = xrootd.New(xrootd.Options{App: "crash", RetryFor: 20 * time.Second, Stall: 20 * time.Second})
	t.Cleanup(func() { _ = c.client.Close() })
	return c
}

func (c *cluster) disk(i int) string { return filepath.Join(c.dir, fmt.Sprintf("disk%d", i)) }

// admin runs a command of the program and returns what it printed.
func (c *cluster) admin(args ...string) (string, error) {
	cmd := exec.Command(*program, append([]string{"--url", c.url}, args...)...)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return problem.String(), err
	}
	return out.String(), nil
}

// await polls until what must happen has happened.
func (c *cluster) await(what string, happened func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(patience); !happened(); time.Sleep(poll) {
		if time.Now().After(deadline) {
			c.logs()
			c.t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

func (c *cluster) awaitOnline() {
	c.t.Helper()
	c.await("all disks online", func() bool {
		out, _ := c.admin("-m", "fs", "ls")
		return strings.Count(out, "active=online") == nodes
	})
}

func (c *cluster) servers() []*process.Server {
	return append([]*process.Server{c.manager}, c.nodes...)
}

// logs prints the end of what each process said.
func (c *cluster) logs() {
	for _, s := range c.servers() {
		s.Tail()
	}
}

// server is a process that is not started yet.
func (c *cluster) server(name string, args ...string) *process.Server {
	return process.New(c.t, filepath.Join(c.dir, name+".log"), func() *exec.Cmd { return exec.Command(*program, args...) })
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
