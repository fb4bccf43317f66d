package netstat

import (
	"cmp"
	"slices"
	"time"
)

const (
	// modeAge is the time for which a speed is used without asking again. A change of the carrier asks at once. Drivers
	// may ask their hardware, under a lock that all changes of interfaces share, so not every sample asks.
	modeAge = time.Minute
	// plausibleMax is more than any interface carries, in bytes per second: 16 Tbit/s. One wrong count of a driver must
	// not look like traffic.
	plausibleMax = 2e12
)

// Traffic has an interface's counts in one direction during an interval. Missed and CRC are of the receiving side only.
type Traffic struct {
	Bytes, Packets int64
	// Errors counts all packets that the interface calls bad: the kinds below, and other kinds of drivers.
	Errors int64
	// Dropped counts good packets for which there was no memory, or no receiver on this machine. A few are normal:
	// packets of protocols that the machine does not speak.
	Dropped int64
	// Missed counts packets that did not fit into the ring of the hardware: the machine was too slow to fetch them.
	Missed int64
	FIFO   int64 // a buffer of the hardware ran over, or was empty during a transmission
	CRC    int64 // bits changed on the way: a cable, a connector, an optic
}

// Interface is the state of an interface, and its counts during an interval.
type Interface struct {
	Name  string
	Index int
	// Kind is the kernel's word for a virtual interface, such as bond, vlan, bridge or veth. It is empty for hardware.
	Kind string
	// Master is the index of the bond or bridge that the interface belongs to, or 0.
	Master int
	// Up: an admin switched it on. Carrier: there is a signal.
	Up, Carrier bool
	Speed       int64 // bits per second; 0: unknown
	HalfDuplex  bool
	// Interval is the time that the counts cover. It is 0, and there are no counts, if they would be wrong: see the
	// package doc.
	Interval   time.Duration
	Rx, Tx     Traffic
	Collisions int64
	// CarrierChanges counts changes of the signal: a loss of it and its return are two.
	CarrierChanges int64
}

// known is the remembered state of an interface.
type known struct {
	link  link
	taken time.Time
	mode  linkMode
	asked time.Time // when mode was
}

// interfaceRates turns counters into counts for an interval. It remembers the interfaces of the last call only.
type interfaceRates struct{ known map[int]known }

// step returns the interfaces with their counts since the call before.
func (r *interfaceRates) step(links []link, now time.Time, mode func(name string) linkMode) []Interface {
	next := make(map[int]known, len(links))
	list := make([]Interface, 0, len(links))
	for _, l := range links {
		before, ok := r.known[l.index]
		ok = ok && before.link.name == l.name // numbers are reused, also by renamed interfaces
		k := known{link: l, taken: now, mode: before.mode, asked: before.asked}
		if !ok || before.link.carrierChanges != l.carrierChanges || now.Sub(before.asked) >= modeAge {
			k.mode, k.asked = mode(l.name), now
		}
		next[l.index] = k
		i := Interface{
			Name: l.name, Index: l.index, Kind: l.kind, Master: l.master, Up: l.up, Carrier: l.carrier,
			Speed: k.mode.speed, HalfDuplex: k.mode.halfDuplex,
		}
		if ok {
			i.count(before, k)
		}
		list = append(list, i)
	}
	r.known = next
	slices.SortFunc(list, func(a, b Interface) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// count fills in the difference between two looks, or nothing if the counters began again.
func (i *Interface) count(before, after known) {
	interval := after.taken.Sub(before.taken)
	rx, good := subtract(before.link.counters.rx, after.link.counters.rx, interval)
	tx, alsoGood := subtract(before.link.counters.tx, after.link.counters.tx, interval)
	if interval <= 0 || !good || !alsoGood || !before.link.countersAreIncluded || !after.link.countersAreIncluded {
		return
	}
	i.Interval, i.Rx, i.Tx = interval, rx, tx
	i.Collisions = grown(before.link.counters.collisions, after.link.counters.collisions)
	i.CarrierChanges = int64(after.link.carrierChanges - before.link.carrierChanges) // 32 bits, which may wrap
}

// subtract returns the difference of the counters of one direction. ok is false if they began again or are implausible.
func subtract(before, after [trafficFields]uint64, interval time.Duration) (t Traffic, ok bool) {
	const bytes, packets = 0, 1
	if after[bytes] < before[bytes] || after[packets] < before[packets] {
		return Traffic{}, false
	}
	if float64(after[bytes]-before[bytes]) > plausibleMax*max(interval.Seconds(), 1e-3) {
		return Traffic{}, false
	}
	var d [trafficFields]int64
	for i := range d {
		d[i] = grown(before[i], after[i])
	}
	return Traffic{Bytes: d[0], Packets: d[1], Errors: d[2], Dropped: d[3], Missed: d[4], FIFO: d[5], CRC: d[6]}, true
}

// grown returns the growth of a counter, or 0 for a counter that fell, because it began again.
func grown(before, after uint64) int64 {
	if after < before || after-before > 1<<62 {
		return 0
	}
	return int64(after - before)
}
