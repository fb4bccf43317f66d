package net

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"hemera/measure/result"
)

// step is one run of iperf3.
type step struct {
	protocol  string
	direction string
	streams   int // of each direction
	packet    int // bytes of IP; 0 for TCP
}

// plan returns the steps of one iteration.
func plan(o *Options) (steps []step) {
	for _, protocol := range Protocols() {
		if !slices.Contains(o.Protocols, protocol) {
			continue
		}
		// TCP chooses the size of its packets.
		packets := []int{0}
		if protocol == UDP {
			packets = o.Packets
		}
		for _, packet := range packets {
			// Directions are next to each other in time: they are compared most.
			for _, n := range o.Streams {
				for _, d := range Directions() {
					if slices.Contains(o.Directions, d) {
						steps = append(steps, step{protocol, d, n, packet})
					}
				}
			}
		}
	}
	return steps
}

// labels are the conditions of the step's measures on a path.
func (s step) labels(path string) result.Labels {
	l := result.Labels{"path": path, "protocol": s.protocol, "direction": s.direction, "streams": strconv.Itoa(s.streams)}
	// A label that all measures of TCP would have says nothing.
	if s.packet > 0 {
		l["packet"] = strconv.Itoa(s.packet)
	}
	return l
}

// args are those of the client.
func (s step) args(to netip.AddrPort, longest time.Duration, cores []int) []string {
	// A far end that is off the network would take minutes to fail: the connection has 5 s.
	list := []string{"--client", to.Addr().String(), "--port", strconv.Itoa(int(to.Port())), "--json", "--time", strconv.Itoa(int(longest.Seconds())),
		"--parallel", strconv.Itoa(s.streams), "--connect-timeout", "5000"}
	if s.protocol == UDP {
		// Rate 0 is as fast as possible; without it iperf3 sends 1 Mb/s.
		list = append(list, "--udp", "--bitrate", "0", "--length", strconv.Itoa(payload(s.packet, to.Addr())))
	}
	// Sending is what iperf3 does by itself.
	// One core for the application, as source D has it: the interrupts can then be given another.
	if len(cores) > 0 {
		list = append(list, "--affinity", strings.ReplaceAll(strings.Trim(fmt.Sprint(cores), "[]"), " ", ","))
	}
	switch s.direction {
	case Receive:
		list = append(list, "--reverse")
	case Both:
		list = append(list, "--bidir")
	}
	return list
}
