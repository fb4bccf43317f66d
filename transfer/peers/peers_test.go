package peers_test

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/client/xrootd/xrootdtest"
	"hemera/rules/wire"
	"hemera/transfer/peers"
	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// pieceNode is a scripted node that keeps what is written to its one piece.
type pieceNode struct {
	*xrootdtest.Server
	mu    sync.Mutex
	piece []byte
	hold  chan struct{} // while open, writes are not answered
	stuck chan struct{} // while open, writes at stuckOffset are not answered; nil for none
	fail  bool
}

// stuckOffset is the offset of a write to the disk that hangs.
const stuckOffset = 1 << 30

func newPieceNode(t *testing.T) *pieceNode {
	n := heldPieceNode(t)
	close(n.hold)
	return n
}

// heldPieceNode answers no write until hold is closed.
func heldPieceNode(t *testing.T) *pieceNode {
	n := &pieceNode{hold: make(chan struct{})}
	n.Server = xrootdtest.New(t, xrootdtest.DataServer, n.reply)
	return n
}

func (n *pieceNode) reply(r xrootdtest.Request) []byte {
	n.mu.Lock()
	stuck := n.stuck
	n.mu.Unlock()
	if stuck != nil && r.ID == wire.ReqPgwrite && wire.DecodePgwrite(r.Body).Offset == stuckOffset {
		<-stuck
		return xrootdtest.Written(r, nil)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch r.ID {
	case wire.ReqOpen:
		return xrootdtest.Opened(r, int64(len(n.piece)))
	case wire.ReqPgread:
		return xrootdtest.Pages(r, n.piece)
	case wire.ReqPgwrite:
		<-n.hold
		if n.fail {
			return xrootdtest.Bad(r, wire.NoSpace, "disk full")
		}
		w := wire.DecodePgwrite(r.Body)
		data, sums, err := wire.CutPages([]byte(r.Payload), make([]uint32, 1024), w.Offset)
		if err != nil {
			return xrootdtest.Bad(r, wire.ChkSumErr, err.Error())
		}
		for i, sum := range wire.SumPages(make([]uint32, len(sums)), data, w.Offset) {
			if sum != sums[i] {
				return xrootdtest.Bad(r, wire.ChkSumErr, "page")
			}
		}
		if end := int(w.Offset) + len(data); end > len(n.piece) {
			n.piece = append(n.piece, make([]byte, end-len(n.piece))...)
		}
		copy(n.piece[w.Offset:], data)
		return xrootdtest.Written(r, nil)
	}
	return xrootdtest.Good(r, nil)
}

func (n *pieceNode) target() hemera.Target {
	return hemera.Target{Index: 2, Node: 5, Addr: n.URL("/").Addr()}
}

func newPeers(t *testing.T, o xrootd.Options) *peers.Peers {
	p := peers.New(o)
	t.Cleanup(func() { p.Close() })
	return p
}

func create(t *testing.T, p *peers.Peers, n *pieceNode) piece.Writer {
	t.Helper()
	return createOn(t, p, n, 0)
}

func createOn(t *testing.T, p *peers.Peers, n *pieceNode, disk hemera.DiskID) piece.Writer {
	t.Helper()
	target := n.target()
	target.Disk = disk
	w, err := p.Create(t.Context(), piece.Remote{Target: target, Path: "/f", Head: "HEAD"}, "TOKEN")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestPieceIsWrittenSealedAndRead(t *testing.T) {
	n := newPieceNode(t)
	p := newPeers(t, xrootd.Options{Chunk: 64 << 10, Window: 256 << 10})
	w := create(t, p, n)
	data := xrootdtest.Pattern(1_000_003)
	buf := make([]byte, 100_000)
	for off := 0; off < len(data); off += len(buf) {
		part := buf[:copy(buf, data[off:])]
		if err := w.WritePages(part, xrootdtest.Sums(part, int64(off)), int64(off)); err != nil {
			t.Fatal(err)
		}
		clear(buf) // it is ours again
	}
	if err := w.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	seal := hemera.SealInfo{FileSize: int64(len(data)), Sync: true}
	if err := w.Seal(t.Context(), seal); err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	if !bytes.Equal(n.piece, data) {
		t.Error("the piece is not what was written")
	}
	n.mu.Unlock()
	_, o := wire.SplitPath([]byte(n.Got(wire.ReqOpen)[0].Payload))
	if o.Value(wire.OpaqueCapability) != "TOKEN" || o.Value(wire.OpaquePiece) != "2" {
		t.Errorf("the piece was opened with %s", o)
	}
	if q := n.Got(wire.ReqQuery); len(q) != 1 || q[0].Payload != wire.EncodeSealInfo(seal) || wire.DecodeQuery(q[0].Body).Kind != wire.QueryOpaquf {
		t.Errorf("the seal was asked for as %+v", q)
	}
	r, err := p.Open(t.Context(), piece.Remote{Target: n.target()}, "TOKEN")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := make([]byte, 200_000)
	if c, err := r.ReadPages(got, nil, 500_000); err != nil || c != len(got) || !bytes.Equal(got, data[500_000:700_000]) {
		t.Errorf("read %d bytes, %v", c, err)
	}
	if r.Size() != int64(len(data)) {
		t.Errorf("size %d", r.Size())
	}
}

func TestPeerFailureSticks(t *testing.T) {
	n := newPieceNode(t)
	n.mu.Lock()
	n.fail = true
	n.mu.Unlock()
	w := create(t, newPeers(t, xrootd.Options{}), n)
	part := xrootdtest.Pattern(5000)
	_ = w.WritePages(part, xrootdtest.Sums(part, 0), 0)
	if err := w.Sync(t.Context()); !errors.Is(err, errs.NoSpace) {
		t.Errorf("sync after a failed write: %v", err)
	}
	if err := w.WritePages(part, xrootdtest.Sums(part, 0), 0); !errors.Is(err, errs.NoSpace) {
		t.Errorf("write after a failed write: %v", err)
	}
	if err := w.Seal(t.Context(), hemera.SealInfo{}); !errors.Is(err, errs.NoSpace) {
		t.Errorf("seal after a failed write: %v", err)
	}
	w.Abort()
}

func TestPeerWindowIsBounded(t *testing.T) {
	n := heldPieceNode(t)
	const window = 256 << 10
	w := create(t, newPeers(t, xrootd.Options{Chunk: 64 << 10, Window: window}), n)
	part := xrootdtest.Pattern(64 << 10)
	sums := xrootdtest.Sums(part, 0)
	accepted := make(chan int, 100)
	go func() {
		defer close(accepted)
		for i := range 16 {
			if err := w.WritePages(part, sums, int64(i)<<16); err != nil {
				t.Error(err)
				return
			}
			accepted <- i
		}
	}()
	for range 3 { // a window's worth goes through unanswered
		<-accepted
	}
	if got := len(accepted); got > window>>16 {
		t.Errorf("%d writes went ahead of a window of %d", got, window>>16)
	}
	close(n.hold)
	last := 0
	for last = range accepted {
	}
	if last != 15 {
		t.Errorf("the last write was %d", last)
	}
	if err := w.Seal(t.Context(), hemera.SealInfo{}); err != nil {
		t.Error(err)
	}
}

func TestSilentPeerIsNoticed(t *testing.T) {
	n := heldPieceNode(t)
	defer close(n.hold)
	w := create(t, newPeers(t, xrootd.Options{Chunk: 64 << 10, Window: 128 << 10, Stall: 100 * time.Millisecond}), n)
	part := xrootdtest.Pattern(64 << 10)
	var err error
	for i := range 10 {
		if err = w.WritePages(part, xrootdtest.Sums(part, 0), int64(i)<<16); err != nil {
			break
		}
	}
	if !errors.Is(err, errs.Unavailable) && !errors.Is(err, errs.Timeout) {
		t.Errorf("writes to a silent peer: %v", err)
	}
	w.Abort()
}

func TestAbortedPieceIsGivenUp(t *testing.T) {
	n := newPieceNode(t)
	w := create(t, newPeers(t, xrootd.Options{}), n)
	w.Abort()
	w.Abort()
	if err := w.Seal(t.Context(), hemera.SealInfo{}); !errors.Is(err, errs.Cancelled) {
		t.Errorf("seal after abort: %v", err)
	}
}

// A sealed piece whose connection ends is aborted on another: its node would keep it, as it may be
// committed. One that was released is never aborted.
func TestSealedPieceIsGivenUpOverAnotherConnection(t *testing.T) {
	aborts := make(chan int, 10)
	n := &pieceNode{hold: make(chan struct{})}
	close(n.hold)
	var count atomic.Int32
	n.Server = xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		if r.ID != wire.ReqQuery || r.Payload != wire.OpaqueAbort {
			return n.reply(r)
		}
		c := int(count.Add(1))
		aborts <- c
		if c == 1 {
			return []byte{}
		}
		return xrootdtest.Good(r, nil)
	})
	p := newPeers(t, xrootd.Options{})
	w := create(t, p, n)
	if err := w.Seal(t.Context(), hemera.SealInfo{}); err != nil {
		t.Fatal(err)
	}
	w.Abort()
	for _, want := range []int{1, 2} {
		if got := <-aborts; got != want {
			t.Errorf("abort %d, want %d", got, want)
		}
	}
	kept := create(t, p, n)
	if err := kept.Seal(t.Context(), hemera.SealInfo{}); err != nil {
		t.Fatal(err)
	}
	kept.Release()
	kept.Abort()
	last := create(t, p, n)
	if err := last.Seal(t.Context(), hemera.SealInfo{}); err != nil { // answered after what was sent before
		t.Fatal(err)
	}
	if len(aborts) > 0 {
		t.Error("a piece that was released is aborted")
	}
}

