package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// hangingBench makes a bench whose first host's disk goes through faults.
func hangingBench(t *testing.T, hosts int) (*bench, *vfs.Faulty) {
	var first *vfs.Faulty
	b := makeBench(t, hosts, func() (vfs.FS, string) {
		m := vfs.NewMemory(64<<20, time.Now)
		if err := m.Mkdir("/disk"); err != nil {
			t.Fatal(err)
		}
		f := vfs.NewFaulty(m)
		if first == nil {
			first = f
		}
		return f, "/disk"
	})
	return b, first
}

// TestOwnDiskHangs: a disk of the head itself that never answers costs the write one piece, which
// moves to another disk, whichever call hangs. Meanwhile the disk is failing, and says why; when it
// answers again nothing of the write is left on it.
func TestOwnDiskHangs(t *testing.T) {
	for name, hang := range map[string]vfs.Fault{
		"begin":           {Ops: []vfs.Op{vfs.OpOpen}, Pattern: "/disk/pending/*", Err: syscall.EIO},
		"begin, and late": {Ops: []vfs.Op{vfs.OpOpen}, Pattern: "/disk/pending/*"},
		"write":           {Ops: []vfs.Op{vfs.OpWrite}, Skip: 2, Err: syscall.EIO},
		"truncate":        {Ops: []vfs.Op{vfs.OpTruncate}, Err: syscall.EIO},
		"seal":            {Ops: []vfs.Op{vfs.OpSync}, Err: syscall.EIO},
		"seal, and late":  {Ops: []vfs.Op{vfs.OpSync}},
		"move":            {Ops: []vfs.Op{vfs.OpRename}, Err: syscall.EIO},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, faulty := hangingBench(t, 4)
				synctest.Wait() // the disks have counted their pieces, and lock nothing for that
				b.manager.spare = []int{4}
				_, c := b.grant(30, 3, 1, 2, 3)
				c.Sync = true
				token := b.manager.sign(c)
				f := b.begin(1, token)
				release := make(chan struct{})
				hang.Wait = release
				faulty.Inject(hang)
				p := content(300_000)
				if err := writeAll(f, p, 30_011); err != nil {
					t.Fatal(err)
				}
				if err := f.Truncate(250_000); err != nil {
					t.Fatal(err)
				}
				if err := f.End(ctx, hemera.EndClose); err != nil {
					t.Fatal(err)
				}
				checkSums(t, b.manager.commit(t, c), p[:250_000])
				own := b.hosts[0].disk.Store
				if s := own.Status(); s.Health != hemera.HealthFailing || !strings.Contains(s.Why, "not answered since") {
					t.Errorf("while it hangs the disk is %v: %s", s.Health, s.Why)
				}
				if _, err := own.Create(hemera.PieceID{File: 99, Gen: 1}, disk.CreateOptions{}); !isKind(err, errs.Unavailable) {
					t.Errorf("a piece could be begun on a disk that hangs: %v", err)
				}
				faulty.Heal()
				close(release)
				synctest.Wait()
				if s := own.Status(); s.Health != hemera.HealthOK {
					t.Errorf("when it answers again the disk is %v: %s", s.Health, s.Why)
				}
				if names, err := faulty.ReadDir("/disk/pending"); err != nil || len(names) > 0 {
					t.Errorf("left on the disk: %v, %v", names, err)
				}
				b.mustHave(c, 2, 3, 4)
				b.mustRead(c, p[:250_000])
			})
		})
	}
}

// TestOnlyDiskHangs: with nowhere else to go, the close fails in bounded time.
func TestOnlyDiskHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, faulty := hangingBench(t, 2)
		_, c := b.grant(31, 1, 1)
		c.Sync = true
		f := b.begin(1, b.manager.sign(c))
		release := make(chan struct{})
		faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpSync}, Wait: release, Err: syscall.EIO})
		if err := f.WritePages(content(5000), nil, 0); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := f.End(ctx, hemera.EndClose); !isKind(err, errs.Timeout) {
			t.Errorf("close: %v", err)
		}
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("it took %v", took)
		}
		close(release)
		synctest.Wait()
		b.mustHave(c)
	})
}

