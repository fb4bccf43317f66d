package daemon

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/words/hemera"
)

// TestUpgradeNodeByNode restarts the nodes one after the other, as in docs/operations.md. The manager's state of a node
// changes with the node's end and start, so that a script that waits for it continues at the right time, and no client is
// sent to an absent node.
func TestUpgradeNodeByNode(t *testing.T) {
	s := newSite(t)
	m, stop := s.start()
	defer stop()
	nodes, stops, addr := [4]*Node{}, [4]func(){}, [4]string{heldAddr(t), heldAddr(t), heldAddr(t), heldAddr(t)}
	open := func(i int) {
		o := NodeOptions{
			Dir: s.path(fmt.Sprintf("node%d", i)), Listen: addr[i], Disks: []hemera.AttachDisk{{Path: s.path(fmt.Sprintf("disk%d", i))}}, MakeDisks: true,
			StopPatience: time.Minute, Log: keptLog(t),
		}
		if nodes[i] == nil {
			o.Join = s.token(m)
		}
		n, err := OpenNode(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		nodes[i], stops[i] = n, joining(t, n)
	}
	for i := range nodes {
		open(i)
		defer func() { stops[i]() }()
	}
	if err := m.Admin.SetSpace(t.Context(), hemera.DefaultSpace, "policy.layout", "rs:2+1"); err != nil {
		t.Fatal(err)
	}
	c := xrootd.New(xrootd.Options{})
	defer c.Close()
	content := bytes.Repeat([]byte("upgrade!"), 300_000)
	at := func(i int) xrootd.URL {
		u, err := xrootd.ParseURL(fmt.Sprintf("root://%s//f%d", m.Addr, i))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	write := func(i int) {
		f, err := c.Open(t.Context(), at(i), xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644})
		if err == nil {
			err = f.WriteAt(t.Context(), content, 0)
		}
		if err == nil {
			err = f.Close(t.Context())
		}
		if err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
	}
	read := func(i int) {
		f, err := c.Open(t.Context(), at(i), xrootd.OpenOptions{})
		if err != nil {
			t.Fatalf("read %d: %v", i, err)
		}
		defer f.Close(t.Context())
		got := make([]byte, len(content))
		if n, err := f.ReadAt(t.Context(), got, 0); err != nil || !bytes.Equal(got[:n], content) {
			t.Fatalf("read %d: %d bytes, %v", i, n, err)
		}
	}
	status := func(i int) hemera.NodeInfo {
		v, err := m.Admin.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n, _ := v.Node(nodes[i].ID())
		return n
	}
	for i := range 6 {
		write(i)
	}
	for i := range nodes {
		stops[i]()
		if n := status(i); n.Status != hemera.NodeOffline {
			t.Errorf("node %d has ended and is %+v", i, n)
		}
		for f := range 6 {
			read(f)
		}
		write(10 + i)
		open(i)
		if n := status(i); n.Status != hemera.NodeOnline || n.Stopping {
			t.Errorf("node %d is back and is %+v", i, n)
		}
	}
	for i := range nodes {
		read(10 + i)
	}
}