// A disk that hangs stalls the pieces on it alone: other disks of the same node have other sessions.
func TestDiskThatHangsStallsOnlyItself(t *testing.T) {
	n := newPieceNode(t)
	never := make(chan struct{})
	defer close(never)
	n.mu.Lock()
	n.stuck = never
	n.mu.Unlock()
	p := newPeers(t, xrootd.Options{Chunk: 64 << 10, Window: 64 << 10, Stall: time.Hour})
	part := xrootdtest.Pattern(64 << 10)
	sums := xrootdtest.Sums(part, 0)
	var stuck []piece.Writer
	for range 4 {
		stuck = append(stuck, createOn(t, p, n, 8))
	}
	for _, w := range stuck {
		if err := w.WritePages(part, sums, stuckOffset); err != nil {
			t.Fatal(err)
		}
	}
	for _, disk := range []hemera.DiskID{7, 9, 10} {
		for range 4 {
			w := createOn(t, p, n, disk)
			if err := w.WritePages(part, sums, 0); err != nil {
				t.Fatal(err)
			}
			if err := w.Seal(t.Context(), hemera.SealInfo{FileSize: int64(len(part))}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Where data is is asked of the peer; one that does not know is asked once.
func TestPeerTellsHoles(t *testing.T) {
	for _, knows := range []bool{true, false} {
		n := &pieceNode{hold: make(chan struct{}), piece: xrootdtest.Pattern(50_000)}
		n.Server = xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
			switch {
			case r.ID != wire.ReqQuery:
				return n.reply(r)
			case knows && r.Payload == wire.OpaqueAllocated:
				return xrootdtest.Good(r, []byte("20480\x00"))
			case knows && r.Payload == wire.AskData(4096):
				return xrootdtest.Good(r, []byte("8192\x00"))
			case knows:
				return xrootdtest.Good(r, []byte("50001\x00")) // beyond the piece
			}
			return xrootdtest.Bad(r, wire.Unsupported, "no plugin answers this query")
		})
		r, err := newPeers(t, xrootd.Options{}).Open(t.Context(), piece.Remote{Target: n.target()}, "TOKEN")
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]int64{true: 8192, false: 4096}[knows]
		for range 2 {
			if got, err := r.NextData(4096); got != want || err != nil {
				t.Errorf("data after 4096: %d, %v, want %d", got, err, want)
			}
		}
		took := map[bool]int64{true: 20480, false: 50_000}[knows]
		if n, err := r.Allocated(); n != took || err != nil {
			t.Errorf("it takes %d bytes, %v, want %d", n, err, took)
		}
		got, err := r.NextData(0)
		switch asked := len(n.Got(wire.ReqQuery)); {
		case knows && !errors.Is(err, errs.Corrupt):
			t.Errorf("an answer beyond the piece: %d, %v", got, err)
		case !knows && (got != 0 || err != nil || asked != 1):
			t.Errorf("a peer that knows no holes: %d, %v, asked %d times", got, err, asked)
		}
		_ = r.Close()
	}
}

// TestClosedPieceIsNotWaitedFor: a peer that does not answer any more keeps nobody who has read from it.
func TestClosedPieceIsNotWaitedFor(t *testing.T) {
	closed := make(chan struct{})
	s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		if r.ID == wire.ReqClose {
			close(closed)
			return nil
		}
		return xrootdtest.Opened(r, 5)
	})
	p := newPeers(t, xrootd.Options{Stall: time.Hour})
	piece, err := p.Open(t.Context(), piece.Remote{Target: hemera.Target{Addr: s.URL("/").Addr(), Disk: 1}}, "token")
	if err != nil {
		t.Fatal(err)
	}
	if err := piece.Close(); err != nil {
		t.Error(err)
	}
	<-closed
}
