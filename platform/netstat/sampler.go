package netstat

import (
	"errors"
	"iter"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"hemera/words/errs"
)

// The bounds of a sample. [Sample.Unseen] counts what is left out.
const (
	connectionsMax = 65_536 // descriptors, and so their largest number
	peersMax       = 4096   // those with the most segments are kept
	interfacesMax  = 256
)

// Sample has the events in a machine's network since the sample before.
type Sample struct {
	Taken      time.Time
	Interfaces []Interface // all but loopback, by name
	Peers      []Peer      // by address
	// Unseen counts the connections, peers and interfaces that were left out because a bound was reached.
	Unseen int
}

// Options selects the sources of a sampler. The zero value is the usual choice.
type Options struct {
	// Descriptors lists the sockets to read; it may contain other descriptors. Nil means every descriptor of the process.
	// A descriptor may be closed, and its number reused, while the sample is made.
	Descriptors iter.Seq[int]
}

// Sampler makes samples of this machine. It is not safe for concurrent use.
type Sampler struct {
	netlink int // a socket for requests about links; -1 without one
	control int // a socket for ioctl; -1 without one
	opening error

	interfaces  interfaceRates
	connections connectionRates
	descriptors iter.Seq[int]
	scan        descriptorScan
	told        map[string]bool // sources whose failure was returned, until they work again
	now         func() time.Time
}

// New makes a sampler for the network namespace of the calling thread. It does not fail: the first Sample reports what
// the machine forbids. The first sample has states and no counts.
func New(o Options) *Sampler {
	s := &Sampler{told: map[string]bool{}, descriptors: o.Descriptors, now: time.Now, netlink: -1, control: -1}
	s.opening = s.open()
	if s.descriptors == nil {
		s.descriptors = s.scan.all
	}
	return s
}

// open makes the two sockets for requests about links and speeds. A socket stays in the namespace in which it was made.
func (s *Sampler) open() error {
	fd, err := openRouteSocket()
	if err != nil {
		return err
	}
	s.netlink = fd
	// Any socket can carry an ioctl about interfaces; it is never bound. Without it speeds are unknown, but links are
	// known.
	s.control, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		s.control = -1
	}
	return nil
}

// Sample returns the changes since the call before. The error names the sources that failed for the first time since they
// last worked; the sample has everything else and is always usable.
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
		// The old state stays: after one refused request the next interval is only longer.
		return s.once("interfaces", err)
	}
	if len(links) > interfacesMax {
		sample.Unseen += len(links) - interfacesMax
		links = links[:interfacesMax]
	}
	sample.Interfaces = s.interfaces.step(links, sample.Taken, s.speedOf)
	return s.once("interfaces", nil)
}

// speedOf returns the speed of a link.
func (s *Sampler) speedOf(name string) linkMode {
	if s.control < 0 {
		return linkMode{}
	}
	return readMode(s.control, name)
}

// once returns an error the first time that a source fails, and nil until the source has worked again. Otherwise a
// container that forbids a source would fill the log.
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

// peerKey returns the address by which connections are summed: without a port, as the peer's differs for each connection
// that it opened, and without the form that IPv4 has on an IPv6 socket.
func peerKey(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }
