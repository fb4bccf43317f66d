package meter

import (
	"context"
	"io"
	"sort"
	"strings"
	"time"

	"hemera/words/errs"
)

// Point is a value at a time: W, or J since the first reading of a counter.
type Point struct {
	At    time.Time
	Value float64
}

// About describes what a meter measures, and how well.
type About struct {
	Name       string        `json:"name"`       // as the user wrote it, without secrets; unique in a run
	Covers     string        `json:"covers"`     // which parts of which machine
	Resolution string        `json:"resolution"` // of the value and in time, in words
	Every      time.Duration `json:"every_ns"`   // interval between new values
	Counter    bool          `json:"counter"`    // values are J since the first reading; otherwise W
	Estimate   bool          `json:"estimate"`   // computed from a model or from other quantities, not measured
}

// Meter reads one device.
type Meter interface {
	// About describes the meter. It is available before the first reading.
	About() About
	// Read blocks until the device answers. It fails with Unavailable if it does not, and with Invalid if its answer is
	// not understood.
	Read(ctx context.Context) (Point, error)
}

// Recorded is a meter that another program reads. All its values are read at the end, and it is not sampled.
type Recorded interface {
	Meter
	// Points returns all recorded values in the order of time.
	Points() ([]Point, error)
}

// Options has the places and logins of meters.
type Options struct {
	Root  string // of the files of the kernel; "/" if it is ""
	Login Login  // of controllers on the network
	Run   Runner // runs a program; the default does
	// Shift is added to the times of recordings: this machine's clock minus that of the recording machine.
	Shift time.Duration
	Now   func() time.Time
}

// complete fills in defaults.
func (o Options) complete() Options {
	// The defaults are those of the machine itself; tests use others.
	if o.Root == "" {
		o.Root = "/"
	}
	if o.Run == nil {
		o.Run = run
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// opener makes a meter from the text after the colon.
type opener func(rest string, o Options) (Meter, error)

// openers returns the meters by their word.
func openers() map[string]opener {
	return map[string]opener{
		"rapl": openRAPL, "hwmon": openHwmon, "ipmi": openIPMI, "csv": openRecording, "model": openModel,
	}
}

// Words returns the words that [Open] accepts, sorted.
func Words() []string {
	// Maps have no order, and users compare lists.
	words := make([]string, 0, len(openers()))
	for w := range openers() {
		words = append(words, w)
	}
	sort.Strings(words)
	return words
}

// Open makes a meter of what a user wrote: a word, and for most a colon and where the device is. Invalid if it is not
// understood, NotFound if this machine has no such meter. A controller is not asked yet.
func Open(spec string, o Options) (Meter, error) {
	word, rest, _ := strings.Cut(spec, ":")
	// The text after the first colon may have colons of its own, as addresses do.
	open, ok := openers()[word]
	if !ok {
		return nil, errs.New(errs.Invalid, "meter.Open", spec, "there is no such meter").WithRemedy("the meters are " + strings.Join(Words(), ", "))
	}
	return open(rest, o.complete())
}

// Close releases the resources of a meter, if it has any.
func Close(m Meter) {
	// Most have none. A connection that does not close cleanly is useless anyway.
	if c, ok := m.(io.Closer); ok {
		_ = c.Close()
	}
}

// Found is a meter that a machine may have without an address, in the form of [Open], and the reason if it cannot be
// used.
type Found struct {
	Spec  string
	About About
	Err   error // nil if the meter returned a value
}

// tryTime bounds the first reading of a meter that may not exist.
const tryTime = 10 * time.Second

// Try reads a meter once and returns the error.
func Try(ctx context.Context, m Meter) error {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	_, err := m.Read(ctx)
	return err
}

// Find tries the meters that a machine may have, the ones that cover most first, with one reading each.
func Find(ctx context.Context, o Options) []Found {
	var all []Found
	for _, spec := range []string{"ipmi", "hwmon", "rapl:psys", "rapl"} { // from what covers most
		// A failure does not prevent the other tries.
		f := Found{Spec: spec}
		m, err := Open(spec, o)
		if err == nil {
			f.About = m.About()
			err = Try(ctx, m)
			Close(m)
		}
		f.Err = err
		all = append(all, f)
	}
	return all
}
