package disk

import (
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A process that has run out of open files or memory cannot look at its disks. That is not the disks' fault:
// what was known of them stays, and one line a minute says so.
func TestARunOutProcessBlamesNoDisk(t *testing.T) {
	for _, why := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN} {
		for _, op := range []vfs.Op{vfs.OpOpen, vfs.OpSpace} {
			var log strings.Builder
			d := newMemoryDisk(t, 1<<30, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			before := d.Status()
			d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{op}, Count: 20, Err: why})
			for range 20 {
				d.now = d.now.Add(2 * time.Second)
				if s := d.Status(); s.Health != hemera.HealthOK || s.Free != before.Free {
					t.Fatalf("%v, %v: %v, %s, %d free", op, why, s.Health, s.Why, s.Free)
				}
			}
			if n := strings.Count(log.String(), "\n"); n != 1 {
				t.Errorf("%v, %v: %d lines in 40 s:\n%s", op, why, n, log.String())
			}
			d.now = d.now.Add(2 * time.Second)
			if s := d.Status(); s.Health != hemera.HealthOK {
				t.Errorf("afterwards: %v", s.Health)
			}
		}
		if kind := errs.KindOf(why); kind != errs.Overloaded {
			t.Errorf("%v is %v", why, kind)
		}
	}
}
