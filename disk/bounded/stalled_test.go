package bounded_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestManyStuckCalls: a dead device gets a bounded number of calls, and all others fail at once.
func TestManyStuckCalls(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.put(t, 1, "one")
		r, err := b.Open(pieceID(1))
		if err != nil {
			t.Fatal(err)
		}
		release := b.hang(vfs.Fault{Ops: []vfs.Op{vfs.OpRead}})
		read := func() error {
			_, err := r.ReadPages(make([]byte, 1), nil, 0)
			return err
		}
		var group sync.WaitGroup
		for range 1000 {
			group.Go(func() { wantStalled(t, "read", read(), errs.Timeout) })
		}
		if d := took(group.Wait); d > 31*time.Second {
			t.Errorf("a thousand reads took %v", d)
		}
		// Some workers made calls, and the rest of the calls waited for a worker; none came after.
		refused := 0
		for range 100 {
			if d := took(func() { err = read() }); d == 0 {
				wantStalled(t, "read on a stalled disk", err, errs.Unavailable)
				refused++
			}
		}
		if refused != 100 {
			t.Errorf("%d of 100 reads were refused", refused)
		}
		release()
		b.wantHealth(t, hemera.HealthOK)
		if err := read(); err != nil {
			t.Errorf("when the disk answers: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestReadsOfAStalledDisk: one stuck call does not keep the rest of the disk from its readers, and a few more stuck ones
// do.
func TestReadsOfAStalledDisk(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.put(t, 1, "one")
		b.put(t, 2, "two")
		w := b.create(t, 3)
		release := b.hang(vfs.Fault{Ops: []vfs.Op{vfs.OpWrite}, Pattern: pieceID(3).String()})
		wantStalled(t, "write", w.WritePages([]byte("x"), nil, 0), errs.Timeout)
		for _, n := range []int{1, 2} {
			r, err := b.Open(pieceID(n))
			if err != nil {
				t.Fatalf("open on a stalled disk: %v", err)
			}
			p := make([]byte, 3)
			if _, err := r.ReadPages(p, nil, 0); err != nil {
				t.Errorf("read on a stalled disk: %v", err)
			}
			_ = r.Close()
		}
		began := time.Now()
		for what, err := range map[string]error{
			"write": w.WritePages([]byte("x"), nil, 0), "truncate": w.Truncate(0), "sync": w.Sync(), "abort": w.Abort(),
		} {
			wantStalled(t, what+" of the piece that is stuck", err, errs.Timeout)
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("a writer that is at its end waited %v", d)
		}
		release()
		if names := b.left(t); len(names) > 0 {
			t.Errorf("left on the disk: %v", names)
		}
		b.put(t, 3, "three")
	})
}

// TestStuckReader: a reader that was closed while its call was stuck is closed when that returns, and not before.
func TestStuckReader(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.put(t, 1, "one")
		r, err := b.Open(pieceID(1))
		if err != nil {
			t.Fatal(err)
		}
		release := b.hang(vfs.Fault{Ops: []vfs.Op{vfs.OpRead}, Count: 1})
		_, err = r.ReadPages(make([]byte, 3), nil, 0)
		wantStalled(t, "read", err, errs.Timeout)
		p := make([]byte, 3)
		if _, err := r.ReadPages(p, nil, 0); err != nil || string(p) != "one" {
			t.Errorf("another read of a reader with a stuck call: %q, %v", p, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if s := b.Status(); s.Load.ReadOpens != 1 {
			t.Errorf("%d readers are open while a call is stuck", s.Load.ReadOpens)
		}
		if _, err := r.ReadPages(p, nil, 0); err == nil || disk.IsStalled(err) {
			t.Errorf("read of a closed reader: %v", err)
		}
		release()
		if s := b.Status(); s.Load.ReadOpens != 0 {
			t.Errorf("%d readers are open when it has returned", s.Load.ReadOpens)
		}
	})
}

// TestLateBuffers: what a call writes late into its caller's buffer is the call's business: the caller has dropped it.
// The race detector holds that nothing of the package touches results afterwards.
func TestLateBuffers(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.put(t, 1, "one")
		r, err := b.Open(pieceID(1))
		if err != nil {
			t.Fatal(err)
		}
		release := b.hang(vfs.Fault{Ops: []vfs.Op{vfs.OpRead}})
		p := make([]byte, 3)
		n, err := r.ReadPages(p, nil, 0)
		wantStalled(t, "read", err, errs.Timeout)
		if n != 0 {
			t.Errorf("%d bytes of a stuck call", n)
		}
		release()
		if !bytes.Equal(p, []byte("one")) {
			t.Errorf("the call did not own its buffer: %q", p)
		}
		_ = r.Close()
	})
}

