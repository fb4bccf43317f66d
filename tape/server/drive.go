package server

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"hemera/tape/device"
	"hemera/tape/volume"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// drive is the loop of one drive. Its goroutine alone calls the device.
type drive struct {
	Drive
	server *Server
	place  int // in the order of the changer
	serial string
	calls  *calls

	// What follows is of the loop.
	loaded    device.Tape    // nil for nothing
	volume    *volume.Volume // of loaded, when its label was verified; may be of an earlier load
	robotTime time.Duration  // since the last session
	loadTime  time.Duration

	mu     sync.Mutex
	shown  machine // as of the last step
	since  time.Time
	object uint64
	figure tapeapi.Session // of the session under way, or the last one
}

// run asks and works until the context ends.
func (d *drive) run(ctx context.Context) {
	var m machine // begins with a probe
	for ctx.Err() == nil {
		d.show(m) // before a pause, so that a report says why the drive rests
		if m.wait > 0 && d.server.o.Sleep(ctx, m.wait) != nil {
			return
		}
		m = d.contained(ctx, m)
	}
}

// contained does a step. A drive whose step panicked is down: nothing that the step knew of drive and tape is used again, and a probe
// finds out what is there. Its mount ends, and other drives do its jobs.
func (d *drive) contained(ctx context.Context, m machine) (next machine) {
	err := d.server.o.Panics.Do("tape.Drive", d.Name, func() error {
		next = d.step(ctx, m)
		return nil
	})
	if err == nil {
		return next
	}
	d.loaded, d.volume = nil, nil
	return m.panicked(d.judge(ctx, err, "work failed in"))
}

// step does what the phase asks for, and tells the machine how it went.
func (d *drive) step(ctx context.Context, m machine) machine {
	switch m.phase {
	case idle:
		return d.ask(ctx, m)
	case fetching:
		err := d.timed(&d.robotTime, func() error { return d.server.robot.fetch(ctx, m.mount.VID, d.serial, d.place) })
		return m.fetched(d.judge(ctx, err, "tape "+string(m.mount.VID)+" could not be fetched for"))
	case loading:
		return m.loaded(d.judge(ctx, d.timed(&d.loadTime, func() error { return d.load(ctx, m.mount.VID) }), "tape "+string(m.mount.VID)+" could not be loaded into"))
	case working:
		return m.worked(d.work(ctx, m.mount))
	case unloading:
		return m.unloaded(d.judge(ctx, d.unload(ctx), "tape "+string(m.vid)+" could not be unloaded from"))
	case ending:
		desk{d, m.mount}.cancel(ctx, m.problem, m.bad)
		return m.ended()
	case down:
		return m.rested()
	}
	vid, err := d.probe(ctx)
	return m.probed(vid, d.judge(ctx, err, "there is no answer from"))
}

// ask waits for what the manager wants.
func (d *drive) ask(ctx context.Context, m machine) machine {
	node, epoch := d.server.lease(ctx)
	if epoch == 0 {
		return m.asked(tapeapi.Mount{}, outcome{fault: askFault})
	}
	// A long poll: the manager answers when there is something to do, or after some seconds.
	next, err := d.server.o.Control.NextMount(ctx, node, epoch, d.Name)
	if err != nil {
		return m.asked(tapeapi.Mount{}, outcome{fault: askFault})
	}
	if next.Kind != tapeapi.MountNothing {
		d.server.o.Log.Info("a tape drive got something to do", "drive", d.Name, "kind", next.Kind, "vid", next.VID, "mount", next.ID, "why", next.Why)
	}
	return m.asked(next, outcome{})
}

// judge says what an error of drive, robot or tape means, and logs it. what is said to people before the name of the drive; which
// call failed, and where on the tape, is in the log.
func (d *drive) judge(ctx context.Context, err error, what string) outcome {
	if err == nil {
		return outcome{}
	}
	if ctx.Err() == nil { // at the end of the server everything fails, which is no news
		d.server.o.Log.Warn("a tape drive failed", "drive", d.Name, "step", what, "error", err, "remedy", errs.RemedyOf(err))
	}
	x := outcomeOf(err)
	x.problem = what + " drive " + d.Name + ": " + device.Cause(err)
	return x
}

