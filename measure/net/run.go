package net

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"hemera/measure/host"
	"hemera/measure/result"
	"hemera/measure/tool"
	"hemera/platform/link"
	"hemera/words/errs"
)

// run is one run of the level. It belongs to the goroutine of Run.
type run struct {
	o           *Options
	rec         *result.Recorder
	iperf       tool.Program
	raw         io.Writer
	done, total int                 // steps, for progress
	kept        map[string][]string // the kept cores, by end and conditions
}

// rawName is the name of the raw output.
const rawName = "iperf3.json"

// path is the path to a far end.
type path struct {
	label   string // of results
	at      netip.AddrPort
	reads   bool    // the far end answers readings
	speed   float64 // B/s of the interface to it; 0 if unknown
	through string  // name of the interface

	answered bool // a step has ended: a later refusal may belong to its end
}

// near returns the label of this machine: on the loopback path it is both ends.
func (p path) near() string {
	if p.label == Loopback {
		return "both"
	}
	return "near"
}

// Run measures each path. Without iperf3 everything is skipped. It fails with Unavailable if a host does not answer, and
// with NotFound if its name is unknown.
func Run(ctx context.Context, o Options, rec *result.Recorder) (err error) {
	if err := o.Check(); err != nil {
		return err
	}
	iperf, err := tool.Find(ctx, "iperf3", "iperf3")
	if errors.Is(err, errs.NotFound) {
		rec.Skip("network", "iperf3 is not installed", errs.RemedyOf(err))
		return nil
	}
	if err != nil {
		return err
	}
	rec.Tool(iperf.Name, iperf.Version)
	raw, err := rec.Raw(rawName)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, errs.Wrap(raw.Close(), "net.Run", "raw output")) }()
	r := &run{o: &o, rec: rec, iperf: iperf, raw: raw, kept: map[string][]string{}}
	r.describe()
	// The loopback is not a network, but it shows the ability of the processors.
	if len(o.Hosts) == 0 {
		return r.loopback(ctx)
	}
	for _, h := range o.Hosts {
		p, err := r.find(ctx, h)
		if err != nil {
			return err
		}
		if err := r.path(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// describe records the conditions of the run.
func (r *run) describe() {
	r.rec.Set("hosts", strings.Join(r.o.Hosts, ","))
	if len(r.o.Cores) > 0 {
		r.rec.Set("cores", fmt.Sprint(r.o.Cores))
	}
	r.rec.Set("for", r.o.For.String())
	r.rec.Set("iterations", strconv.Itoa(r.o.Iterations))
	r.total = len(plan(r.o)) * r.o.Iterations * max(1, len(r.o.Hosts))
}

// loopback measures this machine alone, with a server that it starts.
func (r *run) loopback(ctx context.Context) error {
	held, err := link.Hold(1)
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }()
	at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(held.First)) // #nosec G115 -- a port
	s, err := start(ctx, r.iperf, at)
	if err != nil {
		return err
	}
	defer s.close()
	r.rec.Note("The path is the loopback interface: no network, and one machine at both ends. Name a far end to measure a network.")
	return r.path(ctx, path{label: Loopback, at: at})
}

// find looks up a host and the interface to it.
func (r *run) find(ctx context.Context, name string) (path, error) {
	// The first address is the one that other programs of this machine would use.
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil || len(addresses) == 0 {
		return path{}, errs.New(errs.NotFound, "net.Find", name, "no address is known for it").WithRemedy("name a host, or an address")
	}
	p := path{label: name, at: netip.AddrPortFrom(addresses[0].Unmap(), uint16(r.o.Port))} // #nosec G115 -- Check has bounded it
	_, err = farCPU(ctx, p.at)
	// Asked once: a far end that answers now must answer until the end.
	p.reads = err == nil
	if !p.reads {
		r.rec.Skip("processors of "+name, "it answers no readings", "run hemera bench net --serve "+p.at.Addr().String()+" there")
		r.rec.Note("Of the far end only the processor time of iperf3 itself is known.")
	}
	p.through, p.speed = interfaceTo(p.at)
	return p, nil
}

