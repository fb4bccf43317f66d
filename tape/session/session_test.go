package session_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"hemera/tape/device"
	"hemera/tape/session"
	"hemera/tape/volume"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

func TestFilesGoToTapeAndComeBack(t *testing.T) {
	w := newWorld(t)
	for i := range 40 {
		w.queue = append(w.queue, job(i+1, rand.Int64N(1<<20)+1))
	}
	s, err := w.archive(t.Context(), small())
	if err != nil || s.Files != 40 || s.Flushes < 5 || len(w.copies) != 40 {
		t.Errorf("%+v, %v, %d copies", s, err, len(w.copies))
	}
	w.verifyCopies()
}

func TestSmallFilesShareAContainer(t *testing.T) {
	w := newWorld(t)
	l := small()
	l.PackBelow, l.PackBytes, l.BatchFiles = 200_000, 1<<20, 50
	for i := range 60 {
		size := rand.Int64N(100_000) + 1
		if i%20 == 19 {
			size = 700_000
		}
		w.queue = append(w.queue, job(i+1, size))
	}
	w.broken[5] = -1
	w.broken[6] = 0
	if s, err := w.archive(t.Context(), l); err != nil || s.Files != 58 {
		t.Errorf("%+v, %v", s, err)
	}
	members := 0
	for _, c := range w.copies {
		if c.Member > 0 {
			members++
		}
	}
	if len(w.copies) != 58 || members < 40 {
		t.Errorf("%d copies, %d of them members", len(w.copies), members)
	}
	if !w.failed[5].Void || !strings.Contains(w.failed[5].Error, "it was removed") || strings.Contains(w.failed[5].Error, "test.Open") || w.failed[6].Void || w.failed[6].Error == "" {
		t.Errorf("%+v", w.failed)
	}
	w.verifyCopies()
}

func TestAFileThatFailsOnDiskFailsAlone(t *testing.T) {
	w := newWorld(t)
	for i := range 10 {
		w.queue = append(w.queue, job(i+1, 2<<20))
	}
	w.broken[2] = 0       // before its first byte
	w.broken[4] = 1 << 20 // in the middle
	w.broken[9] = -1      // gone
	w.queue[6].Checksum[0] = adler([]byte("another content"))
	w.queue[7].Size = 0
	if s, err := w.archive(t.Context(), small()); err != nil || s.Files != 5 || s.Failed != 5 {
		t.Errorf("%+v, %v", s, err)
	}
	if len(w.copies) != 5 || !w.failed[9].Void || w.failed[2].Void || w.failed[4].Void || w.failed[7].Error == "" {
		t.Errorf("%d copies, %+v", len(w.copies), w.failed)
	}
	w.verifyCopies()
	// The index says which places are dead.
	dead := 0
	if err := w.volume().Scan(t.Context(), volume.ScanOptions{}, func(r volume.Record) error {
		if r.Kind == volume.KindDead {
			dead++
		}
		return nil
	}); err != nil || dead != 2 {
		t.Errorf("%d dead files, %v", dead, err)
	}
}

// TestAPanicFailsItsFileAlone, on the way to tape, in a container or not, and back; the copy on tape is not blamed.
func TestAPanicFailsItsFileAlone(t *testing.T) {
	for _, packed := range []bool{false, true} {
		w, limits := newWorld(t), small()
		if packed {
			limits.PackBelow, limits.PackBytes = 1<<20, 2<<20
		}
		for i := range 10 {
			w.queue = append(w.queue, job(i+1, 200_000))
		}
		w.defects[2], w.defects[4] = "opening", "reading"
		if s, err := w.archive(t.Context(), limits); err != nil || s.Files != 8 || s.Failed != 2 || w.panics.Count() != 2 {
			t.Errorf("%+v, %v, %d panics", s, err, w.panics.Count())
		}
		if len(w.copies) != 8 || w.failed[2].Error == "" || w.failed[4].Void {
			t.Errorf("%d copies, %+v", len(w.copies), w.failed)
		}
		w.defects[1], w.defects[3], w.defects[5] = "creating", "writing", "committing"
		w.request(tapeapi.Recall, 1, 3, 5, 6, 7)
		if s, err := w.recall(t.Context(), limits); err != nil || s.Files != 2 || s.Failed != 3 || w.panics.Count() != 5 {
			t.Errorf("%+v, %v, %d panics", s, err, w.panics.Count())
		}
		for _, id := range []hemera.FileID{1, 3, 5} {
			if f := w.failed[id]; f.Error == "" || f.Copy || f.Void {
				t.Errorf("file %d: %+v", id, f)
			}
		}
		clear(w.defects)
		w.verifyCopies()
	}
}

