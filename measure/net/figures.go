package net

import (
	"slices"
	"strconv"

	"hemera/measure/result"
)

// figures returns the plots of the level: throughput over the streams, and the roles of the cores at each end, like
// source D.
func figures(o *Options, p path) (list []result.Figure) {
	group := []string{"path", "direction"}
	// One set for TCP, and one for each size of packets.
	for _, s := range kinds(o) {
		where := result.Labels{"protocol": s.protocol}
		if s.packet > 0 {
			where["packet"] = strconv.Itoa(s.packet)
		}
		id, title := named(s)
		list = append(list,
			result.Figure{ID: id, Title: title, Kind: result.Lines, Names: []string{"throughput", "throughput_send", "throughput_receive"}, Where: where, X: "streams", XTitle: "streams", Group: group,
				Peak: true, Caption: "What the receiver got, without headers."},
			result.Figure{ID: id + "-cpu", Title: title + ": processor time for 1 GB", Kind: result.Lines, Names: []string{"cpu_per_gb"}, Where: where, X: "streams", XTitle: "streams",
				Group: []string{"path", "direction", "end"}, Caption: "Of the whole machine, with interrupts and everything else that ran."})
		// A stack has one set of conditions.
		list = append(list, stacks(o, s, p, where)...)
	}
	return list
}

// aside returns a text for the end of a figure, if there are two ends.
func aside(end string) string {
	if end == "both" {
		return ""
	}
	return ", " + end + " end"
}

// named returns the id and the title of the figures of a kind.
func named(s step) (id, title string) {
	// They are also names of files.
	if s.packet == 0 {
		return "net-tcp", "TCP"
	}
	size := strconv.Itoa(s.packet)
	return "net-udp-" + size, "UDP, packets of " + size + " bytes"
}

// kinds returns the protocols with their packets: the steps of one direction and one number of streams.
func kinds(o *Options) []step {
	// A plan of one direction and one number of streams has each kind once.
	few := *o
	few.Streams, few.Directions = o.Streams[:1], o.Directions[:1]
	return plan(&few)
}

// stacks returns the plots of the roles of the cores at each known end, with the first number of streams.
func stacks(o *Options, s step, p path, where result.Labels) (list []result.Figure) {
	ends := []string{p.near()}
	if p.reads {
		ends = append(ends, "far")
	}
	id, title := named(s)
	// With many streams all cores are alike: one stream shows which core is full.
	for _, d := range Directions() {
		if !slices.Contains(o.Directions, d) {
			continue
		}
		for _, end := range ends {
			w := with(with(with(where, "direction", d), "streams", strconv.Itoa(s.streams)), "end", end)
			w["path"] = p.label
			list = append(list, result.Figure{ID: id + "-cores-" + d + "-" + end, Title: title + ", " + d + ": what the cores do" + aside(end), Kind: result.Stacked,
				Names: []string{"cpu"}, Where: w, X: "core", XTitle: "core", Group: []string{"role"}, Caption: "Shares of the time. A core that is full limits one stream."})
		}
	}
	return list
}
