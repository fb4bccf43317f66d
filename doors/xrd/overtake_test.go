package xrd

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"hemera"
	"hemera/errs"
	"hemera/rules/wire"
)

// hangingFile is a file whose first write beyond the beginning hangs until it is released. Once it is
// stalled every other call fails.
type hangingFile struct {
	*memoryFile
	begun, release chan struct{}
	first          atomic.Bool
	stalled        atomic.Bool
	breaks         bool // it panics when it comes back
}

func (f *hangingFile) Stalled() error {
	if f.stalled.Load() {
		return errs.New(errs.IO, "write", "disk 7", "the disk has not answered for 30s")
	}
	return nil
}

func (f *hangingFile) WritePages(p []byte, _ []uint32, off int64) error {
	if off > 0 && f.first.CompareAndSwap(false, true) {
		close(f.begun)
		<-f.release
		if f.breaks {
			panic("a defect")
		}
		return nil
	}
	if err := f.Stalled(); err != nil {
		return err
	}
	return f.memoryFile.WritePages(p, nil, off)
}

// hangingNode is a node where /hang hangs.
type hangingNode struct {
	hemera.Node
	begun, release chan struct{}
	breaks         bool
	file           atomic.Pointer[hangingFile]
}

func (n *hangingNode) Open(ctx context.Context, p *hemera.Permit, o hemera.NodeOpen) (hemera.File, error) {
	f, err := n.Node.Open(ctx, p, o)
	if err != nil || f.Info().Path != "/hang" {
		return f, err
	}
	h := &hangingFile{memoryFile: f.(*memoryFile), begun: n.begun, release: n.release, breaks: n.breaks}
	n.file.Store(h)
	return h, nil
}

// TestWriteThatHangs: its request is answered, all others of its connection are served, and of others too,
// and the goroutine that hung harms nobody when it comes back.
func TestWriteThatHangs(t *testing.T) {
	data := random(900_000)
	for name, write := range map[string]func(fh wire.Handle) (wire.Request, []byte){
		"write":   func(fh wire.Handle) (wire.Request, []byte) { return wire.Write{Handle: fh}, data },
		"pgwrite": func(fh wire.Handle) (wire.Request, []byte) { return wire.Pgwrite{Handle: fh}, pages(data, 0) },
	} {
		for _, looped := range []bool{true, false} {
			t.Run(name, func(t *testing.T) { testWriteThatHangs(t, looped, write) })
		}
	}
}

func testWriteThatHangs(t *testing.T, looped bool, write func(wire.Handle) (wire.Request, []byte)) {
	n := &hangingNode{begun: make(chan struct{}), release: make(chan struct{}), breaks: !looped}
	p := newPair(t, func(o *Options) {
		if o.Role == RoleNode {
			n.Node, o.Node = o.Node, n
		}
		if !looped {
			o.Loop = nil
		}
	})
	c, other := dial(t, p.nodeAddr), dial(t, p.nodeAddr)
	fh, fine := p.openWrite(t, c, "/hang", 0), p.openWrite(t, c, "/fine", 0)
	request, payload := write(fh)
	sent := background(func() error {
		for range 2 { // the second while the first hangs
			if _, err := c.send(request, payload); err != nil {
				return err
			}
		}
		_, err := c.send(wire.Write{Handle: fine}, []byte("fine"))
		return err
	})
	<-n.begun
	p.node.overtake()
	if left := p.node.overtaken.Load(); left != 0 {
		t.Errorf("%d overtaken before their time", left)
	}
	elsewhere := p.openWrite(t, other, "/elsewhere", 0)
	other.must(t, wire.Write{Handle: elsewhere}, "x")
	other.must(t, wire.Close{Handle: elsewhere}, "")

	n.file.Load().stalled.Store(true)
	p.node.overtake()
	p.node.overtake() // it is not overtaken twice
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
	if left := p.node.overtaken.Load(); left != 1 {
		t.Errorf("%d were overtaken", left)
	}
	close(n.release)
	for p.node.overtaken.Load() != 0 && t.Context().Err() == nil {
		runtime.Gosched()
	}
	c.must(t, wire.Close{Handle: fine}, "")
	c.must(t, wire.Ping{}, "")
	other.must(t, wire.Ping{}, "")
	if e, err := p.Stat(t.Context(), hemera.Identity{}, "/fine"); err != nil || e.Size != 4 {
		t.Errorf("the other file is %+v, %v", e, err)
	}
}

// TestVectorThatHangs: what is behind the part that hangs is dropped.
func TestVectorThatHangs(t *testing.T) {
	n := &hangingNode{begun: make(chan struct{}), release: make(chan struct{})}
	defer close(n.release)
	p := newPair(t, func(o *Options) {
		if o.Role == RoleNode {
			n.Node, o.Node = o.Node, n
		}
	})
	c := dial(t, p.nodeAddr)
	fh := p.openWrite(t, c, "/hang", 0)
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
	n.file.Load().stalled.Store(true)
	p.node.overtake()
	if status, body, err := c.answer(); err != nil || status != wire.StatusError {
		t.Errorf("%d, %q, %v", status, body, err)
	}
	c.must(t, wire.Ping{}, "")
}
