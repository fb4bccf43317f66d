package server

import (
	"context"
	"errors"
	"testing"
	"time"

	"hemera/tape/device"
	"hemera/words/errs"
)

// shelf is a changer in memory: drives at 256 and 257, slots from 1000.
type shelf struct {
	list  []device.Element
	fails []error // of the next moves, nil for one that works
	looks int
	moves int
}

func (s *shelf) Identity() device.Identity { return device.Identity{Product: "SHELF"} }

func (s *shelf) Inventory(context.Context) ([]device.Element, error) {
	s.looks++
	return append([]device.Element(nil), s.list...), nil
}

func (s *shelf) Move(_ context.Context, from, to int) error {
	s.moves++
	if len(s.fails) > 0 {
		err := s.fails[0]
		if s.fails = s.fails[1:]; err != nil {
			return err
		}
	}
	a, b := s.at(from), s.at(to)
	switch {
	case !a.Full:
		return device.ErrEmpty
	case b.Full:
		return device.ErrFull
	}
	b.Full, b.Barcode, b.Source = true, a.Barcode, 0
	if a.Kind == device.ElementSlot {
		b.Source = from
	}
	a.Full, a.Barcode, a.Source = false, "", 0
	return nil
}

func (s *shelf) at(address int) *device.Element {
	for i := range s.list {
		if s.list[i].Address == address {
			return &s.list[i]
		}
	}
	return &device.Element{}
}

func newShelf(serials ...string) *shelf {
	s := &shelf{}
	for i, serial := range serials {
		s.list = append(s.list, device.Element{Address: 256 + i, Kind: device.ElementDrive, Serial: serial})
	}
	for i, barcode := range []string{"V00001L9", "V00002L8", "CLN001CU", ""} {
		s.list = append(s.list, device.Element{Address: 1000 + i, Kind: device.ElementSlot, Full: barcode != "", Barcode: barcode})
	}
	return s
}

// noSleep counts pauses.
func noSleep(n *int) func(context.Context, time.Duration) error {
	return func(ctx context.Context, _ time.Duration) error {
		*n++
		return ctx.Err()
	}
}

func TestFetchAndPutBack(t *testing.T) {
	s, pauses := newShelf("S1", "S2"), 0
	r := newRobot(s, noSleep(&pauses))
	ctx := t.Context()
	if err := r.fetch(ctx, "V00001", "S2", 0); err != nil {
		t.Fatal(err)
	}
	if vid, err := r.inside(ctx, "S2", 0); vid != "V00001" || err != nil {
		t.Errorf("the drive holds %q, %v", vid, err)
	}
	if err := r.fetch(ctx, "V00001", "S1", 0); !errors.Is(err, errs.Locked) {
		t.Errorf("a cartridge in another drive: %v", err)
	}
	if err := r.fetch(ctx, "V00002", "S2", 0); !errors.Is(err, errs.Locked) {
		t.Errorf("an occupied drive: %v", err)
	}
	if err := r.fetch(ctx, "V00009", "S1", 0); !errors.Is(err, errs.NotFound) || errs.RemedyOf(err) == "" {
		t.Errorf("a cartridge that is not there: %v", err)
	}
	if err := r.fetch(ctx, "V00002", "S9", 0); !errors.Is(err, errs.NotFound) {
		t.Errorf("a drive that is not there: %v", err)
	}
	// The answer of a move was lost: it is done already.
	before := s.moves
	if err := r.fetch(ctx, "V00001", "S2", 0); err != nil || s.moves != before {
		t.Errorf("once more: %v, %d moves", err, s.moves-before)
	}
	if err := r.putBack(ctx, "S2", 0); err != nil {
		t.Fatal(err)
	}
	if e := s.at(1000); e.Barcode != "V00001L9" {
		t.Errorf("slot 1000 has %+v", e)
	}
	if err := r.putBack(ctx, "S2", 0); err != nil {
		t.Errorf("nothing to put back: %v", err)
	}
}

// TestPutBackElsewhere: a slot that was taken meanwhile, and a library without memory of sources.
func TestPutBackElsewhere(t *testing.T) {
	s, pauses := newShelf("", ""), 0
	r := newRobot(s, noSleep(&pauses))
	ctx := t.Context()
	if err := r.fetch(ctx, "V00002", "ABC", 1); err != nil { // the library tells no serial numbers
		t.Fatal(err)
	}
	if e := s.at(257); e.Barcode != "V00002L8" {
		t.Fatalf("drive 257 has %+v", e)
	}
	s.at(257).Source = 0
	if err := r.putBack(ctx, "ABC", 1); err != nil || s.at(1001).Barcode != "V00002L8" {
		t.Errorf("the robot remembers where it came from: %v, %+v", err, s.at(1001))
	}
	if err := r.fetch(ctx, "V00002", "ABC", 1); err != nil {
		t.Fatal(err)
	}
	*s.at(1001) = device.Element{Address: 1001, Kind: device.ElementSlot, Full: true, Barcode: "V00003L9"}
	if err := r.putBack(ctx, "ABC", 1); err != nil || s.at(1003).Barcode != "V00002L8" {
		t.Errorf("its slot is taken: %v, %+v", err, s.at(1003))
	}
	if err := r.fetch(ctx, "V00002", "ABC", 1); err != nil {
		t.Fatal(err)
	}
	*s.at(1003) = device.Element{Address: 1003, Kind: device.ElementSlot, Full: true, Barcode: "V00004L9"}
	if err := r.putBack(ctx, "ABC", 1); !errors.Is(err, errs.NoSpace) {
		t.Errorf("a full library: %v", err)
	}
}

// TestMoveAgain: which errors of a changer are tried again, and how often.
func TestMoveAgain(t *testing.T) {
	other := errors.New("illegal request")
	for _, c := range []struct {
		name   string
		fails  []error
		works  bool
		moves  int
		pauses int
	}{
		{"not ready", []error{device.ErrNotReady, device.ErrNotReady}, true, 3, 2},
		{"a fault that passes", []error{device.ErrHardware}, true, 2, 1},
		{"seen empty", []error{device.ErrEmpty}, true, 2, 1},
		{"broken", []error{device.ErrHardware, device.ErrHardware, device.ErrHardware, device.ErrHardware}, false, 4, 3},
		{"refused", []error{other}, false, 1, 0},
	} {
		s, pauses := newShelf("S1"), 0
		s.fails = c.fails
		err := newRobot(s, noSleep(&pauses)).fetch(t.Context(), "V00001", "S1", 0)
		if (err == nil) != c.works || s.moves != c.moves || pauses != c.pauses {
			t.Errorf("%s: %v after %d moves and %d pauses", c.name, err, s.moves, pauses)
		}
	}
}

// TestArmIsWaitedFor: a caller that waits for the arm ends with its context.
func TestArmIsWaitedFor(t *testing.T) {
	pauses := 0
	r := newRobot(newShelf("S1"), noSleep(&pauses))
	r.turn.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.fetch(ctx, "V00001", "S1", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestVIDs(t *testing.T) {
	got := shelve(newShelf("S1").list).vids()
	if len(got) != 2 || got["V00001"] != "LTO-9" || got["V00002"] != "LTO-8" {
		t.Errorf("%v", got)
	}
}
