package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"hemera/platform/turn"
	"hemera/tape/device"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// moveTries is the number of times that a command that fails is sent, in all; the pauses between double from
	// movePause on.
	moveTries = 4
	movePause = 2 * time.Second
	// moveTime bounds one command of the changer, also one that waits for another.
	moveTime = 10 * time.Minute
)

// robot carries cartridges for all drives of a library. It has one arm: a move waits for those before it.
type robot struct {
	changer device.Changer
	sleep   func(context.Context, time.Duration) error
	turn    turn.Turn      // its holder uses the arm
	sources map[string]int // by barcode, the slot that the cartridge came from; the holder of the turn uses it

	mu     sync.Mutex
	last   shelves // for reports
	failed error   // of the last attempt
}

// newRobot makes a robot that stands still.
func newRobot(c device.Changer, sleep func(context.Context, time.Duration) error) *robot {
	return &robot{changer: c, sleep: sleep, turn: turn.New(), sources: map[string]int{}}
}

// withTurn waits for the arm and uses it.
func (r *robot) withTurn(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, moveTime)
	defer cancel()
	if err := r.turn.Acquire(ctx); err != nil {
		return errs.Wrap(err, "tape.Move", "")
	}
	defer r.turn.Release()
	return do(ctx)
}

// look takes an inventory.
func (r *robot) look(ctx context.Context) (s shelves, err error) {
	err = r.withTurn(ctx, func(ctx context.Context) error {
		s, err = r.inventory(ctx)
		return err
	})
	return s, err
}

// inventory tries again while the changer is not ready. The caller has the turn.
func (r *robot) inventory(ctx context.Context) (list shelves, err error) {
	for try := range moveTries {
		if try > 0 { // longer each time: a library that was opened takes minutes for an inventory of its own
			if err := r.sleep(ctx, movePause<<try); err != nil {
				return nil, err
			}
		}
		elements, failed := r.changer.Inventory(ctx)
		if err = failed; err == nil || !passing(err) {
			return shelve(elements), err
		}
	}
	return nil, err
}

// passing reports whether an error of a device may be over when it is asked again.
func passing(err error) bool {
	return errors.Is(err, device.ErrNotReady) || errors.Is(err, device.ErrHardware)
}

// fetch carries a cartridge to a drive. It fails with NotFound if the library has no such cartridge or drive, with Locked if it is in another
// drive, or if the drive holds another one.
func (r *robot) fetch(ctx context.Context, vid hemera.VID, serial string, place int) error {
	return r.withTurn(ctx, func(ctx context.Context) error {
		return r.carry(ctx, vid, func(s shelves) (from, to element, err error) {
			if from, err = s.find(vid); err != nil {
				return from, to, err
			}
			if to, err = s.drive(serial, place); err != nil {
				return from, to, err
			}
			switch {
			case from.Address == to.Address: // a move whose answer was lost
				return from, to, nil
			case from.Kind == device.ElementDrive:
				return from, to, errs.New(errs.Locked, "tape.Fetch", string(vid), "the cartridge is in another drive")
			case to.Full:
				return from, to, errs.New(errs.Locked, "tape.Fetch", string(vid), "the drive holds cartridge "+to.Barcode)
			}
			// Not all libraries tell the source of what is in a drive, so it is kept here too.
			r.sources[from.Barcode] = from.Address
			return from, to, nil
		})
	})
}

// putBack carries what is in a drive to a slot. It is no error if nothing is in it.
func (r *robot) putBack(ctx context.Context, serial string, place int) error {
	return r.withTurn(ctx, func(ctx context.Context) error {
		return r.carry(ctx, "", func(s shelves) (from, to element, err error) {
			if from, err = s.drive(serial, place); err != nil || !from.Full {
				return from, from, err
			}
			to.Kind = device.ElementSlot
			to.Address, err = s.home(from, r.sources[from.Barcode])
			return from, to, err
		})
	})
}

// carry chooses by an inventory, moves, and does so again after errors that may pass: an element that was empty or full against expectation
// is looked at again. The caller has the turn.
func (r *robot) carry(ctx context.Context, vid hemera.VID, choose func(shelves) (from, to element, err error)) (err error) {
	for try := range moveTries {
		if try > 0 {
			if err := r.sleep(ctx, movePause<<try); err != nil {
				return err
			}
		}
		var s shelves
		if s, err = r.inventory(ctx); err != nil {
			break
		}
		from, to, refused := choose(s)
		if refused != nil {
			return refused
		}
		if from.Address == to.Address {
			return nil
		}
		// ErrEmpty and ErrFull say that the inventory was not the truth: it is taken again.
		err = r.changer.Move(ctx, from.Address, to.Address)
		if err == nil {
			return nil
		}
		if !passing(err) && !errors.Is(err, device.ErrEmpty) && !errors.Is(err, device.ErrFull) {
			break
		}
	}
	return &errs.Error{Kind: errs.IO, Op: "tape.Move", Subject: string(vid), Text: "the robot failed", Cause: err,
		Remedy: "look at the library's panel; drives try again by themselves"}
}

// inside tells what is in a drive by the library: its VID, [unknownTape] without a readable barcode, "" for nothing.
func (r *robot) inside(ctx context.Context, serial string, place int) (hemera.VID, error) {
	s, err := r.look(ctx)
	if err != nil {
		return "", err
	}
	e, err := s.drive(serial, place) // an element that is empty has no VID
	return e.vid, err
}

// peek takes an inventory if the arm is free, and returns the last one otherwise: reports do not wait for moves.
func (r *robot) peek(ctx context.Context) (shelves, error) {
	if !r.turn.TryAcquire() { // a move takes up to a minute
		return r.seen()
	}
	defer r.turn.Release()
	list, err := r.changer.Inventory(ctx)
	if err != nil {
		err = errs.As(err, errs.IO, "tape.Inventory", "")
	}
	r.note(shelve(list), err)
	return r.seen()
}

// note keeps an inventory for reports. One that failed leaves the list as it was.
func (r *robot) note(s shelves, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed = err; err == nil {
		r.last = s
	}
}

// seen returns the last inventory, and the error of the last attempt.
func (r *robot) seen() (shelves, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, r.failed
}
