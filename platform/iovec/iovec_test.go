package iovec

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSlicesGoThroughASocket: for any lengths, and however much one call moves, the receiver gets the bytes that were
// sent.
func TestSlicesGoThroughASocket(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		cut := func(b []byte) (slices [][]byte) {
			longest := 1 + rng.IntN(1+rng.IntN(9000))
			for len(b) > 0 {
				n := min(rng.IntN(longest+1), len(b)) // some are empty
				slices, b = append(slices, b[:n]), b[n:]
			}
			return slices
		}
		sent := make([]byte, rng.IntN(300_000))
		for i := range sent {
			sent[i] = byte(rng.Uint32())
		}
		received := make([]byte, len(sent))
		var from, to List
		from.Set(cut(bytes.Clone(sent))...)
		to.Set(cut(received)...)
		for !to.Done() {
			if !from.Done() {
				if err := from.Send(fds[0]); err != nil && !errors.Is(err, unix.EAGAIN) {
					t.Fatal(err)
				}
			}
			if err := to.Receive(fds[1]); err != nil && !errors.Is(err, unix.EAGAIN) {
				t.Fatal(err)
			}
		}
		if !from.Done() || !bytes.Equal(sent, received) {
			t.Errorf("of %d bytes others were received", len(sent))
		}
		_ = unix.Close(fds[0])
		to.Set(make([]byte, 1))
		if err := to.Receive(fds[1]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("at the end: %v", err)
		}
		_ = unix.Close(fds[1])
	}
}

// TestWhatWasSentIsKeptNoLonger: a cleared list refers to no memory, and its own memory is reused.
func TestWhatWasSentIsKeptNoLonger(t *testing.T) {
	var l List
	l.Set([]byte("abc"), nil, []byte("d"))
	if l.Done() || len(l.all) != 2 {
		t.Fatalf("%d slices", len(l.all))
	}
	l.Clear()
	if !l.Done() || l.all[:2][0].Base != nil || l.all[:2][1].Base != nil {
		t.Error("memory is kept")
	}
	l.Set()
	if !l.Done() {
		t.Error("an empty list is not done")
	}
}
