package emulated

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"hemera/tape/device"
	"hemera/words/errs"
)

// Plan makes devices fail. It is set by [Library.SetPlan], or read from
// faults.json in the library's directory, again whenever that file changes:
//
//	{"faults": [{"op": "read", "tape": "V00001L9", "object": 17, "fail": "medium", "count": 1}]}
type Plan struct {
	Faults []Fault `json:"faults"`
}

// Fault is one thing that goes wrong. It fits an operation when all that it
// names fits; empty fields fit everything.
type Fault struct {
	Op     string  `json:"op,omitempty"`     // read, write, mark, flush, locate, load, unload, or move of the arm
	Drive  string  `json:"drive,omitempty"`  // the name or serial number of a drive
	Tape   string  `json:"tape,omitempty"`   // a barcode
	Object *uint64 `json:"object,omitempty"` // the operation is on this object, or a locate goes to it
	After  int     `json:"after,omitempty"`  // this many operations that fit are spared
	Count  int     `json:"count,omitempty"`  // this many operations fail; 0 for all
	// Fail is the kind of failure: medium, hardware, not-ready, end (the tape ends here), corrupt (a bit flips between
	// host and drive), power (the drive loses its power, and what was not flushed), hang (the operation goes on when this
	// fault has left the plan), or "" when only Alert is wanted.
	Fail string `json:"fail,omitempty"`
	// Alert is a TapeAlert flag, 1 to 64, that is raised.
	Alert int `json:"alert,omitempty"`
	// Seconds more that the operation takes.
	Seconds float64 `json:"seconds,omitempty"`
}

// FaultsName is the file of a plan in a library's directory. HitsName is the
// list of operations that faults have hit, a line of JSON for each: a plan
// alone does not say what was met.
const (
	FaultsName = "faults.json"
	HitsName   = "faults.log"
)

// happening is an operation that a fault may fit.
type happening struct {
	op, drive, serial, tape string
	object                  uint64
}

// fits reports whether the fault names the operation, but for its counts.
func (f Fault) fits(h happening) bool {
	return (f.Op == "" || f.Op == h.op) && (f.Drive == "" || f.Drive == h.drive || f.Drive == h.serial) &&
		(f.Tape == "" || f.Tape == h.tape) && (f.Object == nil || *f.Object == h.object)
}

// check says what is wrong with a fault.
func (f Fault) check() error {
	switch f.Op {
	case "", "read", "write", "mark", "flush", "locate", "load", "unload", "move":
	default:
		return errs.New(errs.Invalid, "emulated.SetPlan", f.Op, "no such operation").WithRemedy("Use read, write, mark, flush, locate, load, unload or move.")
	}
	switch f.Fail {
	case "", "medium", "hardware", "not-ready", "end", "corrupt", "power", "hang":
	default:
		return errs.New(errs.Invalid, "emulated.SetPlan", f.Fail, "no such failure").WithRemedy("Use medium, hardware, not-ready, end, corrupt, power or hang.")
	}
	if f.Alert < 0 || f.Alert > 64 || f.After < 0 || f.Count < 0 || f.Seconds < 0 {
		return errs.New(errs.Invalid, "emulated.SetPlan", fmt.Sprintf("%+v", f), "numbers are not negative, and an alert is 1 to 64")
	}
	return nil
}

// faults is the plan of a library and how far it has come.
type faults struct {
	file string

	mu      sync.Mutex
	plan    Plan
	seen    []int // operations that fitted, by fault
	changed time.Time
	size    int64
	broken  error // why the file cannot be used
}

// set replaces the plan.
func (f *faults) set(p Plan) error {
	for _, one := range p.Faults {
		if err := one.check(); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	// Counting begins again.
	f.plan, f.seen = p, make([]int, len(p.Faults))
	return nil
}

// refresh reads the file if it has changed. A file that went away ends its
// faults.
func (f *faults) refresh() error {
	info, err := os.Stat(f.file)
	var changed time.Time
	var size int64
	if err == nil {
		changed, size = info.ModTime(), info.Size()
	}
	f.mu.Lock()
	// Time and size together tell of a change. An editor that keeps both is not
	// known.
	same, broken := changed.Equal(f.changed) && size == f.size, f.broken
	f.changed, f.size = changed, size
	f.mu.Unlock()
	if same {
		return broken
	}
	p, err := readPlan(f.file)
	if err == nil {
		err = f.set(p)
	}
	f.mu.Lock()
	f.broken = err
	f.mu.Unlock()
	return err
}

// readPlan reads a file; one that is not there has no faults.
func readPlan(name string) (p Plan, err error) {
	// A plan is small: it is read as a whole.
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return p, errs.As(err, errs.Invalid, "emulated.SetPlan", filepath.Base(name))
	}
	return p, nil
}

