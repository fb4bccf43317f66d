package maint

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/adminapi"

	"hemera/platform/contain"
	"hemera/words/hemera"
)

// defective is a namespace with a file that the program cannot handle.
type defective struct {
	*miniature
	file hemera.FileID
}

func (d *defective) Resolve(ctx context.Context, id hemera.FileID) (hemera.Entry, string, error) {
	if id == d.file {
		panic("a defect")
	}
	return d.miniature.Resolve(ctx, id)
}

// TestAFileThatPanicsFailsAlone: files behind it are repaired, the job counts it, and it is tried at ever longer distances. A disk with such
// a file is drained of all others, and its audit says that it did not end well.
func TestAFileThatPanicsFailsAlone(t *testing.T) {
	for _, drained := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := newMiniature(t)
			for range 4 {
				m.node("", 1<<40)
			}
			l, err := hemera.ParseLayout("replica:2", 0)
			if err != nil {
				t.Fatal(err)
			}
			second := hemera.DiskID(0)
			if drained {
				second = 2
				m.view.Disks[1].Config = hemera.ConfigDrain
			}
			first := m.file(l, 1<<20, 1, second)
			other := m.file(l, 1<<20, 1, second)
			o := m.options()
			o.Panics = contain.New(nil)
			o.Files = &defective{m, first}
			e := New(o)
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			defer all.Wait()
			defer cancel()
			for i := range m.view.Nodes {
				all.Go(func() { m.serve(ctx, e.Orders, hemera.NodeID(i+1)) })
			}
			all.Go(func() { _ = e.Run(ctx) })
			time.Sleep(24 * time.Hour)
			entry, _, _ := m.Resolve(ctx, other)
			if len(entry.Pieces) != 2 || entry.Pieces[0].Disk == 2 || entry.Pieces[1].Disk == 2 {
				t.Errorf("the other file: %+v", entry.Pieces)
			}
			if n := o.Panics.Count(); n < 24 || n > 48 {
				t.Errorf("%d panics in a day", n)
			}
			jobs, err := e.Jobs(ctx)
			if err != nil || len(jobs) != 1 || jobs[0].Failed != 1 || jobs[0].State != adminapi.JobStalled {
				t.Errorf("jobs: %+v, %v", jobs, err)
			}
			if !drained {
				if report, err := e.Fsck(ctx, false); err != nil || len(report.Problems) == 0 {
					t.Errorf("fsck: %+v, %v", report, err)
				}
			}
		})
	}
}

// defectiveWorker panics in each step.
type defectiveWorker struct{ steps int }

func (*defectiveWorker) Name() string { return "defective" }

func (w *defectiveWorker) Step(context.Context) (time.Duration, error) {
	w.steps++
	panic("a defect")
}

// TestAStepThatPanicsIsDoneAgain: the others work on, and the worker does not take a processor.
func TestAStepThatPanicsIsDoneAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, w := newMiniature(t), new(defectiveWorker)
		o := m.options()
		o.Panics, o.Workers = contain.New(nil), []Worker{w}
		e := New(o)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := e.Run(ctx); err != nil {
			t.Error(err)
		}
		if w.steps < 2 || w.steps > 13 || o.Panics.Count() != int64(w.steps) {
			t.Errorf("%d steps in a minute, %d panics", w.steps, o.Panics.Count())
		}
	})
}
