package session_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"hemera/tape/session"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestAnyHistoryKeepsWhatWasReported runs sessions with faults from a seed: disks, tape, power, journal, cancelling. Whatever happened, all that
// the manager heard of is readable, and a last session without faults writes the rest.
func TestAnyHistoryKeepsWhatWasReported(t *testing.T) {
	for seed := range uint64(30) {
		h := &history{world: newWorld(t), r: rand.New(rand.NewPCG(seed, 1))}
		for range 5 {
			h.session(t.Context())
		}
		h.ask()
		if _, err := h.archive(t.Context(), h.limits()); err != nil || len(h.copies) != len(h.sizes) {
			t.Errorf("%v; %d files, %d copies, failed %+v", err, len(h.sizes), len(h.copies), h.failed)
		}
		h.verifyCopies()
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

// history is a world whose faults come from a seed.
type history struct {
	*world
	r     *rand.Rand
	sizes []int64 // of files, whose ids count from 1
}

// ask queues a job for every file without a copy, as a manager does.
func (h *history) ask() {
	h.queue = nil
	for i, size := range h.sizes {
		if _, ok := h.copies[hemera.FileID(i+1)]; !ok {
			h.queue = append(h.queue, job(i+1, size))
		}
	}
}

func (h *history) limits() session.Limits {
	l := small()
	l.FlushFiles, l.FlushBytes = h.r.IntN(12)+1, 1<<40
	l.PackBelow, l.PackBytes, l.BatchFiles = 60_000, 400_000, h.r.IntN(30)+1
	return l
}

// session makes some files and runs an archive session in which something may fail.
func (h *history) session(ctx context.Context) {
	for range h.r.IntN(20) + 1 {
		size := h.r.Int64N(40_000) + 1
		if h.r.IntN(3) == 0 {
			size = h.r.Int64N(900_000) + 1
		}
		h.sizes = append(h.sizes, size)
	}
	h.ask()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range h.r.IntN(3) {
		id := hemera.FileID(h.r.IntN(len(h.sizes)) + 1)
		h.broken[id] = h.r.Int64N(h.sizes[id-1]+1) - 1 // gone, or unreadable from somewhere on
	}
	at := h.reports + h.r.IntN(4) + 1
	objects := len(h.tape.Objects())
	fault := h.r.IntN(5)
	switch fault {
	case 0:
		h.tape.BadWrite = map[uint64]bool{uint64(objects + h.r.IntN(200)): true}
	case 1, 2: // the report is lost, or only its answer
		h.onReport = func(n int) {
			if n >= at {
				h.reportErr, h.taken = errs.New(errs.Unavailable, "test.Report", "", "no answer"), fault == 2 && n == at
			}
		}
	case 3:
		h.onReport = func(n int) {
			if n == at {
				cancel()
			}
		}
	}
	_, _ = h.archive(ctx, h.limits())
	if h.r.IntN(2) == 0 {
		h.tape.PowerCut(h.r.IntN(100))
	}
	h.tape.BadWrite, h.onReport, h.reportErr, h.taken = nil, nil, nil, false
	clear(h.broken)
	clear(h.failed)
}
