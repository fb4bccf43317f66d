package tier

import (
	"testing"
	"time"

	"hemera/tape/mounting"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A call of a session that is on its way when its mount ends takes no job, no room and no grant: nothing would ever free them.
func TestAMountThatEndedTakesNothing(t *testing.T) {
	t.Parallel()
	view := func() *hemera.View {
		return &hemera.View{Spaces: []hemera.Space{{Name: "default"}}, Disks: []hemera.Disk{
			{ID: 1, Space: "default", Active: true, DiskStats: hemera.DiskStats{Capacity: 1000, Free: 1000}},
		}}
	}
	ms := &mounts{clock: time.Now, all: map[tapeapi.MountID]*mount{}, drives: map[driveID]*drive{}, given: map[tapeapi.JobKey]tapeapi.MountID{},
		room: newBuffer(view, func(hemera.SpaceName) int64 { return 0 })}
	job := tapeapi.Job{JobKey: tapeapi.JobKey{File: 1, Kind: tapeapi.Recall, Copy: 1}, Queue: "V00001", Size: 100}
	work := placedWork{Work: tapeapi.Work{Job: job}, fill: fill{space: "default", bytes: 100}}
	begin := func(id tapeapi.MountID) *mount {
		m := &mount{id: id, kind: tapeapi.Recall, vid: "V00001", given: map[tapeapi.JobKey]tapeapi.Job{}, back: &readingBack{most: 10},
			room: ms.room.open(mounting.Key{Kind: tapeapi.Recall, VID: "V00001"})}
		ms.all[id] = m
		return m
	}
	m, ended := begin(1), 0
	ms.give(m, job)
	if !ms.reserve(m, work) || m.room.bytes() != 100 || ms.room.reserved["default"] != 100 {
		t.Fatalf("%+v, %+v", m.room, ms.room.reserved)
	}
	ms.granted(m, job.JobKey, func() { ended++ })
	ms.end(m.id)
	if ended != 1 || len(ms.room.reserved) != 0 || !ms.free(job.JobKey) {
		t.Errorf("%d grants ended, %+v", ended, ms.room.reserved)
	}
	ms.granted(m, job.JobKey, func() { ended++ })
	if ended != 2 {
		t.Error("the grant of a mount that has ended goes on")
	}
	if ms.reserve(m, work) || len(ms.room.reserved) != 0 {
		t.Errorf("%+v", ms.room.reserved)
	}
	ms.giveBack(m, []tapeapi.Work{work.Work}, 2, 9, false)
	if picked := ms.pick(m, [][]tapeapi.Job{{job}}, tapeapi.JobsRequest{Files: 10, Bytes: 1000}); len(picked) != 0 || !ms.free(job.JobKey) {
		t.Errorf("%+v", picked)
	}
	// Another mount has the job by now.
	next := begin(2)
	ms.give(next, job)
	ms.granted(m, job.JobKey, func() { ended++ })
	if !ms.reserve(next, work) || ms.reserve(m, work) || ended != 3 {
		t.Errorf("%d grants ended, %+v", ended, ms.room.reserved)
	}
}
