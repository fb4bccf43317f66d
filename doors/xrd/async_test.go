package xrd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hemera/doors/xrd/transport"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestSlowCloseIsPromised delays a commit until its answer was promised.
func TestSlowCloseIsPromised(t *testing.T) {
	for _, fails := range []bool{false, true} {
		p := newPair(t, func(o *Options) { o.Limits.SlowAnswer = time.Millisecond })
		c := dial(t, p.nodeAddr)
		fh := p.openWrite(t, c, "/f", 0)
		release := make(chan struct{})
		p.mu.Lock()
		p.fail = func(op string) error {
			if op == "close" {
				<-release
				if fails {
					return errs.New(errs.NoSpace, op, "", "no")
				}
			}
			return nil
		}
		p.mu.Unlock()
		id, err := c.send(wire.Close{Handle: fh}, nil)
		if err != nil {
			t.Fatal(err)
		}
		h, _, err := c.frame()
		if err != nil || h.Status != wire.StatusWaitResp || h.Stream != id {
			t.Fatalf("first answer %+v, %v", h, err)
		}
		close(release)
		_, body, err := c.frame()
		if err != nil {
			t.Fatal(err)
		}
		inner, _, ok, err := wire.ParseAttn(body)
		if err != nil || !ok || inner.Stream != id || (inner.Status == wire.StatusError) != fails {
			t.Errorf("late answer %+v, %t, %v", inner, ok, err)
		}
		c.must(t, wire.Ping{}, "")
	}
}

// TestLateAnswerFollowsItsPromise checks that an answer waits for its promise, which waits for a slow client.
func TestLateAnswerFollowsItsPromise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		c := &conn{out: transport.NewSink(here, new(transport.Pool), time.Minute)}
		if err := c.out.Collect(make([]byte, transport.BufferSize)); err != nil { // the promise has to wait for room
			t.Fatal(err)
		}
		w := &slowAnswer{conn: c}
		go w.promise()
		synctest.Wait()
		ended := make(chan bool, 1)
		go func() { ended <- w.wasPromised() }()
		synctest.Wait()
		select {
		case <-ended:
			t.Error("the answer goes out before its promise")
		default:
		}
		go func() { _, _ = io.Copy(io.Discard, there) }()
		if !<-ended {
			t.Error("the answer was not promised")
		}
		_ = here.Close()
	})
}

// heldChecksum answers when it is released.
type heldChecksum struct {
	hemera.Files
	release chan struct{}
}

func (f heldChecksum) Checksum(ctx context.Context, who hemera.Identity, path string, kind hemera.ChecksumKind) (hemera.Checksum, error) {
	select {
	case <-f.release:
	case <-ctx.Done():
		return hemera.Checksum{}, ctx.Err()
	}
	return f.Files.Checksum(ctx, who, path, kind)
}

// TestSlowChecksum checks that the connection is served while a checksum is computed.
func TestSlowChecksum(t *testing.T) {
	release := make(chan struct{})
	p := newPair(t, manager(func(o *ManagerOptions) { o.Files = heldChecksum{o.Files, release} }))
	p.put("/f", "a")
	c := dial(t, p.managerAddr)
	id, err := c.send(wire.Query{Kind: wire.QueryChecksum}, []byte("/f"))
	if err != nil {
		t.Fatal(err)
	}
	if h, _, err := c.frame(); err != nil || h.Status != wire.StatusWaitResp {
		t.Fatalf("first answer %+v, %v", h, err)
	}
	c.must(t, wire.Ping{}, "")
	close(release)
	_, body, err := c.frame()
	if err != nil {
		t.Fatal(err)
	}
	inner, sum, ok, err := wire.ParseAttn(body)
	if err != nil || !ok || inner.Stream != id || string(sum) != "adler32 00620062\x00" {
		t.Errorf("late answer %+v %q %v", inner, sum, err)
	}
}

