package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"hemera/measure/host"
	"hemera/measure/result"
	"hemera/measure/tool"
	"hemera/words/errs"
)

// run is one run of the level. It belongs to the goroutine of Run.
type run struct {
	o      *Options
	rec    *result.Recorder
	fio    tool.Program
	raw    io.Writer
	places []place
	before map[string]int64 // read-ahead, in bytes, of devices before it was changed
}

// Run measures the targets. When it returns, also when ctx ends, its files are removed and settings are restored. Without
// fio everything is skipped. It fails with Invalid for unusable options, and with NoSpace if files do not fit.
func Run(ctx context.Context, o Options, rec *result.Recorder) (err error) {
	if err := o.Check(); err != nil {
		return err
	}
	fio, err := tool.Find(ctx, "fio", "fio")
	if errors.Is(err, errs.NotFound) {
		rec.Skip("disks", "fio is not installed", errs.RemedyOf(err))
		return nil
	}
	if err != nil {
		return err
	}
	rec.Tool(fio.Name, fio.Version)
	raw, err := rec.Raw(rawName)
	if err != nil {
		return err
	}
	// From here on clean removes everything.
	r := &run{o: &o, rec: rec, fio: fio, raw: raw, before: map[string]int64{}}
	defer func() { err = errors.Join(err, r.clean(), raw.Close()) }()
	if err := r.prepare(ctx); err != nil {
		return err
	}
	r.describe()
	return r.steps(ctx)
}

