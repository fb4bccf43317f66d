package session_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hemera/tape/internal/memtape"
	"hemera/tape/session"
	"hemera/tape/volume"
	"hemera/words/tapeapi"
)

// distant is a disk behind a network: each read takes a time, and a part of it the data is on its way.
type distant struct {
	zeros
	disk, network time.Duration
	onTheWay      *atomic.Int64
}

func (d *distant) Open(context.Context, tapeapi.Work) (session.Content, error) { return d, nil }

func (d *distant) ReadAt(_ context.Context, p []byte, _ int64) error {
	time.Sleep(d.disk)
	time.Sleep(d.network)
	d.onTheWay.Add(int64(d.network))
	clear(p)
	return nil
}

// archiveFrom archives one file of some blocks, with one read at a time.
func archiveFrom(t *testing.T, d *distant, blocks int) tapeapi.Session {
	t.Helper()
	d.onTheWay = &atomic.Int64{}
	d.jobs = []tapeapi.Work{{Job: tapeapi.Job{JobKey: tapeapi.JobKey{File: 1, Kind: tapeapi.Archive}, ArchiveID: 1, Size: int64(blocks) * volume.BlockSize}}}
	tape := bottomless{Tape: &memtape.Tape{}, zero: []byte{0}}
	if err := volume.Format(t.Context(), tape, volume.Label{VID: vid}, origin()); err != nil {
		t.Fatal(err)
	}
	v, err := volume.Open(t.Context(), tape, vid, origin())
	if err != nil {
		t.Fatal(err)
	}
	common := session.Common{Now: time.Now, Limits: session.Limits{Chunk: volume.BlockSize, Window: 1},
		OnTheWay: func() time.Duration { return time.Duration(d.onTheWay.Load()) }}
	s, err := session.Archive(t.Context(), session.ArchiveOptions{Volume: v, Jobs: d, Source: d, Journal: d, Common: common})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDiskAndNetworkAreToldApart: of what a session waits for contents, the time in which they were on their way is the network's.
func TestDiskAndNetworkAreToldApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := archiveFrom(t, &distant{disk: 6 * time.Millisecond, network: 4 * time.Millisecond}, 100)
		if s.Disk != 600*time.Millisecond || s.Network != 400*time.Millisecond || s.Streaming != 0 || s.Elapsed != time.Second {
			t.Errorf("disk %s, network %s, streaming %g of %s", s.Disk, s.Network, s.Streaming, s.Elapsed)
		}
	})
}

// TestACourseIsBoundedAndEven: a session of any length has at most so many samples, each later than the one before by about the same time, and
// the last one says what the figures say.
func TestACourseIsBoundedAndEven(t *testing.T) {
	for _, blocks := range []int{1, 60, 250, 420} {
		synctest.Test(t, func(t *testing.T) {
			s := archiveFrom(t, &distant{disk: time.Second}, blocks)
			n := len(s.Course)
			if n < 2 || n > session.CourseMax || blocks >= 250 && n < session.CourseMax/3 {
				t.Fatalf("%d blocks: %d samples", blocks, n)
			}
			step := s.Course[1].At - s.Course[0].At
			for i, c := range s.Course[1:] {
				before := s.Course[i]
				if c.At < before.At || c.Bytes < before.Bytes || c.Disk < before.Disk || c.At-before.At > 2*step {
					t.Errorf("%d blocks: sample %d is %+v, before it %+v", blocks, i+1, c, before)
				}
			}
			last := s.Course[n-1]
			if last.At != s.Elapsed || last.Bytes != s.Bytes || last.Disk != s.Disk || last.Tape != s.Tape || last.Buffered != 0 {
				t.Errorf("%d blocks: the last sample is %+v, the figures %+v", blocks, last, s.Bytes)
			}
		})
	}
}
