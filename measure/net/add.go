package net

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"hemera/measure/host"
	"hemera/measure/result"
)

// coresMax is the number of cores whose roles are kept.
const coresMax = 16

// add adds the results of iperf3.
func (r *run) add(p path, s step, got outcome) {
	labels := s.labels(p.label)
	put := func(name, unit string, better result.Better, value float64) {
		m := result.Measure{Name: name, Labels: labels, Unit: unit, Better: better, Samples: []float64{value}}
		// The speed of the interface bounds each direction alone.
		if p.speed > 0 && unit == "B/s" && name != "throughput_both" {
			m.Peak, m.PeakFrom = p.speed, "the speed of "+p.through
		}
		r.rec.Add(m)
	}
	// The direction that ran; with both, each has a measure.
	one := got.sent
	if s.direction == Receive {
		one = got.received
	}
	if s.direction == Both {
		put("throughput_both", "B/s", result.Higher, got.sent.rate()+got.received.rate())
		put("throughput_send", "B/s", result.Higher, got.sent.rate())
		put("throughput_receive", "B/s", result.Higher, got.received.rate())
	} else {
		put("throughput", "B/s", result.Higher, one.rate())
	}
	// TCP repeats lost packets, and UDP counts them.
	switch {
	case s.protocol == TCP:
		put("retransmits", "", result.Lower, float64(got.sent.retransmits+got.received.retransmits))
	case s.direction != Both:
		put("lost", "1", result.Lower, one.lost)
		put("jitter", "s", result.Lower, one.jitter)
		if one.seconds > 0 {
			put("rate", "1/s", result.Higher, float64(one.packets)/one.seconds)
		}
	}
}

// addCPU adds the use of the processors: iperf3's own time at both ends, and the roles of the machines.
func (r *run) addCPU(p path, s step, got outcome, before, after readings) {
	// Both directions, because the processors work for both.
	bytes := float64(got.sent.bytes + got.received.bytes)
	seconds := max(got.sent.seconds, got.received.seconds)
	for _, side := range []struct {
		end string
		usage
	}{{"near", got.near}, {"far", got.far}} {
		labels, cores := with(s.labels(p.label), "end", side.end), side.user+side.system
		r.rec.Add(result.Measure{Name: "cpu_iperf3", Labels: labels, Unit: "1", Better: result.Lower, Samples: []float64{cores}})
		if bytes > 0 {
			r.rec.Add(result.Measure{Name: "cpu_iperf3_per_gb", Labels: labels, Unit: "s", Better: result.Lower, Samples: []float64{cores * seconds * 1e9 / bytes}})
		}
	}
	r.addLoad(p, s, p.near(), bytes, after.near.Since(before.near))
	if p.reads {
		r.addLoad(p, s, "far", bytes, after.far.Since(before.far))
	}
}

// addLoad adds the use of a machine: all cores together, and those that are kept.
func (r *run) addLoad(p path, s step, end string, bytes float64, load host.Load) {
	labels := with(s.labels(p.label), "end", end)
	if bytes > 0 {
		r.rec.Add(result.Measure{Name: "cpu_per_gb", Labels: labels, Unit: "s", Better: result.Lower, Samples: []float64{load.Busy * 1e9 / bytes}})
	}
	// By the name of the core, because readings may have another order.
	shares := map[string]host.Share{"all": load.All}
	for _, c := range load.Cores {
		shares[strconv.Itoa(c.ID)] = c.Share
	}
	// The same cores in each iteration, so that each measure has all of its samples.
	key := fmt.Sprint(labels)
	if r.kept[key] == nil {
		r.kept[key] = append([]string{"all"}, busiest(load.Cores)...)
	}
	// A core that was switched off meanwhile has shares of 0.
	for _, core := range r.kept[key] {
		for _, role := range shares[core].Roles() {
			r.rec.Add(result.Measure{Name: "cpu", Labels: with(with(labels, "core", core), "role", role.Role), Unit: "1", Samples: []float64{role.Share}})
		}
	}
}

// busiest returns the names of the least idle cores, at most coresMax, in the order of their numbers.
func busiest(cores []host.CoreShare) []string {
	// The application and the interrupts of one stream use two of them.
	list := slices.Clone(cores)
	slices.SortStableFunc(list, func(a, b host.CoreShare) int { return cmp.Compare(a.Idle, b.Idle) })
	list = list[:min(len(list), coresMax)]
	slices.SortFunc(list, func(a, b host.CoreShare) int { return cmp.Compare(a.ID, b.ID) })
	// Labels are texts.
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = strconv.Itoa(c.ID)
	}
	return names
}

// with returns labels with one more.
func with(l result.Labels, key, value string) result.Labels {
	l = maps.Clone(l)
	l[key] = value
	return l
}
