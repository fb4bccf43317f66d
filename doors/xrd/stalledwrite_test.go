package xrd

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// stalledFile is a file whose disk stops answering at the first write beyond its begin. That write fails after the disk's
// deadline, and every later call fails at once, as with the disks of a node.
type stalledFile struct {
	*memoryFile
	begun, deadline chan struct{}
	first           atomic.Bool
	stalled         atomic.Bool
}

func (f *stalledFile) WritePages(p []byte, _ []uint32, off int64) error {
	if off > 0 && f.first.CompareAndSwap(false, true) {
		close(f.begun)
		<-f.deadline
		f.stalled.Store(true)
	}
	if f.stalled.Load() {
		return errs.New(errs.IO, "disk.Write", "disk 7", "the disk has not answered for 30s")
	}
	return f.memoryFile.WritePages(p, nil, off)
}

// stalledNode is a node where the disk of /stalled stops answering.
type stalledNode struct {
	hemera.Node
	begun, deadline chan struct{}
}

func (n *stalledNode) Open(ctx context.Context, p *hemera.Permit, o hemera.NodeOpen) (hemera.File, error) {
	f, err := n.Node.Open(ctx, p, o)
	if err != nil || f.Info().Path != "/stalled" {
		return f, err
	}
	return &stalledFile{memoryFile: f.(*memoryFile), begun: n.begun, deadline: n.deadline}, nil
}

func newStalledPair(t *testing.T, looped bool) (*pair, *stalledNode) {
	n := &stalledNode{begun: make(chan struct{}), deadline: make(chan struct{})}
	return newPair(t, func(o *Options) {
		if o.Node != nil {
			n.Node, o.Node.Node = o.Node.Node, n
		}
		if !looped {
			o.Loop = nil
		}
	}), n
}

// TestStalledWrite checks that a write to a stalled disk gets the disk's error, that its connection serves other requests
// afterwards, and other connections serve theirs meanwhile.
func TestStalledWrite(t *testing.T) {
	data := random(900_000)
	for name, write := range map[string]func(fh wire.Handle) (wire.Request, []byte){
		"write":   func(fh wire.Handle) (wire.Request, []byte) { return wire.Write{Handle: fh}, data },
		"pgwrite": func(fh wire.Handle) (wire.Request, []byte) { return wire.Pgwrite{Handle: fh}, pages(data, 0) },
	} {
		for _, looped := range []bool{true, false} {
			t.Run(name, func(t *testing.T) { testStalledWrite(t, looped, write) })
		}
	}
}

func testStalledWrite(t *testing.T, looped bool, write func(wire.Handle) (wire.Request, []byte)) {
	p, n := newStalledPair(t, looped)
	c, other := dial(t, p.nodeAddr), dial(t, p.nodeAddr)
	fh, fine := p.openWrite(t, c, "/stalled", 0), p.openWrite(t, c, "/fine", 0)
	request, payload := write(fh)
	sent := background(func() error {
		for range 2 { // the second while the first waits for the disk
			if _, err := c.send(request, payload); err != nil {
				return err
			}
		}
		_, err := c.send(wire.Write{Handle: fine}, []byte("fine"))
		return err
	})
	<-n.begun
	elsewhere := p.openWrite(t, other, "/elsewhere", 0)
	other.must(t, wire.Write{Handle: elsewhere}, "x")
	other.must(t, wire.Close{Handle: elsewhere}, "")

	close(n.deadline)
	for range 2 {
		status, body, err := c.answer()
		if e := wire.ParseError(body); err != nil || status != wire.StatusError || e.Code != wire.IOError || !strings.Contains(e.Text, "disk 7") {
			t.Fatalf("a write is answered %d, %+v, %v", status, e, err)
		}
	}
	if status, body, err := c.answer(); err != nil || status != wire.StatusOK {
		t.Fatalf("the other file's write: %d, %q, %v", status, body, err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	c.must(t, wire.Ping{}, "")
	c.must(t, wire.Close{Handle: fine}, "")
	c.must(t, wire.Ping{}, "")
	other.must(t, wire.Ping{}, "")
	if e, err := p.Stat(t.Context(), hemera.Identity{}, "/fine"); err != nil || e.Size != 4 {
		t.Errorf("the other file is %+v, %v", e, err)
	}
}

// TestStalledVector checks that the data behind the stalled part is dropped.
func TestStalledVector(t *testing.T) {
	p, n := newStalledPair(t, true)
	c := dial(t, p.nodeAddr)
	fh := p.openWrite(t, c, "/stalled", 0)
	var vector []byte
	for i := range 3 {
		vector = wire.Segment{Handle: fh, Length: 4, Offset: int64(i)}.Append(vector)
	}
	if _, err := c.send(wire.Writev{}, vector); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("aaaabbbbcccc")); err != nil {
		t.Fatal(err)
	}
	<-n.begun
	close(n.deadline)
	if status, body, err := c.answer(); err != nil || status != wire.StatusError {
		t.Errorf("%d, %q, %v", status, body, err)
	}
	c.must(t, wire.Ping{}, "")
}
