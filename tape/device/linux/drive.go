package linux

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"hemera/tape/device"
	"hemera/tape/device/scsi"
	"hemera/words/errs"
)

// loadMax bounds Load: the first load of a new LTO-9 cartridge takes up to 132 minutes.
const loadMax = 3 * time.Hour

// Drive is a tape drive behind st. It implements device.Drive.
type Drive struct {
	dev      *descriptor
	identity scsi.Device // read once, at the open
	tape     *Tape       // that is loaded, nil without; guarded by the token of dev

	mu    sync.Mutex
	known device.Status // guarded by mu
}

// OpenDrive opens a drive by its device that does not rewind, such as /dev/nst0. It needs no cartridge. The errors say what
// to do about permissions and other owners.
func OpenDrive(ctx context.Context, path string) (*Drive, error) {
	return openDrive(ctx, kernel{}, path)
}

// openDrive does what OpenDrive does, over any kernel.
func openDrive(ctx context.Context, sys syscalls, path string) (*Drive, error) {
	// Without O_NONBLOCK an open would wait for a cartridge.
	d := &Drive{dev: newDescriptor(sys, path, unix.O_RDWR|unix.O_NONBLOCK)}
	// Another kind of device would take the commands in its own way.
	found, err := d.dev.identify(ctx)
	if err == nil && found.Type != scsi.TypeTape {
		err = errs.New(errs.Invalid, "linux.OpenDrive", path, "the device is not a tape drive").WithRemedy("lsscsi -g lists the drives; use the device /dev/nstN.")
	}
	if err != nil {
		_ = d.dev.close()
		return nil, err
	}
	// The descriptor stays open: who has the drive keeps others out.
	d.identity = found
	return d, nil
}

// Identity implements device.Drive.
func (d *Drive) Identity() device.Identity { return d.identity.Identity }

// Close closes the device and leaves the cartridge where it is. What was not flushed may be lost.
func (d *Drive) Close() error {
	if err := d.dev.acquire(context.Background()); err != nil {
		return err
	}
	defer d.dev.release()
	// Without this a close would write a filemark.
	var err error
	if d.tape != nil {
		err = d.tape.settle()
		d.tape.dropKey(context.Background())
		d.tape.end(errClosed())
		d.tape = nil
	}
	return errors.Join(err, d.dev.close())
}

// errClosed returns the error of a Tape that is used after Unload, Close or another Load.
func errClosed() error {
	return errs.New(errs.BadHandle, "linux.Tape", "", "the cartridge was unloaded")
}

// Status implements device.Drive. While a command runs it returns what was known last.
func (d *Drive) Status(ctx context.Context) (device.Status, error) {
	if err := ctx.Err(); err != nil {
		return device.Status{}, err
	}
	// Locate and Unload take minutes; those who look at a drive do not wait for them.
	if !d.dev.turn.TryAcquire() {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.known, nil
	}
	defer d.dev.release()
	s, err := d.look()
	if err != nil {
		return device.Status{}, err
	}
	d.mu.Lock()
	d.known = s
	d.mu.Unlock()
	return s, nil
}

// look asks the drive, without waiting for it to become ready.
func (d *Drive) look() (device.Status, error) {
	err := d.ready()
	switch {
	case errors.Is(err, device.ErrNoMedium):
		return device.Status{}, nil
	case errors.Is(err, device.ErrNotReady): // it loads, or was unloaded and not taken
		return device.Status{Loaded: true}, nil
	case err != nil:
		return device.Status{}, err
	}
	// The header of MODE SENSE has write protection, its block descriptor the density.
	s := device.Status{Loaded: true, Ready: true}
	answer, err := d.once(scsi.ModeSenseHeader())
	if err != nil {
		return s, err
	}
	mode, err := scsi.DecodeMode(answer)
	if err != nil {
		return s, err
	}
	s.WriteProtected, s.Density = mode.WriteProtected, mode.Density
	answer, err = d.once(scsi.ReadPositionShort())
	if err != nil {
		return s, err
	}
	p, err := scsi.DecodePositionShort(answer)
	s.BeginOfTape, s.EndOfData = p.BeginOfTape, d.tape != nil && d.tape.atEnd
	return s, err
}

// ready does one TEST UNIT READY, past unit attentions.
func (d *Drive) ready() error {
	_, err := d.once(scsi.TestUnitReady())
	return err
}

// once does a command and repeats it after unit attentions only. One that means a lost position ends the loaded tape.
func (d *Drive) once(c scsi.Command) ([]byte, error) {
	for attentions := 0; ; attentions++ {
		answer, err := d.dev.once(c)
		s, ok := senseOf(err)
		if !ok || s.Key != scsi.UnitAttention || attentions >= attentionsMax {
			return answer, err
		}
		if lost(s) && d.tape != nil {
			d.tape.end(err)
		}
	}
}

// Load implements device.Drive. A drive that asks for a load command gets one.
func (d *Drive) Load(ctx context.Context) (device.Tape, error) {
	if err := d.dev.acquire(ctx); err != nil {
		return nil, err
	}
	defer d.dev.release()
	// A Tape of an earlier Load ends, without a filemark that nobody asked for. If that fails after a write, this Load tells of the
	// loss, and the next one begins again.
	if old := d.tape; old != nil {
		err := old.settle()
		old.end(errClosed())
		d.tape = nil
		if err != nil && old.dirty {
			return nil, errs.Wrap(err, "linux.Load", d.dev.path)
		}
	}
	if err := d.await(ctx); err != nil {
		return nil, errs.Wrap(err, "linux.Load", d.dev.path)
	}
	// st keeps what it saw at its open: without a cartridge it refuses every read.
	if err := d.dev.close(); err != nil {
		return nil, err
	}
	t := &Tape{drive: d}
	t.monitor.tape, t.encrypter.tape = t, t
	if err := t.prepare(ctx); err != nil {
		return nil, errs.Wrap(err, "linux.Load", d.dev.path)
	}
	d.tape = t
	return t, nil
}

// await waits until the cartridge is ready.
func (d *Drive) await(ctx context.Context) error {
	asked := false
	for waited := time.Duration(0); ; waited += pollEvery {
		err := d.ready()
		if !errors.Is(err, device.ErrNotReady) {
			return err
		}
		// Robots place a cartridge and leave its load to the host in some libraries. It is asked once.
		if s, ok := senseOf(err); ok && s.Key == scsi.NotReady && s.ASC == 0x04 && s.ASCQ == 0x02 && !asked {
			asked = true
			if _, err := d.dev.retry(ctx, scsi.LoadUnload(true), false); err != nil {
				return err
			}
			continue
		}
		if waited >= loadMax || d.dev.pause(ctx, pollEvery) != nil {
			return err
		}
	}
}

// Unload implements device.Drive. The cartridge is ejected also when what was written could not be flushed; the error says
// so then.
func (d *Drive) Unload(ctx context.Context) error {
	if err := d.dev.acquire(ctx); err != nil {
		return err
	}
	defer d.dev.release()
	// An error of the flush is kept, and the cartridge comes out nevertheless: stuck in the drive it helps nobody.
	var flushed error
	if d.tape != nil {
		if d.tape.dirty {
			flushed = d.tape.flush()
		}
		flushed = errors.Join(flushed, d.tape.settle())
		d.tape.dropKey(ctx)
		d.tape.end(errClosed())
		d.tape = nil
	}
	// The command returns when the robot can take the cartridge; st learns of it at its next open.
	_, err := d.dev.retry(ctx, scsi.LoadUnload(false), false)
	return errs.Wrap(errors.Join(flushed, err), "linux.Unload", d.dev.path)
}