// TestAPanicAtTheTapeEndsTheSession, with an error and nothing left behind.
func TestAPanicAtTheTapeEndsTheSession(t *testing.T) {
	w := newWorld(t)
	for i := range 10 {
		w.queue = append(w.queue, job(i+1, 900_000))
	}
	if _, err := w.archive(t.Context(), small()); err != nil {
		t.Fatal(err)
	}
	w.request(tapeapi.Recall, 1, 2, 3)
	s, err := w.recallFrom(t.Context(), &defectiveTape{Tape: w.tape, object: w.copies[2].Block + 3}, small())
	if !errors.Is(err, errs.Internal) || w.done[2] || len(w.failed) != 0 { // its jobs are given back
		t.Errorf("a recall: %+v, %v, %+v", s, err, w.failed)
	}
	w.queue = []tapeapi.Work{job(11, 900_000), job(12, 900_000)}
	v, err := volume.Open(t.Context(), &defectiveTape{Tape: w.tape, writes: 4}, vid, origin())
	if err != nil {
		t.Fatal(err)
	}
	known := volume.Known{Last: w.last}
	_, err = session.Archive(t.Context(), session.ArchiveOptions{Volume: v, Known: known, Jobs: w, Source: w, Journal: w, Common: session.Common{Limits: small(), Panics: w.panics}})
	w.quiet()
	if !errors.Is(err, errs.Internal) || len(w.copies) != 10 || w.panics.Count() != 2 {
		t.Errorf("an archive: %v, %d copies, %d panics", err, len(w.copies), w.panics.Count())
	}
}

func TestAFullTapeKeepsWhatIsComplete(t *testing.T) {
	w := newWorld(t)
	w.tape.WarnAt = 100
	for i := range 5 {
		w.queue = append(w.queue, job(i+1, 18<<20))
	}
	l := small()
	l.FlushFiles, l.FlushBytes = 1000, 1<<40
	s, err := w.archive(t.Context(), l)
	if err != nil || !w.full || s.Files == 0 || int(s.Files) != len(w.copies) || len(w.copies) > 3 {
		t.Errorf("%+v, %v, full %v, %d copies", s, err, w.full, len(w.copies))
	}
	w.verifyCopies()
}

func TestATapeErrorGivesBackWhatWasNotFlushed(t *testing.T) {
	for bad := uint64(3); bad < 90; bad += 6 {
		w := newWorld(t)
		w.tape.BadWrite = map[uint64]bool{bad: true}
		for i := range 16 {
			w.queue = append(w.queue, job(i+1, 500_000))
		}
		if s, err := w.archive(t.Context(), small()); !errors.Is(err, device.ErrMedium) || int(s.Files) != len(w.copies) {
			t.Errorf("object %d: %+v, %v, %d copies", bad, s, err, len(w.copies))
		}
		w.tape.PowerCut(0)
		w.tape.BadWrite = nil
		w.verifyCopies()
		// The next session writes the others.
		for i := range 16 {
			if _, ok := w.copies[hemera.FileID(i+1)]; !ok {
				w.queue = append(w.queue, job(i+1, 500_000))
			}
		}
		if _, err := w.archive(t.Context(), small()); err != nil || len(w.copies) != 16 {
			t.Errorf("object %d: %v, %d copies", bad, err, len(w.copies))
		}
		w.verifyCopies()
	}
}

