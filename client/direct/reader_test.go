package direct

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"hemera/client/xrootd"
	"hemera/platform/turn"
	"hemera/rules/capability"
	"hemera/rules/layout"
	"hemera/transfer/piece"
	"hemera/words/hemera"
)

// far simulates nodes with a long round trip: an open takes four round trips, a read one. Their pieces are cut from one
// content.
type far struct {
	piece.Peers
	trip    time.Duration
	layout  hemera.Layout
	content []byte
}

func (n far) Open(_ context.Context, p piece.Remote, _ string) (piece.Reader, error) {
	time.Sleep(4 * n.trip)
	piece := make([]byte, layout.PieceSize(n.layout, int64(len(n.content)), p.Index))
	for _, span := range layout.Split(n.layout, 0, len(n.content)) {
		if span.Column == p.Index {
			copy(piece[span.Off:], n.content[span.At:span.At+span.Len])
		}
	}
	return &farPiece{trip: n.trip, data: piece}, nil
}

type farPiece struct {
	piece.Reader
	trip time.Duration
	data []byte
}

func (p *farPiece) ReadPages(b []byte, _ []uint32, off int64) (int, error) {
	time.Sleep(p.trip)
	return copy(b, p.data[off:]), nil
}

func (p *farPiece) Size() int64  { return int64(len(p.data)) }
func (p *farPiece) Close() error { return nil }

// TestPiecesAreOpenedBesideEachOther checks that the first row of a distant file takes the time of one open, not of one
// open for each piece.
func TestPiecesAreOpenedBesideEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const trip, size = 30 * time.Millisecond, 8<<20 + 5
		c := coded("stripe:8", size)
		c.Layout = c.Layout.WithBlockSize(1 << 20)
		content := bytes.Repeat([]byte("0123456789abcdef!"), size/17+1)[:size]
		token, err := capability.NewKeyring(hemera.Key{ID: 1, Secret: make([]byte, 32)}).Mint(c)
		if err != nil {
			t.Fatal(err)
		}
		permit, err := parse(token, size)
		if err != nil {
			t.Fatal(err)
		}
		d := New(xrootd.New(xrootd.Options{}), Options{Mode: Always})
		d.reach.Peers = far{trip: trip, layout: c.Layout, content: content}
		pieces, err := d.host.OpenReader(permit)
		if err != nil {
			t.Fatal(err)
		}
		f := &File{client: d, first: permit.Capability, pieces: pieces, turn: turn.New()}
		r := f.NewReader(t.Context(), 0, hemera.FileSizeMax)
		began := time.Now()
		if got := rest(t, r); !bytes.Equal(got, content) {
			t.Errorf("%d bytes that differ", len(got))
		}
		// The time of one open, and some round trips while the window grows.
		if took := time.Since(began); took > 12*trip {
			t.Errorf("8 pieces took %v, with %v a round trip", took, trip)
		}
		_ = r.Close()
		pieces.Close()
	})
}
