package server

import (
	"context"
	"errors"
	"slices"
	"testing"

	"hemera/tape/device"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// at returns a job for a file at a block; member 0 is a file of its own.
func at(id hemera.FileID, block uint64, member uint32) tapeapi.Work {
	return tapeapi.Work{Job: tapeapi.Job{JobKey: tapeapi.JobKey{File: id}, Size: 300 << 10, From: &hemera.TapeCopy{Block: block, Member: member}}}
}

func TestOrder(t *testing.T) {
	jobs := []tapeapi.Work{at(1, 0, 0), at(2, 100, 1), at(3, 100, 2), at(4, 200, 0), at(5, 300, 0)}
	reverse := func(s []device.Segment) ([]int, error) {
		order := make([]int, len(s))
		for i := range s {
			order[i] = len(s) - 1 - i
		}
		return order, nil
	}
	for _, c := range []struct {
		name string
		most int
		ask  func([]device.Segment) ([]int, error)
		want []hemera.FileID
	}{
		{"the drive's order, members together", 100, reverse, []hemera.FileID{5, 4, 2, 3, 1}},
		{"a few at a time", 3, reverse, []hemera.FileID{4, 2, 3, 1, 5}},
		{"a drive that cannot", 100, func([]device.Segment) ([]int, error) { return nil, errors.New("no") }, []hemera.FileID{1, 2, 3, 4, 5}},
		{"a drive without room", 0, reverse, []hemera.FileID{1, 2, 3, 4, 5}},
		{"an answer that is too short", 100, func([]device.Segment) ([]int, error) { return []int{0}, nil }, []hemera.FileID{1, 2, 3, 4, 5}},
		{"an answer with one twice", 100, func([]device.Segment) ([]int, error) { return []int{0, 0, 1, 2}, nil }, []hemera.FileID{1, 2, 3, 4, 5}},
	} {
		var got []hemera.FileID
		for _, j := range ordered(jobs, c.most, c.ask) {
			got = append(got, j.File)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	// 63 members of 1 MiB with their table take 4 + 1 + 252 + 5 objects, and the next container follows.
	var small []tapeapi.Work
	for i := range 126 {
		j := at(hemera.FileID(i+1), 1000+uint64(i/63)*262, uint32(i%63+1))
		j.Size = 1 << 20
		small = append(small, j)
	}
	if g := places(small); len(g) != 2 || g[0].segment.End > g[1].segment.Begin || g[0].segment.End < g[1].segment.Begin-2 {
		t.Errorf("containers that follow each other: %+v", g)
	}
	groups := places(jobs)
	if want := (device.Segment{Begin: 1, End: 1 + 9 + 2}); len(groups) != 4 || groups[0].segment != want {
		t.Errorf("%d places, the first is %+v", len(groups), groups[0].segment)
	}
}

// putsOff is a drive that puts what lies behind it off to the end, after the first answer.
type putsOff struct {
	device.Tape
	asked int
}

func (p *putsOff) OrderMax(context.Context) (int, error) { return 100, nil }

func (p *putsOff) Order(_ context.Context, s []device.Segment) ([]int, error) {
	order := make([]int, len(s))
	for i := range s {
		order[i] = i
		if p.asked > 0 {
			order[i] = (i + 1) % len(s)
		}
	}
	p.asked++
	return order, nil
}

// TestAContainerIsReadToItsEnd: the tape stands within a container after an answer, and the next answer goes on there, whatever the drive says.
func TestAContainerIsReadToItsEnd(t *testing.T) {
	const members, files = 4, 20
	c := newControl(t, 1, files)
	c.limit = 10
	var want []hemera.FileID
	for i := range files {
		id := hemera.FileID(i + 1)
		want = append(want, id)
		number := uint64(i / members)
		c.files[id].vid, c.files[id].recall = "V00001", true
		c.files[id].onTape = &tapeapi.Written{FSeq: number + 1, Block: 100 * number, Member: uint32(i%members + 1)}
	}
	m := tapeapi.Mount{ID: 1, Kind: tapeapi.MountWork, Job: tapeapi.Recall, VID: "V00001"}
	c.open[m.ID] = &openMount{Mount: m, given: map[tapeapi.JobKey]bool{}}
	off := &putsOff{}
	r := &recalls{desk: desk{&drive{server: &Server{o: Options{Control: c, Node: c.node}}}, m}, tape: off}
	var got []hemera.FileID
	for len(got) < files {
		jobs, _, err := r.Next(t.Context(), files, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			got = append(got, j.File)
		}
	}
	// Containers 4 and 5 are two places, for which no order is asked.
	if !slices.Equal(got, want) || off.asked != 1 {
		t.Errorf("%v, %d orders", got, off.asked)
	}
}