// TestOnlyDiskHangsInWrite: a write with one piece waits for its disk, but nobody else waits for that write:
// after a while it fails, and everything but the call that hangs says so at once.
func TestOnlyDiskHangsInWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, faulty := hangingBench(t, 2)
		b.noSmall()
		_, c := b.grant(32, 1, 1)
		token := b.manager.sign(c)
		f := b.begin(1, token)
		if err := f.WritePages(content(5000), nil, 0); err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpWrite}, Wait: release})
		hung := make(chan error, 1)
		go func() { hung <- f.WritePages(content(5000), nil, 5000) }()
		time.Sleep(29 * time.Second)
		if s := f.Info(); s.Size != 5000 {
			t.Errorf("while a write hangs the file has %d bytes", s.Size)
		}
		select {
		case err := <-hung:
			t.Errorf("too early: %v", err)
		default:
		}
		time.Sleep(2 * time.Second)
		began := time.Now()
		for i, call := range []func() error{
			func() error { return f.WritePages(content(1), nil, 0) },
			func() error { _, err := f.ReadPages(make([]byte, 1), nil, 0); return err },
			func() error { return f.Truncate(1) },
			func() error { return f.Sync(ctx) },
			func() error {
				_, err := b.hosts[0].Open(ctx, hemera.ParsePermit(token), hemera.NodeOpen{Truncate: true})
				return err
			},
			func() error { return f.End(ctx, hemera.EndClose) },
		} {
			if err := call(); !isKind(err, errs.IO) || !strings.Contains(err.Error(), "not answered for 30s") {
				t.Errorf("call %d: %v", i, err)
			}
		}
		_ = f.Info()
		if time.Since(began) > 0 {
			t.Error("somebody waited for the disk")
		}
		faulty.Heal()
		close(release)
		if err := <-hung; !isKind(err, errs.IO) || !hemera.KeepsBuffers(err) {
			t.Errorf("the call that hung: %v", err)
		}
		time.Sleep(2 * hemera.PendingHold)
		if names, err := faulty.ReadDir("/disk/pending"); err != nil || len(names) > 0 {
			t.Errorf("left on the disk: %v, %v", names, err)
		}
		b.mustHave(c)
	})
}

// TestOnlyDiskHangsInCopy: the content that an update begins from is copied by whatever changes it first, also
// by calls other than writes: they fail at the deadline of the disk.
func TestOnlyDiskHangsInCopy(t *testing.T) {
	for name, call := range map[string]func(f hemera.File) error{
		"truncate": func(f hemera.File) error { return f.Truncate(5000) },
		"close": func(f hemera.File) error {
			f.(hemera.XattrSetter).SetXattr("user.a", []byte("b"))
			return f.End(ctx, hemera.EndClose)
		},
		"sync of a short content": func(f hemera.File) error {
			if err := errors.Join(f.Truncate(0), f.WritePages(content(5000), nil, 0)); err != nil {
				t.Error(err)
			}
			return f.Sync(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, faulty := hangingBench(t, 2)
				base := b.put(34, content(100_000), 2)
				token, _ := b.update(base, 1, 1)
				f := b.open(1, token, hemera.NodeOpen{})
				release := make(chan struct{})
				faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpWrite}, Wait: release})
				began := time.Now()
				if err := call(f); !isKind(err, errs.Timeout) || time.Since(began) > time.Minute {
					t.Errorf("%v, after %v", err, time.Since(began))
				}
				close(release)
				f.End(ctx, hemera.EndDetach)
				time.Sleep(2 * hemera.PendingHold)
				if names, err := faulty.ReadDir("/disk/pending"); err != nil || len(names) > 0 {
					t.Errorf("left on the disk: %v, %v", names, err)
				}
			})
		})
	}
}

// A disk whose label and room cannot even be looked at does not hold up its node's report.
func TestLookThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, faulty := hangingBench(t, 1)
		own := b.hosts[0].disk.Store
		release := make(chan struct{})
		faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpSpace}, Wait: release})
		for range 3 {
			if s := own.Status(); s.Health != hemera.HealthFailing {
				t.Errorf("the disk is %v", s.Health)
			}
		}
		close(release)
		synctest.Wait()
		if s := own.Status(); s.Health != hemera.HealthOK {
			t.Errorf("the disk is %v: %s", s.Health, s.Why)
		}
	})
}

// checkContent reads a file that has the content p, and closes it.
func checkContent(t *testing.T, what string, f hemera.File, p []byte) {
	t.Helper()
	got := make([]byte, len(p))
	if _, err := f.ReadPages(got, nil, 0); err != nil || !bytes.Equal(got, p) {
		t.Errorf("%s: %v", what, err)
	}
	_ = f.End(ctx, hemera.EndClose)
}