// TestPictureOfAStalledDisk: a look that does not return holds nobody up, and the last picture stays but for the health.
func TestPictureOfAStalledDisk(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		before := b.Status()
		release := b.hang(vfs.Fault{Ops: []vfs.Op{vfs.OpSpace}})
		for i := range 3 {
			var s disk.Status
			most := []time.Duration{3 * time.Second, 0, 0}[i]
			if d := took(func() { s = b.Status() }); d > most {
				t.Errorf("status %d took %v", i, d)
			}
			if s.Health != hemera.HealthFailing || !strings.Contains(s.Why, "not answered since") || s.UUID != before.UUID || s.Capacity != before.Capacity {
				t.Errorf("status %d: %+v", i, s)
			}
		}
		_, err := b.Create(pieceID(1), disk.CreateOptions{})
		wantStalled(t, "create", err, errs.Unavailable)
		release()
		b.wantHealth(t, hemera.HealthOK)
	})
}

// TestSilentDiskIsFailing: a disk whose calls do not return is failing before their deadline, until one returns.
func TestSilentDiskIsFailing(t *testing.T) {
	for _, op := range []vfs.Op{vfs.OpWrite, vfs.OpSync, vfs.OpRead} {
		t.Run(string(op), func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bench) {
				b.put(t, 1, "x")
				release := b.hang(vfs.Fault{Ops: []vfs.Op{op}, Pattern: pieceID(2).String(), Count: 1, Err: syscall.EIO})
				go func() {
					w := b.create(t, 2)
					_ = w.WritePages([]byte("x"), nil, 0)
					_, _ = w.ReadPages(make([]byte, 1), nil, 0)
					_, _ = w.Seal(hemera.SealInfo{FileSize: 1, Sync: true})
				}()
				time.Sleep(15 * time.Second)
				b.wantHealth(t, hemera.HealthOK)
				time.Sleep(30 * time.Second)
				b.wantHealth(t, hemera.HealthFailing)
				_, err := b.Create(pieceID(3), disk.CreateOptions{})
				wantStalled(t, "create", err, errs.Unavailable)
				release()
				b.wantHealth(t, hemera.HealthOK)
			})
		})
	}
}

// TestSilentScrub: work of the store itself that does not return makes the disk failing too.
func TestSilentScrub(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.put(t, 1, "x")
		ctx, cancel := context.WithCancel(t.Context())
		var scrub sync.WaitGroup
		scrub.Go(func() { b.Scrub(ctx, disk.ScrubOptions{Rate: func() int64 { return 1 << 20 }}) })
		release := b.hang(vfs.Fault{Ops: []vfs.Op{vfs.OpRead}, Pattern: pieceID(1).String()})
		failing := 0
		for range 150 { // as a node reports; a scrub begins after a minute
			time.Sleep(time.Second)
			if b.Status().Health == hemera.HealthFailing {
				failing++
			}
		}
		if failing < 50 {
			t.Errorf("the disk was failing for %d s", failing)
		}
		cancel()
		if d := took(scrub.Wait); d > 2*time.Second {
			t.Errorf("the end of a stuck scrub took %v", d)
		}
		release()
		b.wantHealth(t, hemera.HealthOK)
	})
}

