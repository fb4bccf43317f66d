package xrootd

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"

	"hemera/rules/wire"
)

// ends makes the two ends of a connection, with a socket and without.
var ends = map[string]func(t *testing.T) (ours, theirs net.Conn){
	"pipe":   func(*testing.T) (net.Conn, net.Conn) { return net.Pipe() },
	"socket": tcpEnds,
}

// tcpEnds returns the two ends of a TCP connection. The caller closes them.
func tcpEnds(t *testing.T) (ours, theirs net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if ours, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if theirs, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// TestPagesComeInAnyParts checks that pages and checksums reach their places, wherever a range begins and however few
// bytes arrive at a time. The bytes after a frame stay for the next one.
func TestPagesComeInAnyParts(t *testing.T) {
	for name, connect := range ends {
		rng := rand.New(rand.NewPCG(3, 4))
		for range 40 {
			off, data := rng.Int64N(3)*rng.Int64N(10_000), make([]byte, 1+rng.IntN(400_000))
			for i := range data {
				data[i] = byte(rng.Uint32())
			}
			sums := wire.SumPages(make([]uint32, wire.Fragments(off, int64(len(data)))), data, off)
			bad := rng.IntN(len(sums)) // its checksum is wrong
			sums[bad] ^= 1
			body := wire.AppendPages(nil, data, sums, off)
			ours, theirs := connect(t)
			go func() {
				for rest, longest := append([]byte("before"), append(bytes.Clone(body), "after"...)...), 1+rng.IntN(200_000); len(rest) > 0; {
					n := min(1+rng.IntN(longest), len(rest))
					if _, err := theirs.Write(rest[:n]); err != nil {
						return
					}
					rest = rest[n:]
				}
				_ = theirs.Close()
			}()
			r := newReceiver(ours)
			if _, err := io.ReadFull(r, make([]byte, len("before"))); err != nil {
				t.Fatal(err)
			}
			s := &pageSink{p: make([]byte, len(data)), sums: make([]uint32, len(sums)), off: off}
			if err := s.take(r, frame{n: len(body), offset: off, paged: true}); err != nil {
				t.Fatal(name, err)
			}
			if !bytes.Equal(s.p, data) || !slices.Equal(s.sums, sums) || s.got != len(data) {
				t.Errorf("%s: %d bytes at %d differ", name, len(data), off)
			}
			if len(s.bad) != 1 || s.index(s.bad[0].at) != bad {
				t.Errorf("%s: bad pages are %v, not the one with number %d", name, s.bad, bad)
			}
			if after, err := io.ReadAll(r); string(after) != "after" || err != nil {
				t.Errorf("%s: %q follows, %v", name, after, err)
			}
			_ = ours.Close()
		}
	}
}

// TestPagesThatDoNotFitAreRefused checks that an answer that is too long fails before it writes beyond the caller's
// memory. A connection that ends in a page is an error.
func TestPagesThatDoNotFitAreRefused(t *testing.T) {
	for name, connect := range ends {
		for _, c := range []struct{ asked, frame, sent int }{
			{4096, 2 * 4100, 2 * 4100},     // more than was asked for
			{4096, 4, 4},                   // a checksum without a page
			{8192, 4100 + 3, 4100 + 3},     // the end is in a checksum
			{8192, 2 * 4100, 4100},         // the connection ends between pages
			{80 * 4096, 80 * 4100, 300000}, // the connection ends in a page
		} {
			ours, theirs := connect(t)
			go func() {
				_, _ = theirs.Write(make([]byte, c.sent))
				_ = theirs.Close()
			}()
			memory := make([]byte, c.asked+4096)
			s := &pageSink{p: memory[:c.asked]}
			err := s.take(newReceiver(ours), frame{n: c.frame, paged: true})
			if err == nil || !bytes.Equal(memory[c.asked:], make([]byte, 4096)) {
				t.Errorf("%s: %+v: %v", name, c, err)
			}
			if c.sent < c.frame && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
				t.Errorf("%s: %+v: %v", name, c, err)
			}
			_ = ours.Close()
		}
	}
}
