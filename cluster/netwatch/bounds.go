package netwatch

import "hemera/words/hemera"

const (
	// nameMax bounds the name of an interface, in bytes. Linux has 15.
	nameMax = 64
	// countMax bounds a count of a sample: sums of all nodes' stay far from overflow, whatever a node reports.
	countMax = 1 << 50
)

// bounded returns a sample within the bounds of the protocol: a node may be in bad hands. Its lists are copies.
func bounded(s hemera.NetworkSample) hemera.NetworkSample {
	s.Interval = max(0, s.Interval)
	s.Addresses = append(s.Addresses[:0:0], s.Addresses[:min(len(s.Addresses), hemera.NetworkAddressesMax)]...)
	s.Interfaces = append(s.Interfaces[:0:0], s.Interfaces[:min(len(s.Interfaces), hemera.NetworkInterfacesMax)]...)
	s.Paths = append(s.Paths[:0:0], s.Paths[:min(len(s.Paths), hemera.NetworkPathsMax)]...)
	for i := range s.Interfaces {
		f := &s.Interfaces[i]
		f.Name = f.Name[:min(len(f.Name), nameMax)]
		f.In, f.Out = boundedTraffic(f.In), boundedTraffic(f.Out)
		for _, n := range []*int64{&f.Speed, &f.CarrierChanges} {
			*n = within(*n)
		}
	}
	for i := range s.Paths {
		p := &s.Paths[i]
		for _, n := range []*int64{&p.Sent, &p.Lost, &p.Received, &p.OutOfOrder, (*int64)(&p.RTT)} {
			*n = within(*n)
		}
	}
	return s
}

// boundedTraffic returns counts within bounds.
func boundedTraffic(t hemera.NetworkTraffic) hemera.NetworkTraffic {
	return hemera.NetworkTraffic{Bytes: within(t.Bytes), Packets: within(t.Packets), Errors: within(t.Errors), Missed: within(t.Missed), Dropped: within(t.Dropped)}
}

// within brings a count into 0 to countMax.
func within(n int64) int64 { return max(0, min(n, countMax)) }