// TestLongCalls: what takes many steps may last as long as its steps return.
func TestLongCalls(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		for n := range 40 {
			b.put(t, n+1, "x")
			b.Reopen(pieceID(n + 1))
		}
		var gates []chan struct{}
		for n := range 40 {
			gate := make(chan struct{})
			gates = append(gates, gate)
			b.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpRead}, Pattern: pieceID(n + 1).String(), Count: 1, Wait: gate})
		}
		go func() {
			for _, gate := range gates {
				time.Sleep(4 * time.Second)
				close(gate)
			}
		}()
		var list []hemera.PieceStat
		var err error
		d := took(func() { list, err = b.Scan(hemera.PieceID{}, 100) })
		if err != nil || len(list) != 40 || d < 2*time.Minute {
			t.Errorf("%d pieces in %v: %v", len(list), d, err)
		}
	})
}

// TestCancel: the end of a process waits for no device, and closes what it can.
func TestCancel(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.put(t, 1, "one")
		r, err := b.Open(pieceID(1))
		if err != nil {
			t.Fatal(err)
		}
		w := b.create(t, 2)
		release := b.hang(vfs.Fault{Ops: []vfs.Op{vfs.OpWrite, vfs.OpRead}})
		var group sync.WaitGroup
		group.Go(func() { wantStalled(t, "write", w.WritePages([]byte("x"), nil, 0), errs.Timeout) })
		group.Go(func() {
			_, err := r.ReadPages(make([]byte, 1), nil, 0)
			wantStalled(t, "read", err, errs.Timeout)
		})
		synctest.Wait()
		b.Cancel()
		if d := took(group.Wait); d != 0 {
			t.Errorf("calls that were cancelled took %v", d)
		}
		if err := b.Remove(pieceID(1)); err == nil {
			t.Error("a call after the cancel was made")
		}
		if d := took(func() { err = b.Close() }); d > 3*time.Second {
			t.Errorf("the close took %v: %v", d, err)
		}
		_ = r.Close()
		release()
	})
}

// TestSideBySide uses a disk from many goroutines while it stalls now and then.
func TestSideBySide(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		stop := make(chan struct{})
		var stalls sync.WaitGroup
		stalls.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(7 * time.Second):
				}
				gate := make(chan struct{})
				b.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpWrite, vfs.OpSync}, Count: 3, Wait: gate})
				time.Sleep(40 * time.Second)
				close(gate)
			}
		})
		var group sync.WaitGroup
		for g := range 8 {
			group.Go(func() {
				for i := range 50 {
					id := hemera.PieceID{File: hemera.FileID(1000*g + i + 1), Gen: 1}
					content := fmt.Appendf(nil, "content of %v", id)
					w, err := b.Create(id, disk.CreateOptions{Layout: hemera.Plain()})
					if err == nil {
						err = w.WritePages(bytes.Clone(content), nil, 0)
						if err == nil {
							_, err = w.Seal(hemera.SealInfo{FileSize: int64(len(content)), Sync: true})
						} else {
							_ = w.Abort()
						}
					}
					if err != nil {
						if !disk.IsStalled(err) {
							t.Errorf("%v: %v", id, err)
						}
						time.Sleep(time.Second)
						continue
					}
					r, err := b.Open(id)
					if err != nil {
						t.Errorf("%v was sealed: %v", id, err)
						continue
					}
					p := make([]byte, len(content))
					if _, err := r.ReadPages(p, nil, 0); err != nil || !bytes.Equal(p, content) {
						t.Errorf("%v: %q, %v", id, p, err)
					}
					_ = r.Close()
					time.Sleep(time.Second)
				}
			})
		}
		group.Wait()
		close(stop)
		stalls.Wait()
		b.faulty.Heal()
		synctest.Wait()
		b.wantHealth(t, hemera.HealthOK)
		if names := b.left(t); len(names) > 0 {
			t.Errorf("left on the disk: %v", names)
		}
	})
}