// interfaceTo returns the interface to an address, and its speed in B/s.
func interfaceTo(to netip.AddrPort) (name string, speed float64) {
	// A connected UDP socket sends nothing, but has the address of the interface.
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
	if err != nil {
		return "", 0
	}
	defer func() { _ = c.Close() }()
	// Names of interfaces are of this machine, their speeds what the drivers say.
	own := c.LocalAddr().(*net.UDPAddr).IP
	for _, l := range host.Describe("/", "local").Links {
		i, err := net.InterfaceByName(l.Name)
		if err != nil {
			continue
		}
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(own) {
				return l.Name, float64(l.Speed)
			}
		}
	}
	return "", 0
}

// path measures all steps, in each iteration.
func (r *run) path(ctx context.Context, p path) error {
	// Of several paths the last one has the stacks: cores of different machines do not belong together.
	for _, f := range figures(r.o, p) {
		r.rec.Figure(f)
	}
	for range r.o.Iterations {
		for _, s := range plan(r.o) {
			r.rec.Step(r.done, r.total, "%s: %s", p.label, s)
			r.done++
			if err := r.patient(ctx, p, s); err != nil {
				return err
			}
			p.answered = true
		}
	}
	return nil
}

// patient runs a step, and repeats it after a while if the far end is busy. A server that has not detected the end of the
// step before refuses the next client, and one that has closes its port for a moment.
func (r *run) patient(ctx context.Context, p path, s step) (err error) {
	for range attempts {
		err = r.step(ctx, p, s)
		if again := errors.Is(err, errs.Overloaded) || p.answered && errors.Is(err, errs.Unavailable); !again {
			return err
		}
		select {
		case <-ctx.Done():
			return errs.Wrap(ctx.Err(), "net.Run", p.label)
		case <-time.After(busyWait):
		}
	}
	return err
}

// String returns the step in words, for progress.
func (s step) String() string {
	words := s.protocol + " " + s.direction + ", " + strconv.Itoa(s.streams) + " streams"
	// Only UDP has a size.
	if s.packet > 0 {
		words += ", packets of " + strconv.Itoa(s.packet) + " bytes"
	}
	return words
}

// readings has the processor counters of the two ends.
type readings struct{ near, far host.CPU }

// read reads both ends, the far one only if it answers.
func (p path) read(ctx context.Context) (c readings, err error) {
	if c.near, err = host.ReadCPU("/"); err != nil {
		return c, err
	}
	if p.reads {
		c.far, err = farCPU(ctx, p.at)
	}
	return c, err
}

// step runs one step and adds its results.
func (r *run) step(ctx context.Context, p path, s step) error {
	// The readings include the start of iperf3: 20 ms of each step.
	before, err := p.read(ctx)
	if err != nil {
		return err
	}
	labels := s.labels(p.label)
	end := r.rec.Iteration(labels)
	// Bounded, in case the far end disappears.
	limited, cancel := context.WithTimeout(ctx, r.o.For+slack)
	out, err := r.iperf.Run(limited, "", s.args(p.at, r.o.For, r.o.Cores)...)
	cancel()
	if _, rawErr := r.raw.Write(out); rawErr != nil {
		return errs.Wrap(rawErr, "net.Run", "raw output")
	}
	// The report of a failure is more precise than iperf3's exit code, except after an interruption.
	if ctx.Err() != nil {
		return errs.Wrap(ctx.Err(), "net.Run", p.label)
	}
	got, parseErr := parse(out, r.iperf.Version, s.direction)
	switch {
	case parseErr != nil && (err == nil || !errors.Is(parseErr, errs.Invalid)):
		return errs.Wrap(tool.Kept(parseErr, r.rec.RawPath(rawName)), "net.Run", p.label)
	case err != nil:
		return errs.Wrap(err, "net.Run", p.label)
	}
	end(got.sent.bytes+got.received.bytes, got.sent.packets+got.received.packets)
	// As soon as the traffic has ended.
	after, err := p.read(ctx)
	if err != nil {
		return err
	}
	r.add(p, s, got)
	r.addCPU(p, s, got, before, after)
	return nil
}