// TestAfterACrashEveryReportedFileIsReadable ends sessions at each report, which the manager does not take, and takes the power from the drive.
func TestAfterACrashEveryReportedFileIsReadable(t *testing.T) {
	for n := range 4 {
		for _, survived := range []int{0, 1, 5, 40, 1000} {
			w := newWorld(t)
			for i := range 16 {
				w.queue = append(w.queue, job(i+1, 300_000))
			}
			w.failAtReport(n)
			_, _ = w.archive(t.Context(), small())
			w.tape.PowerCut(survived)
			w.reportErr, w.onReport = nil, nil
			before := len(w.copies)
			for i := range 16 {
				if _, ok := w.copies[hemera.FileID(i+1)]; !ok {
					w.queue = append(w.queue, job(i+1, 300_000))
				}
			}
			if _, err := w.archive(t.Context(), small()); err != nil || len(w.copies) != 16 {
				t.Errorf("report %d: %v, %d copies before, %d now", n, err, before, len(w.copies))
			}
			w.verifyCopies()
		}
	}
}

func TestAJournalThatFailsEndsTheSession(t *testing.T) {
	w := newWorld(t)
	w.reportErr = errs.New(errs.Fenced, "test.Report", "", "another server has the tape")
	for i := range 30 {
		w.queue = append(w.queue, job(i+1, 600_000))
	}
	if _, err := w.archive(t.Context(), small()); !errors.Is(err, errs.Fenced) {
		t.Errorf("%v", err)
	}
	if len(w.copies) != 0 {
		t.Errorf("%d copies", len(w.copies))
	}
	w.reportErr = nil
	w.queue = nil
	for i := range 10 {
		w.queue = append(w.queue, job(i+1, 600_000))
	}
	if _, err := w.archive(t.Context(), small()); err != nil {
		t.Fatal(err)
	}
	w.request(tapeapi.Recall, 1, 2, 3, 4, 5)
	w.reportErr = errs.New(errs.Fenced, "test.Report", "", "another server has the tape")
	if _, err := w.recall(t.Context(), small()); !errors.Is(err, errs.Fenced) {
		t.Errorf("%v", err)
	}
}

