package emulated

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"hemera/tape/device"
	"hemera/tape/timing"
	"hemera/words/errs"
)

// Options of a library that is opened. The zero value waits for nothing and
// keeps all data.
type Options struct {
	// TimeScale is the duration of a device's second, in seconds: 1 is real time, 0 does not wait.
	TimeScale float64
	// Clock replaces the one of TimeScale, for tests.
	Clock Clock
	// Discard throws the data of blocks from 4 KiB on away; they read as zeros.
	// It lets benchmarks write more than the disk below holds or takes.
	Discard bool
	// NoSync leaves out syncs: what was flushed survives the end of the process,
	// and not that of the machine.
	NoSync bool
}

// Library is an open library. Its methods may be called concurrently.
type Library struct {
	dir     string
	options Options
	lock    *os.File
	clock   Clock
	stop    context.CancelFunc // ends all waits
	faults  faults
	arm     *arm
	drives  []*drive
	closed  atomic.Bool

	mu     sync.Mutex
	layout layout // its Elements; the rest never changes
}

// Open opens the library in a directory. errs.NotFound if there is none,
// errs.Locked if another process has it open.
func Open(dir string, o Options) (l *Library, err error) {
	// The lock comes first, so that nobody reads what another process is
	// changing.
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, noLibrary(err, dir)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		busy := &errs.Error{Kind: errs.Locked, Op: "emulated.Open", Subject: dir, Text: "another process has this library open", Cause: err}
		return nil, busy.WithRemedy("End the other process first.")
	}
	// Without this file the directory is something else.
	b, err := os.ReadFile(filepath.Join(dir, layoutName))
	if err != nil {
		lock.Close()
		return nil, noLibrary(err, dir)
	}
	l = &Library{dir: dir, options: o, lock: lock, clock: o.Clock, faults: faults{file: filepath.Join(dir, FaultsName)}}
	if err := json.Unmarshal(b, &l.layout); err != nil || l.layout.Format != 1 {
		lock.Close()
		return nil, errs.New(errs.Corrupt, "emulated.Open", dir, "library.json is not one of format 1").WithRemedy("Create a library in another directory.")
	}
	if l.clock == nil {
		l.clock = NewClock(o.TimeScale)
	}
	// Operations do not end with the contexts of their callers, but with the
	// library.
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.arm = &arm{machine: newMachine(ctx, l.clock), library: l}
	for _, h := range l.layout.Elements {
		if device.ElementKind(h.Kind) == device.ElementDrive {
			l.drives = append(l.drives, newDrive(ctx, l, h))
		}
	}
	return l, nil
}

// noLibrary says that a directory has no library.
func noLibrary(err error, dir string) error {
	e := &errs.Error{Kind: errs.KindOf(err), Op: "emulated.Open", Subject: dir, Cause: err}
	return e.WithRemedy("Create a library there first.")
}

// Changer returns the robot.
func (l *Library) Changer() device.Changer { return l.arm }

// Drives returns the drives in the order of their addresses.
func (l *Library) Drives() (drives []device.Drive) {
	for _, d := range l.drives {
		drives = append(drives, d)
	}
	return drives
}

// SetPlan replaces the plan of faults, until faults.json changes.
func (l *Library) SetPlan(p Plan) error {
	if err := l.faults.refresh(); err != nil { // what is in the file now does not replace the new plan later
		return err
	}
	return l.faults.set(p)
}

// Elapsed returns how long the device that was busy for longest was, waiting
// for the clock included. It waits for operations that run.
func (l *Library) Elapsed() (longest time.Duration) {
	for _, d := range l.devices() {
		d.seize()
		longest = max(longest, d.now)
		d.release()
	}
	return longest
}

// devices lists the arm and all drives.
func (l *Library) devices() []*machine {
	all := []*machine{&l.arm.machine}
	for _, d := range l.drives {
		all = append(all, &d.machine)
	}
	return all
}

// PowerCut cuts the power of all drives: what was not flushed is lost, and
// loaded cartridges must be loaded again.
func (l *Library) PowerCut() {
	for _, d := range l.drives {
		d.seize()
		d.powerCut()
		d.release()
	}
}

// Close ends all waits, waits for operations that run, writes what drives have in
// their buffers, and closes the files. Devices fail with device.ErrNotReady
// afterwards. A second Close does nothing.
func (l *Library) Close() (first error) {
	if l.closed.Swap(true) {
		return nil
	}
	// A caller that waits for time returns now, as if it had passed.
	l.stop()
	for _, d := range l.devices() {
		d.seize()
		defer d.release()
	}
	for _, d := range l.drives {
		if err := d.close(); err != nil && first == nil {
			first = err
		}
	}
	if err := l.lock.Close(); err != nil && first == nil {
		first = err
	}
	return first
}

