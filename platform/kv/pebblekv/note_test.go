package pebblekv

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestNotes: the log says that its last batch is durable when nothing came behind it for a while, once, and not before.
func TestNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, m := vfs.NewMem(), mark{1, 2, 3}
		file, err := fs.Create("1.log", vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		l := newLog(files{fs: fs, file: file, max: 1 << 20}, m, 4)
		written := func() (numbers []uint64) {
			synctest.Wait()
			file, err := fs.Open("1.log")
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(file)
			if err != nil {
				t.Fatal(err)
			}
			_ = file.Close()
			for _, r := range found(t, content, m) {
				if len(r.batch) == 0 && r.durable != r.number {
					t.Errorf("a note of %d says %d", r.number, r.durable)
				}
				numbers = append(numbers, r.number)
			}
			return numbers
		}
		wait := func(d time.Duration, want int) {
			time.Sleep(d)
			if got := written(); len(got) != want {
				t.Errorf("records %v, not %d of them", got, want)
			}
		}
		wait(2*noteAfter, 0)
		for number := uint64(5); number < 8; number++ {
			if err := l.append(number, []byte("batch")); err != nil {
				t.Fatal(err)
			}
			wait(noteAfter/2, int(number)-4)
		}
		wait(noteAfter, 4)
		wait(2*noteAfter, 4)
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
		wait(2*noteAfter, 4)
	})
}
