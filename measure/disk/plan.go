package disk

import (
	"slices"
	"strconv"

	"hemera/measure/result"
)

// The values of the label test.
const (
	testRamp      = "ramp"
	testScaling   = "scaling"
	testReadAhead = "read-ahead"
)

// The values of the label mode.
const (
	direct   = "direct"   // O_DIRECT
	buffered = "buffered" // through the page cache
)

// all is the label disk of steps that use several disks at once.
const all = "all"

// step is one run of fio.
type step struct {
	test, load, mode string
	streams          int     // of each place
	places           []place // one, or several for scaling
	readAhead        int64   // bytes; 0 leaves it as it is
}

// plan returns the steps of one iteration.
func plan(o *Options, places []place) (steps []step) {
	var files []place
	for _, p := range places {
		steps = append(steps, ramp(o, p)...)
		if !p.isDevice() {
			files = append(files, p)
		}
	}
	// Disks are counted in file systems, or as devices if there are none.
	if len(files) == 0 {
		files = places
	}
	steps = append(steps, scaling(o, files)...)
	// Last, because it changes a setting that the others should find unchanged.
	for _, p := range places {
		steps = append(steps, sweep(o, p)...)
	}
	return steps
}

// ramp measures every load with every number of streams at one place.
func ramp(o *Options, p place) (steps []step) {
	for _, load := range Loads() {
		if !slices.Contains(o.Loads, load) || !p.takes(load) {
			continue
		}
		// The streams of one mode are compared, so they are neighbours in time.
		for _, mode := range []string{direct, buffered} {
			// A raw device is measured below the page cache, and random loads are, too: see the package's doc.
			random := load == RandRead || load == RandWrite
			if mode == buffered && (p.isDevice() || random && p.direct) || mode == direct && !p.direct {
				continue
			}
			for _, n := range o.Streams {
				steps = append(steps, step{test: testRamp, load: load, mode: mode, streams: n, places: []place{p}})
			}
		}
	}
	return steps
}

// scaling measures 1 to all disks at once. With one disk there are no steps.
func scaling(o *Options, places []place) (steps []step) {
	if len(places) < 2 {
		return nil
	}
	for _, load := range []string{Read, Write} {
		takes := func(p place) bool { return p.takes(load) && p.direct }
		if !slices.Contains(o.Loads, load) || !allOf(places, takes) {
			continue
		}
		// All streams are in one run of fio, so that they start and end together.
		for n := range places {
			steps = append(steps, step{test: testScaling, load: load, mode: direct, streams: 1, places: places[:n+1]})
		}
	}
	return steps
}

// allOf reports whether the condition holds for all places.
func allOf(places []place, so func(place) bool) bool {
	return !slices.ContainsFunc(places, func(p place) bool { return !so(p) })
}

// sweep reads with each size of read-ahead, where it can be set.
func sweep(o *Options, p place) (steps []step) {
	if !p.sweeps || !slices.Contains(o.Loads, Read) {
		return nil
	}
	for _, n := range o.ReadAheads {
		steps = append(steps, step{test: testReadAhead, load: Read, mode: buffered, streams: 1, places: []place{p}, readAhead: n})
	}
	return steps
}

// labels returns the conditions of the step's measures.
func (s step) labels() result.Labels {
	l := result.Labels{"test": s.test, "load": s.load, "mode": s.mode, "streams": strconv.Itoa(s.streams), "disk": s.places[0].disk, "at": s.places[0].at()}
	// Labels of only one test keep the measures of the others short.
	switch s.test {
	case testScaling:
		l["disk"], l["disks"] = all, strconv.Itoa(len(s.places))
	case testReadAhead:
		l["read_ahead_kib"] = strconv.FormatInt(s.readAhead>>10, 10)
	}
	return l
}