// SetWriteProtected sets the switch of a cartridge that is not in a drive.
// errs.NotFound if the library does not have it, errs.Conflict if it is in a
// drive.
func (l *Library) SetWriteProtected(barcode string, protected bool) error {
	l.arm.seize() // nothing moves meanwhile
	defer l.arm.release()
	h, ok := l.find(func(h holder) bool { return h.Barcode == barcode && barcode != "" })
	switch {
	case !ok:
		return errs.New(errs.NotFound, "emulated.SetWriteProtected", barcode, "the library does not have this cartridge")
	case device.ElementKind(h.Kind) == device.ElementDrive:
		return errs.New(errs.Conflict, "emulated.SetWriteProtected", barcode, "the cartridge is in a drive").WithRemedy("Move it to a slot first.")
	}
	base := filepath.Join(l.dir, cartridgesName, barcode)
	a, err := readAttributes(base)
	if err != nil {
		return err
	}
	a.WriteProtected = protected
	return errs.Wrap(saveJSON(base+".json", a), "emulated.SetWriteProtected", barcode)
}

// Insert lays a cartridge into a gate that is empty, as a person does. Its
// files are kept if it was here before. errs.NoSpace if all gates are full.
func (l *Library) Insert(barcode string) error {
	if _, _, ok := timing.MediaOfBarcode(barcode); !ok || filepath.Base(barcode) != barcode {
		return errs.New(errs.Invalid, "emulated.Insert", barcode, "the barcode does not name a kind of cartridge").WithRemedy("Use one such as V00001L9.")
	}
	l.arm.seize()
	defer l.arm.release()
	if _, ok := l.find(func(h holder) bool { return h.Barcode == barcode }); ok {
		return errs.New(errs.Exists, "emulated.Insert", barcode, "the library has this cartridge")
	}
	gate, ok := l.find(func(h holder) bool { return device.ElementKind(h.Kind) == device.ElementGate && h.Barcode == "" })
	if !ok {
		return errs.New(errs.NoSpace, "emulated.Insert", barcode, "no gate is empty")
	}
	gate.Barcode = barcode
	return l.replace(gate)
}

// Remove takes the cartridge out of a gate, as a person does, and returns its
// barcode. Its files stay. device.ErrEmpty.
func (l *Library) Remove(address int) (barcode string, err error) {
	l.arm.seize()
	defer l.arm.release()
	gate, ok := l.find(func(h holder) bool { return h.Address == address && device.ElementKind(h.Kind) == device.ElementGate })
	if !ok {
		return "", errs.New(errs.NotFound, "emulated.Remove", fmt.Sprint(address), "no such gate")
	}
	if gate.Barcode == "" {
		return "", fail("emulated.Remove", fmt.Sprint(address), device.ErrEmpty)
	}
	barcode, gate.Barcode = gate.Barcode, ""
	return barcode, l.replace(gate)
}

// find returns the first element that fits.
func (l *Library) find(fits func(holder) bool) (holder, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.layout.Elements, fits)
	if i < 0 {
		return holder{}, false
	}
	return l.layout.Elements[i], true
}

// replace sets elements and saves the library. The caller has the arm's
// token.
func (l *Library) replace(changed ...holder) error {
	l.mu.Lock()
	next := l.layout
	// Readers keep the old list: it is never changed in place.
	next.Elements = slices.Clone(next.Elements)
	l.mu.Unlock()
	for _, h := range changed {
		i := slices.IndexFunc(next.Elements, func(e holder) bool { return e.Address == h.Address })
		next.Elements[i] = h
	}
	// On file before in memory: after an error nothing has moved.
	if err := saveJSON(filepath.Join(l.dir, layoutName), next); err != nil {
		return errs.Wrap(err, "emulated.Move", l.dir)
	}
	l.mu.Lock()
	l.layout.Elements = next.Elements
	l.mu.Unlock()
	return nil
}

// mediaOf returns the kind of a cartridge: that of its barcode, else that of
// the library, with the library's capacity.
func (l *Library) mediaOf(barcode string) timing.Media {
	m, _, ok := timing.MediaOfBarcode(barcode)
	if !ok {
		m, _ = timing.MediaOfName(l.layout.Media)
	}
	return m.WithCapacity(l.layout.Capacity)
}
