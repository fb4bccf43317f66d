package meter

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hemera/measure/host"
	"hemera/words/errs"
)

// model estimates power from the use of the processors: idle watts, and the rest in proportion to the fraction of time
// that all cores together work. It is no measurement, and ignores disks and network.
type model struct {
	about      About
	idle, peak float64 // W
	root       string
	now        func() time.Time
	last       Point // its Value is in J
	before     host.CPU
}

// openModel parses idle=W,peak=W.
func openModel(rest string, o Options) (Meter, error) {
	// One text for all mistakes: the remedy shows the whole form.
	bad := errs.New(errs.Invalid, "meter.OpenModel", rest, "it takes the watts of an idle and of a busy machine").WithRemedy("write model:idle=40,peak=58")
	watts := map[string]float64{}
	for part := range strings.SplitSeq(rest, ",") {
		key, text, _ := strings.Cut(part, "=")
		w, err := strconv.ParseFloat(strings.TrimSuffix(text, "W"), 64)
		if err != nil || w < 0 || w > wattsMax {
			return nil, bad
		}
		watts[key] = w
	}
	idle, hasIdle := watts["idle"]
	peak, hasPeak := watts["peak"]
	// An unknown key is a typing error.
	if !hasIdle || !hasPeak || len(watts) != 2 || peak < idle {
		return nil, bad
	}
	// A counter, because the fractions are means over the time between readings.
	return &model{idle: idle, peak: peak, root: o.Root, now: o.Now, about: About{
		Name: "model", Counter: true, Estimate: true, Every: 100 * time.Millisecond, Resolution: "a tick of the kernel, 10 ms",
		Covers: fmt.Sprintf("an estimate from the processors of this machine: %g W idle, %g W with all cores busy", idle, peak),
	}}, nil
}

// wattsMax is more than any meter shows.
const wattsMax = 1e9

// About implements Meter.
func (m *model) About() About { return m.about }

// Read implements Meter.
func (m *model) Read(context.Context) (Point, error) {
	// Both clocks are read together: the fractions are those since the last reading.
	cpu, err := host.ReadCPU(m.root)
	if err != nil {
		return Point{}, err
	}
	now := m.now()
	// The first reading begins the counter.
	if !m.last.At.IsZero() {
		watts := modelled(m.idle, m.peak, cpu.All.Since(m.before.All))
		m.last.Value += watts * now.Sub(m.last.At).Seconds()
	}
	m.before, m.last.At = cpu, now
	return m.last, nil
}

// modelled returns the power of a machine whose cores have these shares. The time of other guests does not count.
func modelled(idle, peak float64, s host.Share) float64 {
	return idle + (peak-idle)*min(1, s.Usr+s.Sys+s.IRQ+s.Soft)
}
