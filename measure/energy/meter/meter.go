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

// About says what a meter measures, and how well.
type About struct {
	Name       string        `json:"name"`       // as the user wrote it, without secrets; unique in a run
	Covers     string        `json:"covers"`     // which parts of which machine
	Resolution string        `json:"resolution"` // of the value and in time, in words
	Every      time.Duration `json:"every_ns"`   // how often the value is a new one
	Counter    bool          `json:"counter"`    // values are J since the first reading; otherwise W
	Estimate   bool          `json:"estimate"`   // computed from a model or from other quantities, not measured
}

// Meter reads one device.
type Meter interface {
	// About describes the meter. It is known before the first reading.
	About() About
	// Read blocks for the device. Unavailable if it does not answer, Invalid if its answer makes no sense.
	Read(ctx context.Context) (Point, error)
}

// Recorded is a meter that another program reads. Its values are all in one place at the end, so nobody samples it.
type Recorded interface {
	Meter
	// Points returns everything that was recorded, in the order of time.
	Points() ([]Point, error)
}

// Options say where meters are and how to reach them.
type Options struct {
	Root  string // of the files of the kernel; "/" if it is ""
	Login Login  // of controllers on the network
	Run   Runner // runs a program; the default does
	// Shift is added to the times of recordings: the clock of this machine less that of the one that records.
	Shift time.Duration
	Now   func() time.Time
}

// complete fills what the caller left out.
func (o Options) complete() Options {
	// The defaults are those of the machine itself; tests give others.
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

// opener makes a meter of what stands behind the colon.
type opener func(rest string, o Options) (Meter, error)

// openers are the meters by their word.
func openers() map[string]opener {
	return map[string]opener{
		"rapl": openRAPL, "hwmon": openHwmon, "ipmi": openIPMI, "csv": openRecording, "model": openModel,
	}
}

// Words returns the words that [Open] takes, sorted.
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
	// What stands behind the first colon may have colons of its own: addresses do.
	open, ok := openers()[word]
	if !ok {
		return nil, errs.New(errs.Invalid, "meter.Open", spec, "there is no such meter").WithRemedy("the meters are " + strings.Join(Words(), ", "))
	}
	return open(rest, o.complete())
}

// Close releases what a meter holds, if it holds something.
func Close(m Meter) {
	// Most hold nothing. A connection that does not close in order is of no further use anyway.
	if c, ok := m.(io.Closer); ok {
		_ = c.Close()
	}
}

// Found are the meters of this machine that need no address, as [Open] takes them, best first, and why the others cannot be used.
type Found struct {
	Spec  string
	About About
	Err   error // nil if the meter gave a value
}

// tryTime bounds the first reading of a meter that may not be there.
const tryTime = 10 * time.Second

// Try reads a meter once, and says why it does not answer.
func Try(ctx context.Context, m Meter) error {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	_, err := m.Read(ctx)
	return err
}

// Find tries the meters that a machine may have by itself, by one reading each.
func Find(ctx context.Context, o Options) []Found {
	var all []Found
	for _, spec := range []string{"ipmi", "hwmon", "rapl:psys", "rapl"} { // from what covers most
		// One that fails keeps no other from being tried.
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