func TestThirdPartyCopy(t *testing.T) {
	p := newPair(t, nil)
	data := string(random(300000))
	p.put("/src", data)
	const key = "0123456789abcdef01234567"
	dst := dial(t, p.nodeAddr)
	fh := p.openWrite(t, dst, "/dst", 0)
	dst.must(t, wire.Close{Handle: fh}, "")
	g, err := p.grantOpen(hemera.OpenRequest{Path: "/dst", Access: hemera.AccessCreate})
	if err != nil {
		t.Fatal(err)
	}
	cgi := "&oss.asize=300000&tpc.key=" + key + "&tpc.lfn=/src&tpc.src=tester@" + p.nodeAddr + "&tpc.stage=copy"
	fh = p.openToken(t, dst, "/dst", tokenOf(g)+cgi, wire.OpenDelete)
	dst.must(t, wire.Sync{Handle: fh}, "")
	src := dial(t, p.nodeAddr)
	g, err = p.grantOpen(hemera.OpenRequest{Path: "/src", Access: hemera.AccessRead})
	if err != nil {
		t.Fatal(err)
	}
	src.must(t, wire.Open{Options: wire.OpenRead}, "/src?tpc.dst=127.0.0.1&tpc.stage=copy&tpc.key="+key+"&hem.cap="+tokenOf(g))
	dst.must(t, wire.Sync{Handle: fh}, "")
	dst.must(t, wire.Stat{Handle: fh}, "")
	dst.must(t, wire.Close{Handle: fh}, "")
	if p.stored("/dst") != data {
		t.Error("the copy differs")
	}
}

func TestThirdPartyCopyRefused(t *testing.T) {
	p := newPair(t, func(o *Options) { o.Limits.RendezvousTTL = time.Millisecond })
	p.put("/f", "secret")
	c := dial(t, p.nodeAddr)
	open := func(cgi string, code wire.Code) {
		t.Helper()
		c.refused(t, wire.Open{Options: wire.OpenRead}, "/f?tpc.key=0123456789abcdef&"+cgi, code)
	}
	open("tpc.org=a.1@h", wire.NotAuthorized)
	open("tpc.org=a.1@h&tpc.dst=x", wire.ArgInvalid)
	open("x=y", wire.ArgInvalid)
	g, err := p.grantOpen(hemera.OpenRequest{Path: "/f", Access: hemera.AccessRead})
	if err != nil {
		t.Fatal(err)
	}
	open("tpc.src=h:1&hem.cap="+tokenOf(g), wire.NotAuthorized) // the destination is open for reading
}

// failingPuller always fails.
type failingPuller struct{}

func (failingPuller) Pull(context.Context, PullSource, hemera.Handle, func(int64)) error {
	return errs.New(errs.Unavailable, "pull", "", "the source does not answer").WithRemedy("start it")
}

func TestFailedCopyLeavesNothing(t *testing.T) {
	p := newPair(t, node(func(o *NodeOptions) { o.Puller = failingPuller{} }))
	c := dial(t, p.nodeAddr)
	g, err := p.grantOpen(hemera.OpenRequest{Path: "/dst", Access: hemera.AccessCreate})
	if err != nil {
		t.Fatal(err)
	}
	fh := p.openToken(t, c, "/dst", tokenOf(g)+"&tpc.key=0123456789&tpc.src=[::1]", wire.OpenDelete)
	c.must(t, wire.Sync{Handle: fh}, "")
	if e := c.refused(t, wire.Sync{Handle: fh}, "", wire.NoServer); !strings.Contains(e.Text, "start it") {
		t.Errorf("text %q", e.Text)
	}
	c.must(t, wire.Close{Handle: fh}, "")
	if _, err := p.Stat(t.Context(), hemera.Identity{}, "/dst"); err == nil {
		t.Error("a failed copy became visible")
	}
}

