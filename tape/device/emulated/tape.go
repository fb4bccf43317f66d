package emulated

import (
	"context"
	"fmt"

	"hemera/tape/device"
	"hemera/tape/timing"
	"hemera/words/errs"
)

// loaded is the Tape of a loaded cartridge. The holder of the drive's token
// uses it.
type loaded struct {
	drive     *drive
	cartridge *cartridge
	stream    *timing.Stream
	before    timing.Counts
	ended     bool // unloaded, loaded again, or without power

	object   uint64 // the next one
	dirty    bool   // written since the last flush
	warned   bool   // the early warning was given
	endsAt   int64  // where a fault ends the tape, 0 for nowhere
	counters device.Counters
	saved    device.Counters // what the memory chip has of them

	vault                     vault // encrypts
	protectRead, protectWrite bool  // logical block protection
}

// warningBytes returns the bytes before the end of a tape at which the drive warns: 1 % of it, at most 4 GiB; an
// estimate, drives differ.
func warningBytes(capacity int64) int64 { return min(capacity/100, 4<<30) }

// begin starts an operation: it acquires the drive and asks the plan of
// faults. After success the caller releases the drive.
func (t *loaded) begin(ctx context.Context, op string, object uint64) (o outcome, err error) {
	d := t.drive
	if err := d.acquire(ctx); err != nil {
		return o, errs.Wrap(err, "emulated.Tape", d.identity.Device)
	}
	// The handle is of an earlier load.
	if t.ended {
		d.release()
		return o, fail("emulated.Tape", d.identity.Device, device.ErrNotReady)
	}
	if o, err = d.strike(ctx, op, t.cartridge.barcode, object); err != nil {
		d.release()
		return o, err
	}
	if cause := o.failure(); cause != nil && o.fail != "medium" { // a bad block is for the operation to count
		d.release()
		return o, fail("emulated.Tape", t.where(object), cause)
	}
	return o, nil
}

// where names a place for people.
func (t *loaded) where(object uint64) string {
	return fmt.Sprintf("%s object %d in %s", t.cartridge.barcode, object, t.drive.identity.Device)
}

// show has Status show where the tape stands.
func (t *loaded) show() {
	s := device.Status{
		WriteProtected: t.cartridge.attributes.WriteProtected, BeginOfTape: t.object == 0,
		EndOfData: t.object == t.cartridge.count(), Density: t.cartridge.media.Density,
	}
	t.drive.see(func(d *driveState) { d.status = s })
}

// ReadBlock reads one block.
func (t *loaded) ReadBlock(ctx context.Context, buf []byte) (n int, err error) {
	o, err := t.begin(ctx, "read", t.object)
	if err != nil {
		return 0, err
	}
	defer t.drive.release()
	if err := t.flush(); err != nil { // what was written comes first
		return 0, err
	}
	if t.object >= t.cartridge.count() {
		return 0, device.ErrEndOfData
	}
	r, err := t.cartridge.record(t.object)
	if err != nil {
		return 0, err
	}
	// The drive reads ahead up to the end of data.
	left := int64(t.cartridge.end().at - r.next().at)
	t.drive.busy(t.stream.Read(t.drive.time(), int64(r.length), left))
	if r.flags&flagEncrypted != 0 && !t.vault.fits(r.key) {
		return 0, t.locked(r, t.object)
	}
	// From here on the tape stands behind the object, whatever comes of it.
	t.object++
	defer t.show()
	switch {
	case r.kind == kindMark:
		return 0, device.ErrFileMark
	case o.fail == "medium":
		t.counters.ErrorsRead++
		t.drive.raise(alertReadFailure)
		return 0, fail("emulated.Read", t.where(t.object-1), device.ErrMedium)
	case int(r.length) > len(buf):
		return 0, device.ErrBlockTooBig
	}
	if err := t.fetch(r, buf[:r.length]); err != nil {
		t.drive.raise(alertReadFailure)
		return 0, err
	}
	if err := t.transfer(o, buf[:r.length], t.protectRead); err != nil {
		return 0, err
	}
	t.counters.BytesRead += int64(r.length)
	t.counters.BlocksRead++
	return int(r.length), nil
}

// TapeAlert flags that are raised without a plan.
const (
	alertReadFailure  = 5
	alertWriteFailure = 6
	alertProtected    = 9
)

