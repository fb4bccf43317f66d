package emulated

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hemera/tape/device"
	"hemera/tape/recallorder"
	"hemera/words/errs"
)

// acquire begins a call that no fault is for.
func (t *loaded) acquire(ctx context.Context) error {
	if err := t.drive.acquire(ctx); err != nil {
		return errs.Wrap(err, "emulated.Tape", t.drive.identity.Device)
	}
	if t.ended {
		t.drive.release()
		return fail("emulated.Tape", t.drive.identity.Device, device.ErrNotReady)
	}
	return nil
}

// Protectable returns true.
func (t *loaded) Protectable() bool { return true }

// Protect switches logical block protection.
func (t *loaded) Protect(ctx context.Context, read, write bool) error {
	if err := t.acquire(ctx); err != nil {
		return err
	}
	defer t.drive.release()
	t.protectRead, t.protectWrite = read, write
	return nil
}

// SetKey has blocks encrypted and decrypted from now on.
func (t *loaded) SetKey(ctx context.Context, key device.Key) error {
	if len(key.Secret) != device.KeySize || len(key.Name) > device.KeyNameMax {
		return errs.New(errs.Invalid, "emulated.SetKey", t.drive.identity.Device,
			fmt.Sprintf("a key has %d bytes and a name of at most %d, not %d and %d", device.KeySize, device.KeyNameMax, len(key.Secret), len(key.Name)))
	}
	if err := t.acquire(ctx); err != nil {
		return err
	}
	defer t.drive.release()
	v, err := newVault(key)
	if err != nil {
		return errs.As(err, errs.Invalid, "emulated.SetKey", t.drive.identity.Device)
	}
	t.vault = v
	return nil
}

// ClearKey forgets the key.
func (t *loaded) ClearKey(ctx context.Context) error {
	if err := t.acquire(ctx); err != nil {
		return err
	}
	defer t.drive.release()
	t.vault = vault{}
	return nil
}

// orderMax is the number of segments that one call of Order takes: an estimate, IBM's drives of generation 9 report a few
// thousand.
const orderMax = 2000

// OrderMax returns 0 for cartridges before generation 9, as of real drives.
func (t *loaded) OrderMax(ctx context.Context) (int, error) {
	if err := t.acquire(ctx); err != nil {
		return 0, err
	}
	defer t.drive.release()
	// Drives of generation 8 and before do not have the command.
	if t.cartridge.media.Density < 0x60 {
		return 0, nil
	}
	return orderMax, nil
}

// Order returns the order in which the tape travels little, by the model of this
// cartridge.
func (t *loaded) Order(ctx context.Context, segments []device.Segment) ([]int, error) {
	count, err := t.OrderMax(ctx)
	if err != nil {
		return nil, err
	}
	if len(segments) > count {
		return nil, errs.New(errs.TooLarge, "emulated.Order", t.drive.identity.Device, fmt.Sprintf("%d segments, the most is %d", len(segments), count))
	}
	if err := t.acquire(ctx); err != nil {
		return nil, err
	}
	defer t.drive.release()
	// Objects to bytes, bytes to places: the model knows places only.
	here, err := t.cartridge.at(t.object)
	if err != nil {
		return nil, err
	}
	spans := make([]recallorder.Segment, 0, len(segments))
	for _, s := range segments {
		begin, err := t.cartridge.at(s.Begin)
		if err != nil {
			return nil, err
		}
		end, err := t.cartridge.at(s.End)
		if err != nil {
			return nil, err
		}
		spans = append(spans, recallorder.Segment{Begin: uint64(begin), End: uint64(end)})
	}
	m := t.cartridge.media
	return recallorder.Order(uint64(here), spans, func(from, to uint64) time.Duration {
		return m.Geometry.Locate(m.Place(int64(from)), m.Place(int64(to)))
	}), nil
}

// Alerts returns the TapeAlert flags that are raised, in order, and clears
// them.
func (t *loaded) Alerts(context.Context) (flags []int, err error) {
	t.drive.mu.Lock()
	defer t.drive.mu.Unlock()
	// Flags belong to the drive and survive a change of cartridge.
	for f := range t.drive.alerts {
		flags = append(flags, f)
	}
	clear(t.drive.alerts)
	slices.Sort(flags)
	return flags, nil
}

// Counters returns what the drive counted since the load.
func (t *loaded) Counters(ctx context.Context) (device.Counters, error) {
	if err := t.acquire(ctx); err != nil {
		return device.Counters{}, err
	}
	defer t.drive.release()
	// The stream is older than this load when the cartridge was loaded twice.
	c, s := t.counters, t.stream.Counts(t.drive.time())
	c.BackHitches = s.BackHitches - t.before.BackHitches
	c.Moving, c.Stopped, c.Repositioned = s.Moving-t.before.Moving, s.Stopped-t.before.Stopped, s.Repositioned-t.before.Repositioned
	return c, nil
}
