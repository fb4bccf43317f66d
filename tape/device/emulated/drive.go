package emulated

import (
	"context"
	"fmt"
	"sync"
	"time"

	"hemera/tape/device"
	"hemera/tape/timing"
	"hemera/words/errs"
)

// drive is one drive. The holder of its token uses what is not under the
// mutex.
type drive struct {
	machine
	library  *Library
	identity device.Identity
	loaded   *loaded // nil unless a cartridge is loaded

	mu     sync.Mutex
	state  driveState
	alerts map[int]bool
}

// driveState is the state of a drive that can be seen without waiting.
type driveState struct {
	barcode string // of the cartridge in the drive, "" for none
	ejected bool   // the cartridge was unloaded and can be taken
	ready   bool
	readyAt time.Duration // when a cartridge that came in is ready by itself
	status  device.Status // of a loaded cartridge
}

// newDrive returns the drive of an element. A cartridge that is in it since
// the library was last open is ready to be loaded.
func newDrive(ctx context.Context, l *Library, h holder) *drive {
	number := h.Address - addressDrive
	return &drive{
		machine: newMachine(ctx, l.clock), library: l, alerts: map[int]bool{},
		identity: device.Identity{Vendor: "HEMERA", Product: "EMULATED-DRIVE", Revision: "1", Serial: fmt.Sprintf("EMUDRIVE%03d", number), Device: fmt.Sprintf("emu%d", number)},
		state:    driveState{barcode: h.Barcode},
	}
}

// Identity describes the drive.
func (d *drive) Identity() device.Identity { return d.identity }

// Status returns the state of the drive at once.
func (d *drive) Status(context.Context) (device.Status, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// Never the token: a drive may be busy for minutes.
	s := d.state.status
	s.Loaded, s.Ready = d.state.barcode != "", d.state.ready
	return s, nil
}

// see changes what Status shows.
func (d *drive) see(change func(*driveState)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.state)
}

// holds reports whether a changer cannot take the cartridge.
func (d *drive) holds() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state.barcode != "" && !d.state.ejected
}

// changed says that the arm has put a cartridge in, or "" for taken out. The
// caller has the token.
func (d *drive) changed(barcode string) {
	// Drives begin to load by themselves as soon as a cartridge comes in.
	readyAt := d.now
	if barcode != "" {
		readyAt += d.library.mediaOf(barcode).Load
	}
	d.see(func(s *driveState) { *s = driveState{barcode: barcode, readyAt: readyAt} })
}

// inside returns the state.
func (d *drive) inside() driveState {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state
}

// strike asks the plan of faults about an operation, and does what faults do
// besides failing it.
func (d *drive) strike(ctx context.Context, op, barcode string, object uint64) (outcome, error) {
	o, err := d.library.faults.strike(ctx, d.ctx, happening{op: op, drive: d.identity.Device, serial: d.identity.Serial, tape: barcode, object: object})
	if err != nil {
		return o, err
	}
	// Alerts come with failures and without.
	d.raise(o.alerts...)
	if o.extra > 0 {
		d.busy(o.extra)
	}
	if o.fail == "power" {
		d.powerCut()
	}
	return o, nil
}

// raise sets TapeAlert flags.
func (d *drive) raise(flags ...int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range flags {
		d.alerts[f] = true
	}
}