// WriteBlock writes one block into the buffer of the drive.
func (t *loaded) WriteBlock(ctx context.Context, b []byte) error {
	if len(b) == 0 || len(b) > device.BlockMax {
		return errs.New(errs.Invalid, "emulated.Write", t.drive.identity.Device, fmt.Sprintf("a block has 1 to %d bytes, not %d", device.BlockMax, len(b)))
	}
	o, err := t.begin(ctx, "write", t.object)
	if err != nil {
		return err
	}
	defer t.drive.release()
	if err := t.writable(o); err != nil {
		return err
	}
	if err := t.room(o, int64(len(b))); err != nil {
		return err
	}
	if o.fail == "corrupt" { // on the way to the drive
		b = append([]byte(nil), b...)
		if err := t.transfer(o, b, t.protectWrite); err != nil {
			return err
		}
	}
	t.drive.busy(t.stream.Write(t.drive.time(), int64(len(b))))
	if err := t.store(b); err != nil {
		return err
	}
	t.counters.BytesWritten += int64(len(b))
	t.counters.BlocksWritten++
	return nil
}

// writable prepares writing at the place where the tape stands: what follows
// is removed.
func (t *loaded) writable(o outcome) error {
	if t.cartridge.attributes.WriteProtected {
		t.drive.raise(alertProtected)
		return fail("emulated.Write", t.where(t.object), device.ErrWriteProtected)
	}
	if o.fail == "medium" {
		t.counters.ErrorsWritten++
		t.drive.raise(alertWriteFailure)
		return fail("emulated.Write", t.where(t.object), device.ErrMedium)
	}
	if t.object < t.cartridge.count() {
		return t.cartridge.truncate(t.object)
	}
	return nil
}

// room reports the early warning once, and the end of the tape always.
func (t *loaded) room(o outcome, n int64) error {
	// Writing is always at the end: what followed was removed.
	at := int64(t.cartridge.end().at)
	// The fault says where; the tape remembers until it is unloaded.
	if o.fail == "end" && t.endsAt == 0 {
		t.endsAt = max(at, 1)
	}
	capacity := t.cartridge.media.Capacity
	if t.endsAt > 0 {
		capacity = min(capacity, t.endsAt)
	}
	early := !t.warned && at+n > capacity-warningBytes(capacity)
	if at+n > capacity || early {
		t.warned = true
		return fail("emulated.Write", t.where(t.object), device.ErrEndOfTape)
	}
	return nil
}

// WriteMarks writes filemarks.
func (t *loaded) WriteMarks(ctx context.Context, n int, immediate bool) error {
	if n < 0 {
		return errs.New(errs.Invalid, "emulated.WriteMarks", t.drive.identity.Device, "the number of filemarks is negative")
	}
	o, err := t.begin(ctx, "mark", t.object)
	if err != nil {
		return err
	}
	defer t.drive.release()
	if n > 0 {
		if err := t.writable(o); err != nil {
			return err
		}
	}
	// Marks have no length here, and no room is asked for: they fit behind the
	// warning.
	for range n {
		if err := t.cartridge.append(record{kind: kindMark}, nil); err != nil {
			return err
		}
		t.object++
		t.dirty = true
	}
	t.show()
	if immediate {
		return nil
	}
	return t.flush()
}

// Flush makes everything durable.
func (t *loaded) Flush(ctx context.Context) error {
	o, err := t.begin(ctx, "flush", t.object)
	if err != nil {
		return err
	}
	defer t.drive.release()
	if o.fail == "medium" {
		// The drive cannot write its buffer. What follows the last flush is lost,
		// and the place with it.
		t.cartridge.lose()
		t.object, t.dirty = t.cartridge.count(), false
		t.drive.raise(alertWriteFailure)
		t.show()
		return fail("emulated.Flush", t.where(t.object), device.ErrMedium)
	}
	return t.flush()
}

// flush writes the buffer. The caller has the token.
func (t *loaded) flush() error {
	if !t.dirty {
		return nil
	}
	// The model says how long the buffer takes; the files below take their own
	// time.
	t.drive.busy(t.stream.Flush(t.drive.time()))
	if err := t.cartridge.commit(); err != nil {
		return err
	}
	t.dirty = false
	return nil
}

// account adds the counters to those of the memory chip.
func (t *loaded) account() {
	a := &t.cartridge.attributes
	a.BytesRead += t.counters.BytesRead - t.saved.BytesRead
	a.BytesWritten += t.counters.BytesWritten - t.saved.BytesWritten
	t.saved = t.counters
}
