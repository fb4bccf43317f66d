package disk

import (
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/platform/vfs"
)

// A disk whose calls do not return is failing until one returns.
func TestSilentDiskIsFailing(t *testing.T) {
	for _, op := range []vfs.Op{vfs.OpWrite, vfs.OpSync, vfs.OpRead} {
		t.Run(string(op), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newMemoryDisk(t, 0, Options{Now: time.Now})
				store(t, d.Disk, pieceID(1), []byte("x"), 1)
				release := make(chan struct{})
				d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{op}, Pattern: pieceID(2).String(), Count: 1, Wait: release, Err: syscall.EIO})
				go func() {
					w, err := d.Create(pieceID(2), CreateOptions{})
					if err != nil {
						t.Error(err)
						return
					}
					_ = w.WritePages([]byte("x"), nil, 0)
					_, _ = w.ReadPages(make([]byte, 1), nil, 0)
					_, _ = w.Seal(hemera.SealInfo{FileSize: 1, Sync: true})
				}()
				time.Sleep(silence / 2)
				if s := d.Status(); s.Health != hemera.HealthOK {
					t.Errorf("soon after: %v, %s", s.Health, s.Why)
				}
				time.Sleep(silence)
				if s := d.Status(); s.Health != hemera.HealthFailing || !strings.Contains(s.Why, "not answered") {
					t.Errorf("while it hangs: %v, %s", s.Health, s.Why)
				}
				_, err := d.Create(pieceID(3), CreateOptions{})
				wantKind(t, "create", err, errs.Unavailable)
				close(release)
				synctest.Wait()
				if s := d.Status(); s.Health != hemera.HealthOK {
					t.Errorf("when it answered: %v, %s", s.Health, s.Why)
				}
			})
		})
	}
}