// TestClosesDoNotWaitForEachOther closes files of several threads of one client on one connection.
func TestClosesDoNotWaitForEachOther(t *testing.T) {
	p, _ := newLocalPair(t, nil)
	c := dial(t, p.managerAddr)
	const files = 5
	var meet sync.WaitGroup
	meet.Add(files)
	p.mu.Lock()
	p.fail = func(op string) error {
		if op == "close" {
			meet.Done()
			meet.Wait()
		}
		return nil
	}
	p.mu.Unlock()
	handles := map[wire.StreamID]bool{}
	var all []wire.Handle
	for i := range files {
		all = append(all, open(t, c, fmt.Sprintf("/f%d", i), wire.OpenNew))
	}
	for _, fh := range all[1:] {
		id, err := c.send(wire.Close{Handle: fh}, nil)
		if err != nil {
			t.Fatal(err)
		}
		handles[id] = true
	}
	c.must(t, wire.Stat{Handle: all[0]}, "") // answered before the closes
	id, err := c.send(wire.Close{Handle: all[0]}, nil)
	if err != nil {
		t.Fatal(err)
	}
	handles[id] = true
	for range files {
		h, _, err := c.frame()
		if err != nil || h.Status != wire.StatusOK || !handles[h.Stream] {
			t.Fatalf("close: %+v, %v", h, err)
		}
		delete(handles, h.Stream)
	}
}

// TestClosesFailBesideOpens checks that a close that fails outside the connection's goroutine does not touch the
// connection's fields.
func TestClosesFailBesideOpens(t *testing.T) {
	p := newPair(t, nil)
	c := dial(t, p.nodeAddr)
	const files = 50
	var all []wire.Handle
	for i := range files {
		all = append(all, p.openWrite(t, c, fmt.Sprintf("/f%d", i), 0))
	}
	p.mu.Lock()
	p.fail = func(op string) error {
		if op == "close" {
			return errs.New(errs.OverQuota, op, "", "the quota is used up")
		}
		return nil
	}
	p.mu.Unlock()
	for _, fh := range all { // closes, with changes of the open files at the same time
		if _, err := c.send(wire.Close{Handle: fh}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for range files {
		h, body, err := c.frame()
		if err != nil || h.Status != wire.StatusError || wire.ParseError(body).Code != wire.OverQuota {
			t.Fatalf("close: %+v, %v", h, err)
		}
	}
}

// TestShutdownLeavesWhatHangs checks that a call that never returns does not keep a server from ending in time.
func TestShutdownLeavesWhatHangs(t *testing.T) {
	p := newPair(t, nil)
	c := dial(t, p.nodeAddr)
	fh := p.openWrite(t, c, "/f", 0)
	entered, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	p.mu.Lock()
	p.fail = func(op string) error {
		if op == "close" {
			close(entered)
			<-release
		}
		return nil
	}
	p.mu.Unlock()
	if _, err := c.send(wire.Close{Handle: fh}, nil); err != nil {
		t.Fatal(err)
	}
	<-entered
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.node.Shutdown(over); !errors.Is(err, errs.Cancelled) {
		t.Errorf("shutdown: %v", err)
	}
	c.closed(t)
}

// panickingPuller panics.
type panickingPuller struct{}

func (panickingPuller) Pull(context.Context, PullSource, hemera.Handle, func(int64)) error {
	panic("a defect")
}

// TestPanicInACopy checks that a panic closes its client's connection and does not affect others.
func TestPanicInACopy(t *testing.T) {
	p := newPair(t, node(func(o *NodeOptions) { o.Puller = panickingPuller{} }))
	c := dial(t, p.nodeAddr)
	g, err := p.grantOpen(hemera.OpenRequest{Path: "/dst", Access: hemera.AccessCreate})
	if err != nil {
		t.Fatal(err)
	}
	fh := p.openToken(t, c, "/dst", tokenOf(g)+"&tpc.key=0123456789&tpc.src=[::1]", wire.OpenDelete)
	c.must(t, wire.Sync{Handle: fh}, "")
	if _, err := c.send(wire.Sync{Handle: fh}, nil); err != nil {
		t.Fatal(err)
	}
	for { // an answer may come first
		h, _, err := c.frame()
		if err != nil {
			break
		}
		if h.Status == wire.StatusOK {
			t.Error("the copy is said to have succeeded")
		}
	}
	dial(t, p.nodeAddr).must(t, wire.Ping{}, "")
	if _, err := p.Stat(t.Context(), hemera.Identity{}, "/dst"); err == nil {
		t.Error("a failed copy became visible")
	}
}