// outcomeOf tells faults of a tape from those of a drive. What is not known is the drive's: it is looked at again after a pause.
func outcomeOf(err error) outcome {
	// Of the manager: the drive is as good as before.
	var gone lost
	if errors.As(err, &gone) {
		return outcome{fault: askFault}
	}
	// The tape and the drive are good; the manager has the tape scanned.
	if errors.Is(err, volume.ErrUnscanned) {
		return outcome{fault: tapeFault}
	}
	// What a drive says of the cartridge in it. Another drive would say the same, in most cases.
	for of, cause := range map[error]tapeapi.Cause{
		device.ErrMedium: tapeapi.Unreadable, device.ErrWriteProtected: tapeapi.WriteProtected, device.ErrEncrypted: tapeapi.Encrypted,
	} {
		if errors.Is(err, of) {
			return outcome{fault: tapeFault, bad: true, cause: cause}
		}
	}
	// Before the kinds: a volume gives such an error a kind of its own. A block with a wrong checksum was damaged between host and drive: the
	// next tape would fare no better on that way, and the files of this one are good.
	if errors.Is(err, device.ErrHardware) || errors.Is(err, device.ErrNotReady) || errors.Is(err, device.ErrProtection) {
		return outcome{fault: driveFault}
	}
	switch errs.KindOf(err) {
	// The label, or the end of the tape, is not what the catalogue has: somebody has to look.
	case errs.Corrupt, errs.NotEmpty, errs.ReadOnly, errs.Conflict, errs.Unsupported:
		return outcome{fault: tapeFault, bad: true, cause: tapeapi.Mislabelled}
	// The cartridge is not to be had now; nothing is known of the tape on it.
	case errs.NotFound, errs.Locked, errs.NoSpace, errs.Invalid:
		return outcome{fault: tapeFault}
	}
	return outcome{fault: driveFault}
}

// probe finds out what is in the drive: by the library, and by the drive itself.
func (d *drive) probe(ctx context.Context) (hemera.VID, error) {
	d.loaded = nil
	// The library knows the barcode, the drive only that something is in it.
	vid, err := d.server.robot.inside(ctx, d.serial, d.place)
	if err != nil {
		return "", err
	}
	status, err := d.Status(ctx)
	if err != nil {
		return "", err
	}
	// Some libraries learn of a cartridge that was put in by hand at their next inventory only.
	if vid == "" && status.Loaded {
		vid = unknownTape
	}
	return vid, nil
}

// timed adds what a call takes.
func (d *drive) timed(to *time.Duration, call func() error) error {
	begun := d.server.o.Now()
	err := call()
	*to += d.server.o.Now().Sub(begun)
	return err
}

// load makes the cartridge ready, and learns its kind.
func (d *drive) load(ctx context.Context, vid hemera.VID) (err error) {
	var in device.Tape
	err = d.calls.within(ctx, "load", loadShare*d.calls.bound, func(ctx context.Context) (err error) {
		in, err = d.Load(ctx)
		return err
	})
	if err != nil {
		d.loaded = nil
		return err
	}
	d.loaded = &watched{in: in, calls: d.calls}
	// The tape can be used without: what is wrong with the drive shows in the session.
	if status, err := d.Status(ctx); err == nil {
		d.server.kinds.note(vid, status)
	}
	return nil
}

// unload ejects the cartridge and carries it to a slot. A drive that is empty, or has ejected it already, is no error.
func (d *drive) unload(ctx context.Context) error {
	d.loaded = nil // also if the eject fails: nothing is known of the position then
	if err := d.calls.do(ctx, "unload", d.Unload); err != nil && !errors.Is(err, device.ErrNoMedium) {
		return err
	}
	return d.server.robot.putBack(ctx, d.serial, d.place)
}

// show publishes what the drive does.
func (d *drive) show(m machine) {
	d.mu.Lock()
	// Several phases may look the same from outside, and then the time goes on.
	if d.shown.status() != m.status() {
		d.since = d.server.o.Now()
	}
	d.shown = m
	d.mu.Unlock()
	d.server.wake()
}

// positionEvery is the interval at which a session asks the drive for the position of the tape.
const positionEvery = 5 * time.Second

// progress publishes how a session goes. The goroutine of the tape calls it; shown is when it asked for the position last.
func (d *drive) progress(ctx context.Context, s tapeapi.Session, shown *time.Time) {
	object := uint64(0)
	// A command to the drive, so not for each file of a session with thousands of small ones.
	if now := d.server.o.Now(); now.Sub(*shown) >= positionEvery {
		*shown = now
		if p, err := d.loaded.Position(ctx); err == nil {
			object = p.Object
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.figure = s; object > 0 {
		d.object = object
	}
}

// state returns the drive as reports have it.
func (d *drive) state() tapeapi.DriveState {
	id := d.Identity()
	d.mu.Lock()
	defer d.mu.Unlock()
	s := tapeapi.DriveState{
		Name: d.Name, Model: id.Product, Serial: d.serial, Device: id.Device, Media: d.Media, Reads: d.Reads,
		Status: d.shown.status(), Since: d.since, Problem: cmp.Or(d.calls.quiet("the drive is taken out of work, and its files go to other drives"), d.shown.problem), Object: d.object, Session: d.figure,
	}
	// The manager knows VIDs only; an unknown cartridge is on its way out.
	if d.shown.vid != unknownTape {
		s.VID = d.shown.vid
	}
	if d.shown.phase == working {
		s.Mount = d.shown.mount.ID
	}
	return s
}