func TestACancelledArchiveKeepsWhatIsComplete(t *testing.T) {
	w := newWorld(t)
	for i := range 30 {
		w.queue = append(w.queue, job(i+1, 2<<20))
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.onReport = func(n int) {
		if n == 2 {
			cancel()
		}
	}
	s, err := w.archive(ctx, small())
	if !errors.Is(err, context.Canceled) || len(w.copies) == 0 || len(w.copies) == 30 || len(w.failed) != 0 || int(s.Files) != len(w.copies) {
		t.Errorf("%v, %d copies, %+v, %+v", err, len(w.copies), w.failed, s)
	}
	w.onReport = nil
	w.verifyCopies()
}

func TestBadCopiesFailAlone(t *testing.T) {
	w := newWorld(t)
	for i := range 10 {
		w.queue = append(w.queue, job(i+1, 900_000))
	}
	if _, err := w.archive(t.Context(), small()); err != nil {
		t.Fatal(err)
	}
	at := func(id hemera.FileID, object int) int { return max(int(w.copies[id].Block), 1) + object }
	w.tape.Damage(at(2, 5), 1000)                        // a wrong byte
	w.tape.Bad = map[uint64]bool{uint64(at(4, 6)): true} // a block that cannot be read
	w.tape.Damage(at(6, 0), 5)                           // another archive id
	w.unwritable[8] = true                               // no room on disk
	w.request(tapeapi.Recall, 1, 2, 3, 4, 5, 6, 7, 8, 9) // in order
	w.request(tapeapi.Verify, 10)                        // written nowhere
	s, err := w.recall(t.Context(), small())
	if err != nil || s.Files != 6 || s.Failed != 4 {
		t.Errorf("%+v, %v", s, err)
	}
	for id := hemera.FileID(1); id <= 10; id++ {
		failed := id == 2 || id == 4 || id == 6 || id == 8
		if w.done[id] == failed || (w.failed[id].Error != "") != failed || w.failed[id].Copy != (failed && id != 8) {
			t.Errorf("file %d: done %v, %+v", id, w.done[id], w.failed[id])
		}
	}
	if w.disk[10] != nil || w.disk[2] != nil {
		t.Error("a file is on disk that must not be")
	}
}

// TestADamagedTableFailsItsContainer: all members of a container whose table cannot be read fail, however many there are, and the files of the
// same tape behind it come back.
func TestADamagedTableFailsItsContainer(t *testing.T) {
	for _, damage := range []func(w *world, object int){
		func(w *world, object int) { w.tape.Damage(object, 3000) },
		func(w *world, object int) { w.tape.Bad = map[uint64]bool{uint64(object): true} },
	} {
		w, l := newWorld(t), small()
		l.PackBelow, l.BatchFiles = 10_000, 40
		for i := range 30 {
			w.queue = append(w.queue, job(i+1, 5000)) // a container
		}
		for i := 30; i < 36; i++ {
			w.queue = append(w.queue, job(i+1, 900_000))
		}
		if _, err := w.archive(t.Context(), l); err != nil || w.copies[1].Member == 0 {
			t.Fatalf("%v, %+v", err, w.copies[1])
		}
		table := w.copies[1].FSeq
		damage(w, max(int(w.copies[1].Block), 1)+4)
		for i := range 36 {
			w.request(tapeapi.Recall, i+1)
		}
		if s, err := w.recall(t.Context(), small()); err != nil || s.Failed == 0 {
			t.Errorf("%+v, %v", s, err)
		}
		for id := hemera.FileID(1); id <= 36; id++ {
			if bad := w.copies[id].FSeq == table; w.done[id] == bad || w.failed[id].Copy != bad {
				t.Errorf("file %d in %d: done %v, %+v", id, w.copies[id].FSeq, w.done[id], w.failed[id])
			}
		}
	}
}

// TestATableIsReadTwice: a table that cannot be read once costs one member its turn, not all.
func TestATableIsReadTwice(t *testing.T) {
	w, l := newWorld(t), small()
	l.PackBelow, l.BatchFiles = 10_000, 40
	for i := range 30 {
		w.queue = append(w.queue, job(i+1, 5000))
	}
	if _, err := w.archive(t.Context(), l); err != nil || w.copies[1].Member == 0 {
		t.Fatalf("%v, %+v", err, w.copies[1])
	}
	for i := range 30 {
		w.request(tapeapi.Recall, i+1)
	}
	tp := &flaky{w.tape, max(w.copies[1].Block, 1) + 4, 1}
	s, err := w.recallFrom(t.Context(), tp, l)
	if err != nil || s.Failed != 1 || s.Files != 29 || tp.left != 0 {
		t.Errorf("%+v, %v, %d failures left", s, err, tp.left)
	}
}

func TestACancelledRecallGivesJobsBack(t *testing.T) {
	w := newWorld(t)
	for i := range 20 {
		w.queue = append(w.queue, job(i+1, 900_000))
	}
	if _, err := w.archive(t.Context(), small()); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		w.request(tapeapi.Recall, i+1)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.onReport = func(int) { cancel() }
	if _, err := w.recall(ctx, small()); !errors.Is(err, context.Canceled) || len(w.failed) != 0 || len(w.done) == 0 {
		t.Errorf("%v, %d done, %+v", err, len(w.done), w.failed)
	}
	w.onReport = nil
	w.verifyCopies()
}
