package sim

import (
	"log/slog"
	"testing"
	"time"

	"hemera/disk"
	"hemera/disk/disktest"
)

// TestStore holds the disks of the simulator, while nothing is wrong with them, to what every disk must do.
func TestStore(t *testing.T) {
	disktest.Run(t, func(t *testing.T) disk.Store {
		d, err := newDrive("/disk", 0, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		s, err := d.openDisk(&world{log: slog.New(slog.DiscardHandler)}, newProcess(), true)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
