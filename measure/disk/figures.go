package disk

import (
	"slices"

	"hemera/measure/result"
)

// titles returns the titles of the loads.
func titles() map[string]string {
	return map[string]string{Read: "Reads", Write: "Writes, to new files", Both: "Reads and writes at the same time", RandRead: "Random reads of 4 KiB", RandWrite: "Random writes of 4 KiB"}
}

// figures returns the plots of the level: the ramp of each load, the scaling over disks, the sweep.
func figures(o *Options, places []place) (list []result.Figure) {
	for _, load := range Loads() {
		if slices.Contains(o.Loads, load) {
			list = append(list, rampFigures(load)...)
		}
	}
	// With one disk there is no line.
	if len(scaling(o, places)) > 0 {
		list = append(list, result.Figure{ID: "disk-scaling", Title: "Several disks at once", Kind: result.Lines, Names: []string{"throughput"},
			Where: result.Labels{"test": testScaling}, X: "disks", XTitle: "disks", Group: []string{"load"},
			Caption: "One direct stream at each disk. A straight line means that nothing above the disks limits."})
	}
	if slices.ContainsFunc(places, func(p place) bool { return len(sweep(o, p)) > 0 }) {
		list = append(list, sweepFigures()...)
	}
	return list
}

// rampFigures returns the plots of one load over the streams.
func rampFigures(load string) []result.Figure {
	// Rates of small requests, throughput of large ones.
	name := "throughput"
	if load == RandRead || load == RandWrite {
		name = "rate"
	}
	where, group := result.Labels{"test": testRamp, "load": load}, []string{"disk", "at", "mode"}
	list := []result.Figure{{ID: "disk-" + load, Title: titles()[load], Kind: result.Lines, Names: []string{name}, Where: where, X: "streams", XTitle: "streams", Group: group,
		Caption: "All streams of a disk together, each with one request in flight. What is written is durable at the end."}}
	// Two directions have no common latency.
	if load == Both {
		return list
	}
	return append(list, result.Figure{ID: "disk-" + load + "-latency", Title: titles()[load] + ": latency", Kind: result.Lines, Names: []string{"latency_p50", "latency_p99"},
		Where: where, X: "streams", XTitle: "streams", Group: group, Caption: "Of one request: 1 MiB in order, 4 KiB at random."})
}

// sweepFigures returns the plots over the read-ahead.
func sweepFigures() []result.Figure {
	where, group := result.Labels{"test": testReadAhead}, []string{"disk", "at"}
	// They share the axis and its scale: each value is twice the previous one.
	over := func(id, title, name, caption string) result.Figure {
		return result.Figure{ID: id, Title: title, Kind: result.Lines, Names: []string{name}, Where: where, X: "read_ahead_kib", XTitle: "read-ahead, KiB", LogX: true, Group: group, Caption: caption}
	}
	return []result.Figure{
		over("disk-read-ahead", "One buffered stream and the read-ahead of the device", "throughput", "A line that rises shows a device whose requests have latency: it needs more of them in flight."),
		over("disk-read-ahead-queue", "Requests in flight", "device_queue", "The mean while the stream reads, as the kernel counts them."),
		over("disk-read-ahead-request", "Size of requests", "device_request_size", "The mean at the device. It is limited by max_sectors_kb."),
	}
}