// TestReadsLeaveADiskThatHangs: a disk of the head itself that is known to hang is not read while another
// piece can be, by files that are open already and by new ones; without another it is.
func TestReadsLeaveADiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, faulty := hangingBench(t, 2)
		p := content(100_000)
		c := b.put(32, p, 1, 2)
		alone := b.put(33, p, 1)
		token, _ := b.read(c)
		early := b.open(1, token, hemera.NodeOpen{})
		release := make(chan struct{})
		faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpOpen, vfs.OpRead}, Wait: release})
		go func() { _, _ = b.hosts[0].disk.Open(hemera.PieceID{File: 99, Gen: 1}) }()
		time.Sleep(time.Minute)
		if !b.hosts[0].disk.Stalled() {
			t.Error("the disk is not known to be stalled")
		}
		checkContent(t, "open before", early, p)
		checkContent(t, "opened since", b.open(1, token, hemera.NodeOpen{}), p)
		faulty.Heal()
		token, _ = b.read(alone)
		checkContent(t, "the only piece", b.open(1, token, hemera.NodeOpen{}), p)
		close(release)
		synctest.Wait()
		if b.hosts[0].disk.Stalled() {
			t.Error("the disk is still stalled")
		}
	})
}

// TestACodedWriteEndsOverADiskThatHangs: the bytes that are overwritten are read back from the disk of the head. If that hangs, and
// too few pieces are left, the write fails. It does not read again and again.
func TestACodedWriteEndsOverADiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, faulty := hangingBench(t, 3)
		b.layout = small(hemera.ReedSolomon(2, 1))
		b.noSmall()
		token, c := b.grant(80, 2, 1, 2, 3)
		f := b.begin(1, token)
		block := int(c.Layout.BlockSize)
		if err := f.WritePages(content(2*block), nil, 0); err != nil {
			t.Fatal(err)
		}
		b.peers.fail(2, &fault{step: "write", err: errGone})
		if err := f.WritePages(content(block), nil, int64(block)); err != nil {
			t.Fatalf("without one piece: %v", err)
		}
		release := make(chan struct{})
		faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpRead}, Wait: release})
		done := make(chan error, 1)
		go func() { done <- f.WritePages(content(100), nil, 0) }()
		select {
		case err := <-done:
			if err == nil {
				t.Error("accepted without two pieces")
			}
		case <-time.After(5 * time.Minute):
			t.Error("it does not end")
		}
		if err := f.End(ctx, hemera.EndClose); err == nil {
			t.Error("it was closed")
		}
		close(release)
		time.Sleep(2 * hemera.PendingHold)
		b.mustHave(c)
	})
}

// TestASmallCodedFileIsOpenedWithItsPiece: the open of a file of one block waits for the piece of its own node, which the read then
// finds open. A disk that hangs is waited for as long as a read would, and the file comes from the other pieces.
func TestASmallCodedFileIsOpenedWithItsPiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, faulty := hangingBench(t, 3)
		b.layout = small64(hemera.ReedSolomon(2, 1))
		p := content(4096)
		c := b.put(81, p, 1, 2, 3)
		token, _ := b.read(c)
		open := func() hemera.File {
			b.hosts[0].disk.Store.(interface{ Reopen(hemera.PieceID) }).Reopen(hemera.PieceID{File: c.File, Gen: c.Gen})
			return b.open(1, token, hemera.NodeOpen{})
		}
		before := faulty.Calls(vfs.OpOpen)
		f := open()
		if got := faulty.Calls(vfs.OpOpen) - before; got != 1 {
			t.Errorf("its open made %d opens on the disk", got)
		}
		checkContent(t, "a disk that answers", f, p)
		if got := faulty.Calls(vfs.OpOpen) - before; got != 1 {
			t.Errorf("the open and a read made %d opens on the disk", got)
		}
		release := make(chan struct{})
		faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpOpen}, Wait: release})
		began := time.Now()
		checkContent(t, "a disk that hangs", open(), p)
		if took := time.Since(began); took == 0 || took > 5*time.Second {
			t.Errorf("a disk that hangs held up open and read for %v", took)
		}
		close(release)
		synctest.Wait()
	})
}

// TestWaitForAStalledWriteEndsWithItsContext: a sync behind a write that waits for a disk fails as soon as its caller is gone, and the write
// goes on.
func TestWaitForAStalledWriteEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, faulty := hangingBench(t, 1)
		_, c := b.grant(32, 1, 1)
		f := b.begin(1, b.manager.sign(c))
		release := make(chan struct{})
		faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpWrite}, Wait: release})
		p := content(300_000)
		written := make(chan error, 1)
		go func() { written <- f.WritePages(p, nil, 0) }()
		synctest.Wait()
		began := time.Now()
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := f.Sync(short); !isKind(err, errs.Timeout) {
			t.Errorf("sync: %v", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("the sync waited for %v", took)
		}
		faulty.Heal()
		close(release)
		if err := <-written; err != nil {
			t.Error(err)
		}
		if err := f.End(ctx, hemera.EndClose); err != nil {
			t.Error(err)
		}
		b.mustRead(c, p)
	})
}
