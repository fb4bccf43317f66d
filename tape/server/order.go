package server

import (
	"context"

	"hemera/tape/device"
	"hemera/tape/volume"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// orderMin is the least number of places on tape for which another order is asked for: of two, the first one is as good as the second.
const orderMin = 3

// recalls are the jobs of a mount that reads, in an order that travels little. It implements session.Jobs; the goroutine of the tape calls it.
type recalls struct {
	desk
	tape device.Tape
	// last is the job that the answer before ended with: the tape stands behind it.
	last tapeapi.Work
}

// Next implements session.Jobs.
func (r *recalls) Next(ctx context.Context, files int, bytes int64) ([]tapeapi.Work, bool, error) {
	jobs, last, err := r.desk.Next(ctx, files, bytes)
	if err != nil || len(jobs) == 0 {
		return jobs, last, err
	}
	// Without an order of the drive, that of the manager, by position, is good enough.
	if o, able := device.Feature[device.Orderer](r.tape); able {
		if most, err := o.OrderMax(ctx); err == nil {
			begun, rest := begunFirst(jobs, r.last)
			jobs = append(begun, ordered(rest, most, func(s []device.Segment) ([]int, error) { return o.Order(ctx, s) })...)
		}
	}
	r.last = jobs[len(jobs)-1]
	return jobs, last, nil
}

// begunFirst splits off the jobs of the container within which the tape stands after the job last. A drive is asked for the order of whole
// containers: it would count a way back to the begin of this one, and may put it off until that way has to be gone.
func begunFirst(jobs []tapeapi.Work, last tapeapi.Work) (begun, rest []tapeapi.Work) {
	behind := func(j tapeapi.Work) bool {
		return j.From != nil && last.From != nil && j.From.Member > last.From.Member && last.From.Member > 0 && j.From.Block == last.From.Block
	}
	for _, j := range jobs {
		if behind(j) {
			begun = append(begun, j)
		} else {
			rest = append(rest, j)
		}
	}
	return begun, rest
}

// ordered puts jobs into the order that ask returns for the segments of their tape files, at most so many at a time. Members of one container
// stay together. Whatever ask says, each job comes once: an answer that is no order of the segments is not used.
func ordered(jobs []tapeapi.Work, most int, ask func([]device.Segment) ([]int, error)) []tapeapi.Work {
	groups := places(jobs)
	out := make([]tapeapi.Work, 0, len(jobs))
	for len(groups) > 0 {
		// A part of the tape after the other: the jobs come by position.
		part := groups[:min(len(groups), max(most, 1))]
		groups = groups[len(part):]
		for _, i := range indexes(part, ask) {
			out = append(out, part[i].jobs...)
		}
	}
	return out
}

// group is the jobs of one tape file.
type group struct {
	segment device.Segment
	jobs    []tapeapi.Work
	bytes   int64 // of all jobs
}

// places groups jobs that follow each other by their tape files.
func places(jobs []tapeapi.Work) (groups []group) {
	for _, j := range jobs {
		var at hemera.TapeCopy
		if j.From != nil { // the session refuses a job without a place
			at = *j.From
		}
		begin := max(at.Block, 1)
		end := begin + volume.FileObjects + uint64((j.Size+volume.BlockSize-1)/volume.BlockSize)
		if n := len(groups); n > 0 && groups[n-1].segment.Begin == begin {
			g := &groups[n-1]
			g.jobs, g.bytes = append(g.jobs, j), g.bytes+j.Size
			// What lies between the members, and the table, are not known, and little. It must not reach into the next container: a drive would
			// think that it has to go back for that one.
			g.segment.End = begin + volume.FileObjects + uint64(g.bytes/volume.BlockSize)
			continue
		}
		groups = append(groups, group{device.Segment{Begin: begin, End: end}, []tapeapi.Work{j}, j.Size})
	}
	return groups
}

// indexes asks for an order of groups, and returns the one that they have if there is no good answer.
func indexes(groups []group, ask func([]device.Segment) ([]int, error)) []int {
	same := make([]int, len(groups))
	segments := make([]device.Segment, len(groups))
	for i, g := range groups {
		same[i], segments[i] = i, g.segment
	}
	if len(groups) < orderMin {
		return same
	}
	order, err := ask(segments)
	if err != nil || len(order) != len(groups) {
		return same
	}
	// A drive that names a segment twice would lose another one.
	seen := make([]bool, len(groups))
	for _, i := range order {
		if i < 0 || i >= len(groups) || seen[i] {
			return same
		}
		seen[i] = true
	}
	return order
}
