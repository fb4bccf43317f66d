package linux

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"hemera/tape/device"
	"hemera/tape/device/scsi"
	"hemera/words/errs"
)

// Changer is the robot of a library behind the SCSI generic driver. It implements device.Changer.
type Changer struct {
	dev       *descriptor    // the robot has one arm, so one token is enough
	identity  scsi.Device    // read once
	addresses scsi.Addresses // read once; a library that is partitioned again needs a new Changer
	noSerials bool           // the library refuses to tell those of drives; guarded by the token
}

// OpenChanger opens a changer, such as /dev/sg3.
func OpenChanger(ctx context.Context, path string) (*Changer, error) {
	return openChanger(ctx, kernel{}, path)
}

// openChanger does what OpenChanger does, over any kernel.
func openChanger(ctx context.Context, sys syscalls, path string) (*Changer, error) {
	c := &Changer{dev: newDescriptor(sys, path, unix.O_RDWR|unix.O_NONBLOCK)}
	err := c.learn(ctx)
	if err != nil {
		_ = c.dev.close()
		return nil, err
	}
	return c, nil
}

// learn asks who the changer is and where its elements are.
func (c *Changer) learn(ctx context.Context) (err error) {
	if c.identity, err = c.dev.identify(ctx); err != nil {
		return err
	}
	if c.identity.Type != scsi.TypeChanger {
		return errs.New(errs.Invalid, "linux.OpenChanger", c.dev.path, "the device is not a media changer").
			WithRemedy("lsscsi -g lists the changers (mediumx); use the device /dev/sgN.")
	}
	// Addresses differ between libraries, and between partitions of one.
	answer, err := c.dev.retry(ctx, scsi.ModeSenseElements(), false)
	if err != nil {
		return err
	}
	mode, err := scsi.DecodeMode(answer)
	if err != nil {
		return err
	}
	c.addresses, err = mode.Addresses()
	return err
}

// Identity implements device.Changer.
func (c *Changer) Identity() device.Identity { return c.identity.Identity }

// Close closes the device.
func (c *Changer) Close() error {
	if err := c.dev.acquire(context.Background()); err != nil {
		return err
	}
	defer c.dev.release()
	return c.dev.close()
}

// Inventory implements device.Changer. It reads the memory of the library and moves nothing.
func (c *Changer) Inventory(ctx context.Context) ([]device.Element, error) {
	if err := c.dev.acquire(ctx); err != nil {
		return nil, err
	}
	defer c.dev.release()
	// One command for each kind, and for each thousand of its elements.
	var all []device.Element
	for _, kind := range []struct {
		kind device.ElementKind
		at   scsi.Range
	}{{device.ElementArm, c.addresses.Arms}, {device.ElementSlot, c.addresses.Slots}, {device.ElementGate, c.addresses.Gates}, {device.ElementDrive, c.addresses.Drives}} {
		for done := 0; done < kind.at.Count; done += scsi.ElementsAtOnce {
			found, err := c.read(ctx, kind.kind, kind.at.First+done, min(scsi.ElementsAtOnce, kind.at.Count-done))
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

// read asks for elements of one kind. Serial numbers are asked for until the library refuses.
func (c *Changer) read(ctx context.Context, kind device.ElementKind, first, count int) ([]device.Element, error) {
	serials := kind == device.ElementDrive && !c.noSerials
	answer, err := c.dev.retry(ctx, scsi.ReadElementStatus(kind, first, count, serials), false)
	// Older libraries refuse the bit; drives cannot be paired then.
	if serials && refused(err) {
		c.noSerials = true
		answer, err = c.dev.retry(ctx, scsi.ReadElementStatus(kind, first, count, false), false)
	}
	if err != nil {
		return nil, err
	}
	return scsi.DecodeElements(answer)
}

// Move implements device.Changer. Moves wait for each other, and an inventory for a move.
func (c *Changer) Move(ctx context.Context, from, to int) error {
	// The arm is no place to leave a cartridge at, and a wrong number is not sent to a robot.
	for _, address := range []int{from, to} {
		if !c.holds(address) {
			return errs.New(errs.Invalid, "linux.Move", c.dev.path, fmt.Sprintf("the library has no element %d", address))
		}
	}
	if err := c.dev.acquire(ctx); err != nil {
		return err
	}
	defer c.dev.release()
	// An attention means that the robot did not move, so the move is safe to repeat.
	_, err := c.dev.retry(ctx, scsi.MoveMedium(c.addresses.Arms.First, from, to), false)
	if errors.Is(err, device.ErrNoMedium) { // some libraries say it in the words of a drive
		err = errors.Join(device.ErrEmpty, err)
	}
	return errs.Wrap(err, "linux.Move", fmt.Sprintf("%s %d to %d", c.dev.path, from, to))
}

// holds reports whether an address is of a place for cartridges.
func (c *Changer) holds(address int) bool {
	for _, r := range []scsi.Range{c.addresses.Slots, c.addresses.Gates, c.addresses.Drives} {
		if address >= r.First && address < r.First+r.Count {
			return true
		}
	}
	return false
}
