package node

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"testing"

	"hemera/words/hemera"
)

// mark returns a mark of a manager's life.
func mark(life byte, number uint64) []byte {
	m := append(bytes.Repeat([]byte{life}, 8), binary.BigEndian.AppendUint64(nil, number)...)
	return append(m, bytes.Repeat([]byte{0xee}, 16)...)
}

// TestTheNewestMarkOfEachLifeIsShown checks this for answers in any order, until a manager has seen the mark.
func TestTheNewestMarkOfEachLifeIsShown(t *testing.T) {
	s, err := openSeen(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	shows := func(when string, unshown bool, want ...[]byte) {
		t.Helper()
		if got := s.shown(); !bytes.Equal(got, bytes.Join(want, nil)) || s.unshown() != unshown {
			t.Errorf("%s: %x, not shown yet: %v", when, got, s.unshown())
		}
	}
	shows("new", false)
	s.welcome(nil, mark(1, 5))
	for _, m := range [][]byte{mark(1, 9), mark(1, 7), nil, {1, 2}, make([]byte, hemera.SeenMarkBytes)} {
		s.saw(m)
	}
	shows("late answers", false, mark(1, 9))
	// A head that asks again may get a mark of the next life before the node has registered there.
	s.saw(mark(2, 3))
	shows("another life", true, mark(1, 9), mark(2, 3))
	shown := s.shown()
	s.saw(mark(1, 11)) // while it registers
	s.welcome(shown, mark(2, 4))
	shows("one that came meanwhile", true, mark(1, 11), mark(2, 4))
	s.welcome(s.shown(), mark(2, 4))
	shows("it was shown", false, mark(2, 4))
	for life := range byte(hemera.SeenMarksMax + 5) {
		s.saw(mark(10+life, 1))
	}
	if n := len(s.shown()); n != hemera.SeenMarksMax*hemera.SeenMarkBytes {
		t.Errorf("%d bytes of very many lives", n)
	}
}

// TestMarksOfDisksMakeWay checks that marks from a disk replace only older marks of their life.
func TestMarksOfDisksMakeWay(t *testing.T) {
	s, err := openSeen(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.saw(mark(1, 5))
	s.saw(mark(2, 7))
	var disk []byte
	for life := range byte(3 * hemera.SeenMarksMax) {
		disk = append(disk, mark(10+life, 1)...)
	}
	s.found(append(disk, mark(2, 9)...))
	shown := s.shown()
	if !bytes.Contains(shown, mark(1, 5)) || !bytes.Contains(shown, mark(2, 9)) || bytes.Contains(shown, mark(2, 7)) || len(shown) != hemera.SeenMarksMax*hemera.SeenMarkBytes {
		t.Errorf("%x", shown)
	}
}

// TestMarksAreInTheFileAtOnce checks this because the process may be killed right after an answer.
func TestMarksAreInTheFileAtOnce(t *testing.T) {
	dir := t.TempDir()
	open := func() *seenFile {
		s, err := openSeen(dir, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	s.saw(mark(1, 7))
	s.saw(mark(2, 1))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.run(ctx); close(ended) }()
	for want := bytes.Join([][]byte{mark(1, 7), mark(2, 1)}, nil); !bytes.Equal(open().shown(), want); {
		if t.Context().Err() != nil {
			t.Fatalf("%x", open().shown())
		}
	}
	s.saw(mark(2, 6))
	cancel()
	<-ended
	if again := open().shown(); !bytes.Equal(again, bytes.Join([][]byte{mark(1, 7), mark(2, 6)}, nil)) {
		t.Errorf("%x after the end", again)
	}
}