// Load waits until the cartridge is ready, and returns it at its beginning. A
// cartridge that is loaded is rewound; an earlier Tape of it ends.
func (d *drive) Load(ctx context.Context) (device.Tape, error) {
	if err := d.acquire(ctx); err != nil {
		return nil, fail("emulated.Load", d.identity.Device, device.ErrNotReady)
	}
	defer d.release()
	in := d.inside()
	if in.barcode == "" {
		return nil, fail("emulated.Load", d.identity.Device, device.ErrNoMedium)
	}
	// The plan comes before the clock, so that "not ready" needs no patience in
	// tests.
	o, err := d.strike(ctx, "load", in.barcode, 0)
	if err != nil {
		return nil, err
	}
	if cause := o.failure(); cause != nil {
		return nil, fail("emulated.Load", in.barcode, cause)
	}
	if d.loaded != nil {
		return d.reload()
	}
	media := d.library.mediaOf(in.barcode)
	readyAt := in.readyAt
	if in.ejected || readyAt == 0 { // it was taken in by this call, not by the arm
		readyAt = d.time() + media.Load
		d.see(func(s *driveState) { s.ejected, s.readyAt = false, readyAt })
	}
	// The caller may end this wait, and may come back: the drive goes on loading
	// meanwhile.
	if readyAt > d.time() {
		either, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(d.ctx, cancel) // the library is closed
		d.clock.WaitUntil(either, readyAt)
		ended := either.Err() != nil
		stop()
		cancel()
		if ended {
			return nil, fail("emulated.Load", in.barcode, device.ErrNotReady)
		}
		d.now = readyAt
	}
	c, err := openCartridge(d.library.dir, in.barcode, media, d.library.options)
	if err != nil {
		return nil, err
	}
	// Saved now, so that a crash does not forget the load.
	c.attributes.Loads++
	if err := c.saveAttributes(); err != nil {
		c.close()
		return nil, errs.Wrap(err, "emulated.Load", in.barcode)
	}
	d.loaded = &loaded{drive: d, cartridge: c, stream: timing.NewStream(media)}
	d.see(func(s *driveState) { s.ejected, s.ready, s.readyAt = false, true, d.now })
	d.loaded.show()
	return d.loaded, nil
}

// reload flushes and rewinds a loaded cartridge for a new user.
func (d *drive) reload() (device.Tape, error) {
	// The counters of the new user begin at zero, but the stream goes on: it is
	// one drive.
	old := d.loaded
	if err := old.flush(); err != nil {
		return nil, err
	}
	if err := old.travel(0); err != nil {
		return nil, err
	}
	old.account()
	d.loaded = &loaded{drive: d, cartridge: old.cartridge, stream: old.stream, before: old.stream.Counts(d.now)}
	old.ended = true
	d.loaded.show()
	return d.loaded, nil
}

// Unload flushes, rewinds and ejects. A drive whose cartridge is ejected
// already has nothing to do.
func (d *drive) Unload(ctx context.Context) error {
	if err := d.acquire(ctx); err != nil {
		return errs.Wrap(err, "emulated.Unload", d.identity.Device)
	}
	defer d.release()
	in := d.inside()
	if in.barcode == "" {
		return fail("emulated.Unload", d.identity.Device, device.ErrNoMedium)
	}
	// A stuck cartridge stays loaded, as it was.
	o, err := d.strike(ctx, "unload", in.barcode, 0)
	if err != nil {
		return err
	}
	if cause := o.failure(); cause != nil {
		return fail("emulated.Unload", in.barcode, cause)
	}
	// How long the rewind takes depends on what was moved since the load.
	media, moved := d.library.mediaOf(in.barcode), int64(0)
	if t := d.loaded; t != nil {
		if err := t.flush(); err != nil {
			return err
		}
		media, moved = t.cartridge.media, t.counters.BytesRead+t.counters.BytesWritten
		if err := d.close(); err != nil {
			return err
		}
	}
	d.see(func(s *driveState) { s.ready, s.status = false, device.Status{} })
	if !in.ejected {
		d.busy(media.Unloading(moved))
	}
	d.see(func(s *driveState) { s.ejected = true })
	return nil
}

// close writes what is in the buffer and closes the cartridge, if one is
// loaded. It takes no time. The caller has the token.
func (d *drive) close() error {
	t := d.loaded
	if t == nil {
		return nil
	}
	// An error keeps nothing open: what is lost is lost.
	err := t.cartridge.commit()
	t.account()
	if e := t.cartridge.saveAttributes(); err == nil && e != nil {
		err = errs.Wrap(e, "emulated.Unload", t.cartridge.barcode)
	}
	t.cartridge.close()
	t.ended, d.loaded = true, nil
	return err
}

// powerCut loses what was not flushed. The cartridge stays in the drive, and
// must be loaded again. The caller has the token.
func (d *drive) powerCut() {
	t := d.loaded
	if t == nil {
		return
	}
	t.cartridge.lose()
	t.cartridge.close()
	t.ended, d.loaded = true, nil
	// A drive whose power comes back loads the cartridge again from the start.
	d.see(func(s *driveState) { s.ready, s.readyAt, s.status = false, 0, device.Status{} })
}