// note adds an operation that was hit to the list. The operation fails as
// planned, whether the list takes it or not.
func (f *faults) note(h happening, how string) {
	line, err := json.Marshal(hit{time.Now().UTC(), h.op, h.drive, h.tape, h.object, how})
	if err != nil {
		return
	}
	// Opened for each: hits are few, and a test may take the list away.
	list, err := os.OpenFile(filepath.Join(filepath.Dir(f.file), HitsName), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return
	}
	defer list.Close()
	_, _ = list.Write(append(line, '\n'))
}

// hit is a line of the list.
type hit struct {
	Time   time.Time `json:"time"`
	Op     string    `json:"op"`
	Drive  string    `json:"drive,omitempty"`
	Tape   string    `json:"tape,omitempty"`
	Object uint64    `json:"object"`
	Fail   string    `json:"fail"`
}

// outcome is the effect of faults on one operation.
type outcome struct {
	fail   string
	fault  Fault // the one that fail is of
	alerts []int
	extra  time.Duration
}

// strike returns what happens to an operation, and counts it. An operation
// that hangs returns when its fault has left the plan, and goes on then;
// device.ErrNotReady when one of the contexts ends before.
func (f *faults) strike(ctx, library context.Context, h happening) (o outcome, err error) {
	if err := f.refresh(); err != nil {
		return o, err
	}
	o = f.count(h)
	// A fault that changes the operation, and does not fail it, is a hit too.
	if o.fail != "" && f.file != "" {
		f.note(h, o.fail)
	}
	if o.fail == "hang" {
		if err := f.hang(ctx, library, o.fault); err != nil {
			return o, err
		}
		o.fail = ""
	}
	return o, nil
}

// hangLook is the interval at which an operation that hangs looks at the plan.
const hangLook = 20 * time.Millisecond

// hang waits until the plan does not have a fault any more.
func (f *faults) hang(ctx, library context.Context, one Fault) error {
	// A plan in a file changes without a call, so that it is looked at.
	look := time.NewTicker(hangLook)
	defer look.Stop()
	for f.has(one) {
		select {
		case <-look.C:
		case <-ctx.Done():
			return fail("emulated.Hang", one.Op, device.ErrNotReady)
		case <-library.Done():
			return fail("emulated.Hang", one.Op, device.ErrNotReady)
		}
		if err := f.refresh(); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether a fault is in the plan.
func (f *faults) has(one Fault) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	// Equal in all fields: a plan that is read again has other pointers.
	return slices.ContainsFunc(f.plan.Faults, func(other Fault) bool { return reflect.DeepEqual(one, other) })
}

// count counts an operation at all faults that fit, and returns what they do.
func (f *faults) count(h happening) (o outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	// All faults that fit count the operation, also when another one makes it
	// fail.
	for i, one := range f.plan.Faults {
		if !one.fits(h) {
			continue
		}
		f.seen[i]++
		if f.seen[i] <= one.After || one.Count > 0 && f.seen[i] > one.After+one.Count {
			continue
		}
		if o.fail == "" { // the first one wins
			o.fail, o.fault = one.Fail, one
		}
		if one.Alert > 0 {
			o.alerts = append(o.alerts, one.Alert)
		}
		o.extra += time.Duration(one.Seconds * float64(time.Second))
	}
	return o
}

// failure returns the error of a fault; nil for those that change the
// operation instead.
func (o outcome) failure() error {
	switch o.fail {
	case "medium":
		return device.ErrMedium
	case "hardware":
		return device.ErrHardware
	case "not-ready", "power":
		return device.ErrNotReady
	}
	return nil
}

// fail gives an error of tape/device its operation, its subject and its
// kind.
func fail(op, subject string, cause error) error {
	// A device that does not do what it should, unless the cause says better.
	kind := errs.IO
	switch cause {
	case device.ErrNotReady:
		kind = errs.Unavailable
	case device.ErrEndOfTape:
		kind = errs.NoSpace
	case device.ErrWriteProtected:
		kind = errs.ReadOnly
	case device.ErrProtection:
		kind = errs.Corrupt
	case device.ErrEncrypted:
		kind = errs.Denied
	case device.ErrNoMedium, device.ErrEmpty:
		kind = errs.NotFound
	case device.ErrFull:
		kind = errs.Exists
	}
	return errs.As(cause, kind, op, subject)
}
