package disk

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hemera/platform/contain"
	"hemera/platform/vfs"
	"hemera/words/hemera"
)

// TestScrubFindsWhatIsBad: in pages, table, footer and size, at no more than its rate; it goes on where it
// stopped, and begins again when it is time.
func TestScrubFindsWhatIsBad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count, size, rate = 40, 64 << 10, 16 << 10
		d := newMemoryDisk(t, 0, Options{})
		d.opt.Now = time.Now
		want := []hemera.PieceID{pieceID(5), pieceID(13), pieceID(21), pieceID(39)}
		at := []int64{100, tableOff(size) + 1, footerOff(size) + 30, size - 1}
		for i := range count {
			store(t, d.Disk, pieceID(i+1), randomBytes(uint64(i), size), size)
		}
		for i, id := range want {
			if err := d.memory.Corrupt(d.sealedPath(id), at[i], 1); err != nil {
				t.Fatal(err)
			}
		}
		var found []hemera.PieceID
		scrub := func(d *Disk, most time.Duration) (took time.Duration) {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), most)
			defer cancel()
			done := make(chan struct{})
			go func() {
				defer close(done)
				d.Scrub(ctx, ScrubOptions{Rate: func() int64 { return rate }, Bad: func(p hemera.PieceID) { found = append(found, p) }})
			}()
			<-done
			return time.Since(began)
		}
		const whole = count * size / rate * time.Second
		scrub(d.Disk, scrubRest+whole/2)
		if n := len(found); n == 0 || n == len(want) || !d.Status().LastScrub.IsZero() {
			t.Fatalf("%d bad pieces were found in half the time, scrubbed at %s", n, d.Status().LastScrub)
		}
		again, err := Open(d.faulty, "/d", Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = again.Close() }()
		scrub(again, scrubRest+whole*3/4)
		if !slices.Equal(found, want) || again.Status().LastScrub.IsZero() {
			t.Fatalf("found %v, want each of %v once; scrubbed at %s", found, want, again.Status().LastScrub)
		}
		found = nil
		first := again.Status().LastScrub
		scrub(again, ScrubInterval/2)
		if len(found) > 0 {
			t.Error("the disk is scrubbed again before its time")
		}
		scrub(again, ScrubInterval)
		if !slices.Equal(found, want) || !again.Status().LastScrub.After(first.Add(ScrubInterval)) {
			t.Errorf("the second scrub found %v, and ended at %s", found, again.Status().LastScrub)
		}
		if h := again.Status().Health; h != hemera.HealthOK {
			t.Errorf("four bad bytes make the disk %s", h)
		}
	})
}

// defectiveFiles panics when one of its files is opened.
type defectiveFiles struct {
	vfs.FS
	path string
}

func (f *defectiveFiles) Open(path string, flags int) (vfs.File, error) {
	if path == f.path {
		panic("a defect in an open")
	}
	return f.FS.Open(path, flags)
}

// TestAPieceThatPanicsDoesNotEndTheScrub: those behind it are read in the same pass.
func TestAPieceThatPanicsDoesNotEndTheScrub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 64 << 10
		d := newMemoryDisk(t, 0, Options{})
		for i := range 5 {
			store(t, d.Disk, pieceID(i+1), randomBytes(uint64(i), size), size)
		}
		if err := d.memory.Corrupt(d.sealedPath(pieceID(5)), 100, 1); err != nil {
			t.Fatal(err)
		}
		again, err := Open(&defectiveFiles{d.faulty, d.sealedPath(pieceID(3))}, "/d", Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = again.Close() }()
		panics, found := contain.New(nil), []hemera.PieceID(nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		again.Scrub(ctx, ScrubOptions{Rate: func() int64 { return size }, Panics: panics, Bad: func(p hemera.PieceID) { found = append(found, p) }})
		if panics.Count() != 1 || !slices.Equal(found, []hemera.PieceID{pieceID(5)}) || again.Status().LastScrub.IsZero() {
			t.Errorf("%d panics, bad %v, scrubbed at %s", panics.Count(), found, again.Status().LastScrub)
		}
	})
}
