package transfertest

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"hemera/rules/checksum"
	"hemera/transfer/piece"
	"hemera/words/hemera"
)

// PeerFixture is one piece at another node, which does not exist at first, and the tokens to use it.
type PeerFixture struct {
	Peers  piece.Peers
	Target hemera.Target
	// Tokens of permits: one that permits to write the piece, and one to read it. They may be the same.
	Write string
	// Path is the file's, and Head what the head of the write shows the target's node.
	Path, Head string
	Read       func() string // called when the piece is sealed
}

// RunPeers proves an implementation of [piece.Peers]. Each call of fixture is for a new piece.
func RunPeers(t *testing.T, fixture func(t *testing.T) PeerFixture) {
	for _, c := range peerCases() {
		t.Run(c.name, func(t *testing.T) { c.test(t, fixture(t)) })
	}
}

// RunPeersInBubble does what RunPeers does, within a bubble of synctest, which has no subtests.
func RunPeersInBubble(t *testing.T, fixture func(t *testing.T) PeerFixture) {
	for _, c := range peerCases() {
		t.Log(c.name)
		c.test(t, fixture(t))
	}
}

// peerCase is one part of the contract.
type peerCase struct {
	name string
	test func(t *testing.T, x PeerFixture)
}

func peerCases() []peerCase {
	return []peerCase{
		{"a sealed piece is read as it was written", peerPieceIsRead},
		{"a copy that is refused leaves the piece as it was", refusedCopy},
		{"an aborted piece cannot be read", peerPieceIsAborted},
		{"a sealed piece can be aborted until it is released", sealedPeerPieceIsAborted},
		{"a node that is not there is an error", deadPeer},
	}
}

// piece opens the piece as the head of its write does.
func (x PeerFixture) piece() piece.Remote {
	return piece.Remote{Target: x.Target, Path: x.Path, Head: x.Head}
}

// fill writes n bytes to the piece, with a hole before the last page.
func (x PeerFixture) fill(t *testing.T, n int) (piece.Writer, []byte) {
	t.Helper()
	w, err := x.Peers.Create(t.Context(), x.piece(), x.Write)
	must(t, err)
	p := pattern(n)
	// The hole ends at a page's begin, as page sums do not cross it.
	first, last := n/2, n-n%hemera.PageSize-hemera.PageSize
	clear(p[first:last])
	must(t, w.WritePages(p[:first], sumsOf(p[:first], 0), 0))
	// A failure may show at any later call, the sync at the latest.
	must(t, w.WritePages(p[last:], sumsOf(p[last:], int64(last)), int64(last)))
	must(t, w.Sync(t.Context()))
	return w, p
}

// open opens the sealed piece, as a reader at another node does.
func (x PeerFixture) open(t *testing.T) (piece.Reader, error) {
	return x.Peers.Open(t.Context(), x.piece(), x.Read())
}

// peerPieceIsRead: the whole life of a piece at another node: pages with a hole between them, a truncation, a sync, the
// seal, the release; then it is read, with its checksums. NextData may pass zeros only, and a peer that knows no holes
// may say that all is data. How much a piece takes on its disk is the disk's business, but not negative.
func peerPieceIsRead(t *testing.T, x PeerFixture) {
	w, p := x.fill(t, 200_000)
	must(t, w.Truncate(190_000))
	p = p[:190_000]
	must(t, w.Seal(t.Context(), hemera.SealInfo{FileSize: int64(len(p))}))
	w.Release()
	r, err := x.open(t)
	must(t, err)
	if r.Size() != int64(len(p)) {
		t.Errorf("it has %d bytes", r.Size())
	}
	// The whole piece in one call, with the checksums that its disk has.
	got, sums := make([]byte, len(p)), make([]uint32, checksum.Fragments(0, len(p)))
	if n, err := r.ReadPages(got, sums, 0); n != len(p) || err != nil && !errors.Is(err, io.EOF) || !bytes.Equal(got, p) {
		t.Errorf("it reads as %d bytes, %v", n, err)
	}
	for i, sum := range sumsOf(p, 0) {
		if sums[i] != sum {
			t.Fatalf("the checksum of page %d is %08x, want %08x", i, sums[i], sum)
		}
	}
	// From the data at the begin, and from the middle of the hole.
	for _, off := range []int64{0, 100_000} {
		next, err := r.NextData(off)
		if err != nil || next < off || next > r.Size() || len(bytes.Trim(p[off:next], "\x00")) > 0 {
			t.Errorf("data after %d begins at %d, %v", off, next, err)
		}
	}
	if n, err := r.Allocated(); err != nil || n < 0 {
		t.Errorf("it takes %d bytes, %v", n, err)
	}
	must(t, r.Close())
}

// refusedCopy: the write has no base, so its piece cannot begin as a copy of one. The head hears so, and writes the piece. A peer
// that ended the writer for that would cost each update a piece wherever an older node is.
func refusedCopy(t *testing.T, x PeerFixture) {
	w, err := x.Peers.Create(t.Context(), x.piece(), x.Write)
	must(t, err)
	if w.Clone(t.Context(), 5000) == nil {
		t.Error("a piece began as a copy of nothing")
	}
	// As if it had not been asked: the head writes what it would have cloned, and the rest.
	p := pattern(50_000)
	must(t, w.WritePages(p, sumsOf(p, 0), 0))
	must(t, w.Seal(t.Context(), hemera.SealInfo{FileSize: int64(len(p))}))
	w.Release()
	r, err := x.open(t)
	must(t, err)
	got := make([]byte, len(p))
	if n, err := r.ReadPages(got, nil, 0); n != len(p) || err != nil && !errors.Is(err, io.EOF) || !bytes.Equal(got, p) {
		t.Errorf("it reads as %d bytes, %v", n, err)
	}
	// Nothing of the refusal is left.
	must(t, r.Close())
}

// peerPieceIsAborted: after an abort the writer is of no more use. The abort itself has no result: a peer that is gone
// removes the piece when its hold ends.
func peerPieceIsAborted(t *testing.T, x PeerFixture) {
	w, _ := x.fill(t, 50_000)
	// Abort does not wait, but nothing goes out behind it.
	w.Abort()
	if w.Seal(t.Context(), hemera.SealInfo{FileSize: 50_000}) == nil {
		t.Error("an aborted piece was sealed")
	}
}

// sealedPeerPieceIsAborted: until its release a sealed piece is the head's to take away, as its commit may be refused.
// The abort does not wait, so that it happened is for the tests of the implementations.
func sealedPeerPieceIsAborted(t *testing.T, x PeerFixture) {
	w, p := x.fill(t, 50_000)
	must(t, w.Seal(t.Context(), hemera.SealInfo{FileSize: int64(len(p))}))
	w.Abort()
}

// deadPeer: a node that cannot be reached fails the call, in bounded time; the head takes another disk, and the reader
// another piece.
func deadPeer(t *testing.T, x PeerFixture) {
	// Port 1 of this machine, where nothing listens.
	dead := x.Target
	dead.Addr = "127.0.0.1:1"
	if _, err := x.Peers.Create(t.Context(), piece.Remote{Target: dead, Head: x.Head}, x.Write); err == nil {
		t.Error("a piece was made at a node that is not there")
	}
	if _, err := x.Peers.Open(t.Context(), piece.Remote{Target: dead}, x.Write); err == nil {
		t.Error("a piece was read at a node that is not there")
	}
}
