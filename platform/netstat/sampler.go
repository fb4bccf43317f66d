package netstat

import (
	"errors"
	"iter"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"hemera/words/errs"
)

// The bounds of a sample. What is beyond them is left out and counted in [Sample.Unseen].
const (
	connectionsMax = 65_536 // descriptors, and so the greatest number of one
	peersMax       = 4096   // those with the most segments are kept
	interfacesMax  = 256
)

// Sample is what a machine's network did since the sample before it.
type Sample struct {
	Taken      time.Time
	Interfaces []Interface // all but loopback, by name
	Peers      []Peer      // by address
	// Unseen is how many connections, peers and interfaces were left out because a bound was reached.
	Unseen int
}

// Options say what a sampler looks at. The zero value is the usual choice.
type Options struct {
	// Descriptors lists the sockets to look at; others may be among them. Nil means every descriptor of the process.
	// A descriptor may be closed, and its number used again, while the sample is made.
	Descriptors iter.Seq[int]
}

// Sampler makes samples of this machine. One goroutine at a time may use it.
type Sampler struct {
	netlink int // a socket for requests about links; -1: could not be made
	control int // a socket for ioctl; -1: could not be made
	opening error

	interfaces  interfaceRates
	connections connectionRates
	descriptors iter.Seq[int]
	scan        descriptorScan
	told        map[string]bool // sources whose failure was returned, until they work again
	now         func() time.Time
}

// New makes a sampler for the network namespace of the calling thread. It does not fail: what the machine forbids is told by
// the first Sample. The first sample has states and no counts.
func New(o Options) *Sampler {
	s := &Sampler{told: map[string]bool{}, descriptors: o.Descriptors, now: time.Now, netlink: -1, control: -1}
	s.opening = s.open()
	if s.descriptors == nil {
		s.descriptors = s.scan.all
	}
	return s
}

// open makes the two sockets that links and speeds are asked through. A socket stays in the namespace that it was made in.
func (s *Sampler) open() error {
	fd, err := openRouteSocket()
	if err != nil {
		return err
	}
	s.netlink = fd
	// Any socket can carry an ioctl about interfaces; it is never bound. Without it speeds are unknown and links are not.
	s.control, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		s.control = -1
	}
	return nil
}

// Sample looks at the machine and returns what changed since the call before. The error names the sources that failed for
// the first time since they last worked; the sample has everything else and is always usable.
func (s *Sampler) Sample() (Sample, error) {
	sample := Sample{Taken: s.now()}
	trouble := s.sampleInterfaces(&sample)
	s.scan.err = nil
	sample.Unseen += s.connections.sample(s.descriptors, &sample)
	return sample, errors.Join(trouble, s.once("connections", s.scan.err))
}

// sampleInterfaces fills the interfaces of a sample.
func (s *Sampler) sampleInterfaces(sample *Sample) error {
	links, err := []link(nil), s.opening
	if err == nil {
		links, err = readLinks(s.netlink)
	}
	if err != nil {
		// Without a list nothing is forgotten: after one refused request the next interval is only longer.
		return s.once("interfaces", err)
	}
	if len(links) > interfacesMax {
		sample.Unseen += len(links) - interfacesMax
		links = links[:interfacesMax]
	}
	sample.Interfaces = s.interfaces.step(links, sample.Taken, s.speedOf)
	return s.once("interfaces", nil)
}

// speedOf asks for the speed of a link.
func (s *Sampler) speedOf(name string) linkMode {
	if s.control < 0 {
		return linkMode{}
	}
	return readMode(s.control, name)
}

// once returns an error the first time that a source fails, and nil until the source has worked again. A container that forbids
// something would otherwise fill the log.
func (s *Sampler) once(source string, err error) error {
	if err == nil {
		delete(s.told, source)
		return nil
	}
	if s.told[source] {
		return nil
	}
	s.told[source] = true
	return errs.Wrap(err, "netstat.Sample", source)
}

// Close releases the sampler's sockets. Samples after it have no interfaces.
func (s *Sampler) Close() {
	for _, fd := range []*int{&s.netlink, &s.control} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
	s.opening = errs.New(errs.BadHandle, "netstat.Sample", "", "the sampler is closed")
}

// peerKey is the address that connections are summed by: without a port, as the peer's is a different one for each
// connection that it opened, and without the form that IPv4 has on an IPv6 socket.
func peerKey(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }
