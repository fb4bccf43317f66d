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
			// Directions are adjacent in time, because they are compared most.
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

// labels returns the conditions of the step's measures on a path.
func (s step) labels(path string) result.Labels {
	l := result.Labels{"path": path, "protocol": s.protocol, "direction": s.direction, "streams": strconv.Itoa(s.streams)}
	// All measures of TCP would have the same label.
	if s.packet > 0 {
		l["packet"] = strconv.Itoa(s.packet)
	}
	return l
}

// args returns the arguments of the client.
func (s step) args(to netip.AddrPort, longest time.Duration, cores []int) []string {
	// Without a timeout of 5 s, a far end that is off the network would take minutes to fail.
	list := []string{"--client", to.Addr().String(), "--port", strconv.Itoa(int(to.Port())), "--json", "--time", strconv.Itoa(int(longest.Seconds())),
		"--parallel", strconv.Itoa(s.streams), "--connect-timeout", "5000"}
	if s.protocol == UDP {
		// Rate 0 is as fast as possible; without it iperf3 sends 1 Mb/s.
		list = append(list, "--udp", "--bitrate", "0", "--length", strconv.Itoa(payload(s.packet, to.Addr())))
	}
	// One core for the application, like source D; the interrupts can then use another.
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