// prepare finds the places and writes the files to read.
func (r *run) prepare(ctx context.Context) error {
	for _, target := range r.o.Targets {
		r.rec.Step(0, 1, "%s: files to read are written", target)
		// The next target needs space too, so each is filled before the next is searched.
		places, err := find(r.o, target, r.rec)
		if err != nil {
			return err
		}
		r.places = append(r.places, r.named(places)...)
		for _, p := range places {
			if p.isDevice() {
				continue
			}
			if _, err := r.fio.Run(ctx, p.dir, layOut(p.dir, p.size)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// named gives a second target on one disk its own label, and notes for the reader that they share the disk's rate.
func (r *run) named(places []place) []place {
	for i, p := range places {
		same := 0
		for _, have := range r.places {
			if have.block == p.block && have.at() == p.at() && p.block != "" {
				same++
			}
		}
		if same > 0 {
			places[i].disk = fmt.Sprintf("%s-%d", p.disk, same+1)
			r.rec.Note("Several targets are on disk %s: together they do not scale.", p.block)
		}
	}
	return places
}

// describe records the conditions of the run.
func (r *run) describe() {
	r.rec.Set("targets", strings.Join(r.o.Targets, ","))
	r.rec.Set("loads", strings.Join(r.o.Loads, ","))
	r.rec.Set("size", strconv.FormatInt(r.o.Size, 10))
	r.rec.Set("for", r.o.For.String())
	r.rec.Set("iterations", strconv.Itoa(r.o.Iterations))
	// The sweep changes the read-ahead; all other steps use this value.
	for _, p := range r.places {
		if p.block != "" {
			r.rec.Set("read_ahead_"+p.block, strconv.FormatInt(host.ReadDevice("/", p.block).ReadAhead, 10))
		}
	}
	r.rec.Note("Caches of controllers and hypervisors are part of what was measured. A larger --size than theirs shows what is behind.")
	for _, f := range figures(r.o, r.places) {
		r.rec.Figure(f)
	}
}

// steps runs all steps in each iteration.
func (r *run) steps(ctx context.Context) error {
	steps := plan(r.o, r.places)
	for i := range r.o.Iterations {
		for k, s := range steps {
			l := s.labels()
			r.rec.Step(i*len(steps)+k, r.o.Iterations*len(steps), "%s %s: %s %s, %s streams%s", l["disk"], l["at"], s.load, s.mode, l["streams"], aside(s))
			if err := r.step(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// aside returns the part of a progress line that only some steps have.
func aside(s step) string {
	// The ramp, which is most of the steps, has none.
	switch s.test {
	case testScaling:
		return fmt.Sprintf(" on each of %d disks", len(s.places))
	case testReadAhead:
		return fmt.Sprintf(", read-ahead %d KiB", s.readAhead>>10)
	}
	return ""
}

// rawName is the name of the raw output.
const rawName = "fio.json"

// step runs one step and adds its results.
func (r *run) step(ctx context.Context, s step) error {
	if err := r.setReadAhead(s); err != nil {
		return err
	}
	// In other tests the statistics would repeat fio's values.
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var readings <-chan []reading
	if s.test == testReadAhead {
		readings = watch(watching, "/", s.places[0].block)
	}
	end := r.rec.Iteration(s.labels())
	out, err := r.fio.Run(ctx, s.places[0].dir, s.args(r.o.Size, r.o.For)...)
	stop()
	// The report of a failed run is kept too.
	if _, rawErr := r.raw.Write(out); err == nil && rawErr != nil {
		err = errs.Wrap(rawErr, "disk.Run", "raw output")
	}
	if err != nil {
		return err
	}
	got, err := parse(out, r.fio.Version, s.load)
	if err != nil {
		return tool.Kept(err, r.rec.RawPath(rawName))
	}
	end(got.read.bytes+got.written.bytes, got.read.ops+got.written.ops)
	r.add(s, got)
	if s.readAhead > 0 && host.ReadDevice("/", s.places[0].block).ReadAhead != s.readAhead {
		r.rec.Note("Another program changed the read-ahead of %s during the sweep.", s.places[0].block)
	}
	if readings != nil {
		r.addBlock(s, <-readings, got.took)
	}
	return r.restore() // at once, so that a killed run rarely leaves a changed setting
}

// setReadAhead sets the read-ahead of the step, and records the value before.
func (r *run) setReadAhead(s step) error {
	if s.readAhead == 0 {
		return nil
	}
	// Before the change, so that clean restores it in every case.
	name := s.places[0].block
	r.before[name] = host.ReadDevice("/", name).ReadAhead
	return host.SetReadAhead("/", name, s.readAhead)
}

// restore restores the read-ahead of all devices.
func (r *run) restore() (err error) {
	for name, bytes := range r.before {
		if cause := host.SetReadAhead("/", name, bytes); cause != nil {
			err = errors.Join(err, cause)
			continue // clean tries again
		}
		delete(r.before, name)
	}
	return err
}

// clean restores the settings and removes the files.
func (r *run) clean() error {
	err := r.restore()
	for _, p := range r.places {
		if p.dir != "" {
			err = errors.Join(err, errs.Wrap(os.RemoveAll(p.dir), "disk.Clean", p.dir))
		}
	}
	return err
}

// add adds the measures of a step.
func (r *run) add(s step, got outcome) {
	labels := s.labels()
	put := func(name, unit string, better result.Better, value float64) {
		r.rec.Add(result.Measure{Name: name, Labels: labels, Unit: unit, Better: better, Samples: []float64{value}})
	}
	flow := got.read
	if s.load == Write || s.load == RandWrite {
		flow = got.written
	}
	// Users compare bytes of sequential loads and requests of random ones.
	bytes := got.read.bytes + got.written.bytes
	switch s.load {
	case RandRead, RandWrite:
		put("rate", "1/s", result.Higher, flow.opRate)
	case Both:
		put("throughput", "B/s", result.Higher, got.read.rate+got.written.rate)
		put("throughput_read", "B/s", result.Higher, got.read.rate)
		put("throughput_write", "B/s", result.Higher, got.written.rate)
	default:
		put("throughput", "B/s", result.Higher, flow.rate)
	}
	// Two directions at once have no common latency.
	if s.load != Both {
		put("latency_p50", "s", result.Lower, flow.p50)
		if result.Tells(flow.ops, 99) {
			put("latency_p99", "s", result.Lower, flow.p99)
		}
	}
	if bytes > 0 && got.cpu > 0 {
		put("cpu_per_gb", "s", result.Lower, got.cpu.Seconds()*1e9/float64(bytes))
	}
}

// addBlock adds the kernel's counts of the device: the columns of source E's table.
func (r *run) addBlock(s step, list []reading, took time.Duration) {
	// With a small file a fast disk is ready between two readings.
	b, ok := busy(list, took)
	if !ok {
		r.rec.Note("Some steps of the read-ahead sweep were too short for the kernel's statistics: choose a larger --size.")
		return
	}
	labels := s.labels()
	for _, m := range []struct {
		name, unit string
		value      float64
	}{
		{"device_requests", "1/s", b.Reads}, {"device_throughput", "B/s", b.ReadRate}, {"device_request_size", "B", b.ReadSize},
		{"device_queue", "", b.Queue}, {"device_wait", "s", b.ReadWait}, {"device_utilisation", "1", b.Utilisation},
	} {
		r.rec.Add(result.Measure{Name: m.name, Labels: labels, Unit: m.unit, Samples: []float64{m.value}})
	}
}
