package xrd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"hemera/client/xrootd"
	"hemera/rules/wire"
	"hemera/test/conform"
	"hemera/transfer/peers"
	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// enginePuller copies with Hemera's client.
type enginePuller struct{ c *xrootd.Client }

func (e enginePuller) Pull(ctx context.Context, s PullSource, dst hemera.Handle, progress func(int64)) error {
	at, err := xrootd.ParseEndpoint(s.Addr)
	if err != nil {
		return err
	}
	_, err = xrootd.Pull(ctx, e.c, xrootd.PullRequest{Source: at, Path: s.Path, Key: s.Key, Origins: s.Origins, Opaque: s.Opaque}, dst, progress)
	return err
}

func TestClientSuite(t *testing.T) {
	c := xrootd.New(xrootd.Options{})
	defer c.Close()
	p := newPair(t, node(func(o *NodeOptions) { o.Puller = enginePuller{c} }))
	conform.Client(t, "root://"+p.managerAddr+"//suite")
	conform.ClientTPC(t, "root://"+p.managerAddr+"//", "root://"+p.managerAddr+"//")
}

// TestClientSuiteLocally runs the same suite with a manager's door that opens files itself.
func TestClientSuiteLocally(t *testing.T) {
	c := xrootd.New(xrootd.Options{})
	defer c.Close()
	p, opened := newLocalPair(t, node(func(o *NodeOptions) { o.Puller = enginePuller{c} }))
	conform.Client(t, "root://"+p.managerAddr+"//suite")
	conform.ClientTPC(t, "root://"+p.managerAddr+"//", "root://"+p.managerAddr+"//")
	if opened.Load() == 0 {
		t.Error("the manager's door opened nothing itself")
	}
}

func TestClientPeers(t *testing.T) {
	p := newPair(t, nil)
	nodes := peers.New(xrootd.Options{Chunk: 64 << 10, Window: 256 << 10})
	defer nodes.Close()
	data := make([]byte, 300_001)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	sums := wire.SumPages(make([]uint32, wire.Fragments(0, int64(len(data)))), data, 0)
	for _, path := range []string{"/sealed", "/given-up"} {
		g, err := p.memory.grantOpen(hemera.OpenRequest{Path: path, Access: hemera.AccessCreate})
		if err != nil {
			t.Fatal(err)
		}
		w, err := nodes.Create(t.Context(), piece.Remote{Target: g.Permit.Targets[0], Head: "head"}, tokenOf(g))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WritePages(data, sums, 0); err != nil {
			t.Fatal(err)
		}
		if path == "/given-up" {
			w.Abort()
			continue
		}
		if err := w.Seal(t.Context(), hemera.SealInfo{FileSize: int64(len(data))}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.memory.Stat(t.Context(), hemera.Identity{}, "/given-up"); !errors.Is(err, errs.NotFound) {
		t.Errorf("the piece that was given up: %v", err)
	}
	g, err := p.memory.grantOpen(hemera.OpenRequest{Path: "/sealed", Access: hemera.AccessRead})
	if err != nil {
		t.Fatal(err)
	}
	r, err := nodes.Open(t.Context(), piece.Remote{Target: g.Permit.Targets[0]}, tokenOf(g))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := make([]byte, len(data))
	if n, err := r.ReadPages(got, nil, 0); err != nil || !bytes.Equal(got, data) || r.Size() != int64(len(data)) {
		t.Errorf("the piece reads as %d bytes of %d, %v", n, r.Size(), err)
	}
}

// A client whose connection breaks again and again, at any byte, loses nothing.
func TestClientSurvivesCuts(t *testing.T) {
	data := make([]byte, 500_003)
	for i := range data {
		data[i] = byte(i*i>>9 ^ i)
	}
	cuts := func(t *testing.T, addr string, at int64) *conform.Cutter {
		return conform.NewCutter(t, addr, conform.Cut{ToServer: at}, conform.Cut{ToClient: at/2 + 100}, conform.Cut{ToServer: at * 2}, conform.Cut{ToClient: at})
	}
	for at := int64(100); at < 600_000; at = at*2 + 7 {
		t.Run(fmt.Sprintf("node/%d", at), func(t *testing.T) {
			p := newPair(t, nil)
			cutter := cuts(t, p.nodeAddr, at)
			p.memory.mu.Lock()
			p.memory.addr = cutter.Addr()
			p.memory.mu.Unlock()
			survive(t, p.managerAddr, data)
			if cutter.Connections() < 2 {
				t.Error("nothing was cut")
			}
		})
		t.Run(fmt.Sprintf("local/%d", at), func(t *testing.T) {
			p, opened := newLocalPair(t, nil)
			cutter := cuts(t, p.managerAddr, at)
			survive(t, cutter.Addr(), data)
			if cutter.Connections() < 2 || opened.Load() < 2 {
				t.Errorf("%d connections, %d opens at the manager's door", cutter.Connections(), opened.Load())
			}
		})
	}
}

// survive writes the file and reads it back.
func survive(t *testing.T, manager string, data []byte) {
	c := xrootd.New(xrootd.Options{Chunk: 64 << 10, Window: 256 << 10})
	defer c.Close()
	u, err := xrootd.ParseURL("root://" + manager + "//f")
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Open(t.Context(), u, xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WriteAt(t.Context(), data, 0); err != nil {
		t.Error(err)
	}
	if err := f.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if f, err = c.Open(t.Context(), u, xrootd.OpenOptions{}); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(data))
	if n, err := f.ReadAt(t.Context(), got, 0); err != nil || !bytes.Equal(got, data) {
		t.Errorf("read %d bytes, %v", n, err)
	}
}
