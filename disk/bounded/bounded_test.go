package bounded_test

import (
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"hemera/disk"
	"hemera/disk/bounded"
	"hemera/platform/contain"
	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// bench is a bounded disk whose device can be made to hang.
type bench struct {
	*bounded.Store
	faulty *vfs.Faulty
}

func newBench(t *testing.T) *bench {
	t.Helper()
	memory := vfs.NewMemory(0, time.Now)
	if err := memory.Mkdir("/disk"); err != nil {
		t.Fatal(err)
	}
	faulty := vfs.NewFaulty(memory)
	if _, err := disk.Format(faulty, "/disk"); err != nil {
		t.Fatal(err)
	}
	raw, err := disk.Open(faulty, "/disk", disk.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{bounded.New(raw, nil, nil), faulty}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// hang makes calls hang until the function that it returns is called; then they go on.
func (b *bench) hang(f vfs.Fault) (release func()) {
	gate := make(chan struct{})
	f.Wait = gate
	b.faulty.Inject(f)
	return func() {
		b.faulty.Heal()
		close(gate)
		synctest.Wait()
	}
}

func pieceID(n int) hemera.PieceID { return hemera.PieceID{File: hemera.FileID(n), Gen: 1} }

func (b *bench) create(t *testing.T, n int) disk.Writer {
	t.Helper()
	w, err := b.Create(pieceID(n), disk.CreateOptions{Layout: hemera.Plain()})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (b *bench) put(t *testing.T, n int, content string) {
	t.Helper()
	w := b.create(t, n)
	if err := w.WritePages([]byte(content), nil, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Seal(hemera.SealInfo{FileSize: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
}

// left lists what is in the directory of pending pieces.
func (b *bench) left(t *testing.T) []string {
	t.Helper()
	names, err := b.faulty.ReadDir("/disk/pending")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func (b *bench) wantHealth(t *testing.T, want hemera.DiskHealth) {
	t.Helper()
	if s := b.Status(); s.Health != want {
		t.Errorf("the disk is %v, want %v: %s", s.Health, want, s.Why)
	}
}

func wantStalled(t *testing.T, what string, err error, kind errs.Kind) {
	t.Helper()
	if !errors.Is(err, kind) || !disk.IsStalled(err) {
		t.Errorf("%s: %v", what, err)
	}
}

// bubble runs a test in virtual time on a disk that has counted its pieces.
func bubble(t *testing.T, test func(t *testing.T, b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		synctest.Wait()
		test(t, b)
	})
}

// took calls f and returns how long it took.
func took(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

// deadline is a call that hangs.
type deadline struct {
	name  string
	fault vfs.Fault
	limit time.Duration
	call  func(b *bench, w disk.Writer, r disk.Reader) error
}

// deadlines returns all calls that may hang.
func deadlines() []deadline {
	return []deadline{
		{"create", vfs.Fault{Ops: []vfs.Op{vfs.OpOpen}}, 30 * time.Second, func(b *bench, _ disk.Writer, _ disk.Reader) error {
			_, err := b.Create(pieceID(9), disk.CreateOptions{})
			return err
		}},
		{"put", vfs.Fault{Ops: []vfs.Op{vfs.OpSync}}, 60 * time.Second, func(b *bench, _ disk.Writer, _ disk.Reader) error {
			_, err := b.Put(pieceID(9), disk.CreateOptions{}, disk.Content{}, hemera.SealInfo{Sync: true})
			return err
		}},
		{"open", vfs.Fault{Ops: []vfs.Op{vfs.OpOpen}}, 30 * time.Second, func(b *bench, _ disk.Writer, _ disk.Reader) error {
			_, err := b.Open(pieceID(2))
			return err
		}},
		{"remove", vfs.Fault{Ops: []vfs.Op{vfs.OpRemove}}, 30 * time.Second, func(b *bench, _ disk.Writer, _ disk.Reader) error {
			return b.Remove(pieceID(2))
		}},
		{"scan", vfs.Fault{Ops: []vfs.Op{vfs.OpReadDir}}, 30 * time.Second, func(b *bench, _ disk.Writer, _ disk.Reader) error {
			_, err := b.Scan(hemera.PieceID{}, 10)
			return err
		}},
		{"expire", vfs.Fault{Ops: []vfs.Op{vfs.OpReadDir}}, 30 * time.Second, func(b *bench, _ disk.Writer, _ disk.Reader) error {
			_, err := b.Expire(time.Hour)
			return err
		}},
		{"repair", vfs.Fault{Ops: []vfs.Op{vfs.OpOpen}, Skip: 1}, 60 * time.Second, func(b *bench, _ disk.Writer, _ disk.Reader) error {
			return b.RepairPages(pieceID(2), []byte("two"), 0)
		}},
		{"write", vfs.Fault{Ops: []vfs.Op{vfs.OpWrite}}, 30 * time.Second, func(_ *bench, w disk.Writer, _ disk.Reader) error {
			return w.WritePages([]byte("b"), nil, 5000)
		}},
		{"read back", vfs.Fault{Ops: []vfs.Op{vfs.OpRead}}, 30 * time.Second, func(_ *bench, w disk.Writer, _ disk.Reader) error {
			_, err := w.ReadPages(make([]byte, 1), nil, 0)
			return err
		}},
		{"truncate", vfs.Fault{Ops: []vfs.Op{vfs.OpTruncate}}, 30 * time.Second, func(_ *bench, w disk.Writer, _ disk.Reader) error {
			return w.Truncate(3)
		}},
		{"sync", vfs.Fault{Ops: []vfs.Op{vfs.OpSync}}, 60 * time.Second, func(_ *bench, w disk.Writer, _ disk.Reader) error {
			return w.Sync()
		}},
		{"seal", vfs.Fault{Ops: []vfs.Op{vfs.OpRename}}, 60 * time.Second, func(_ *bench, w disk.Writer, _ disk.Reader) error {
			_, err := w.Seal(hemera.SealInfo{FileSize: 1})
			return err
		}},
		{"abort", vfs.Fault{Ops: []vfs.Op{vfs.OpRemove}}, 30 * time.Second, func(_ *bench, w disk.Writer, _ disk.Reader) error {
			return w.Abort()
		}},
		{"read", vfs.Fault{Ops: []vfs.Op{vfs.OpRead}}, 30 * time.Second, func(_ *bench, _ disk.Writer, r disk.Reader) error {
			_, err := r.ReadPages(make([]byte, 1), nil, 0)
			return err
		}},
		{"verify", vfs.Fault{Ops: []vfs.Op{vfs.OpRead}}, 30 * time.Second, func(_ *bench, _ disk.Writer, r disk.Reader) error {
			_, err := r.Verify()
			return err
		}},
	}
}

// TestDeadline: each call returns at its deadline, the disk is failing until the call returns, and what comes late is
// undone.
func TestDeadline(t *testing.T) {
	for _, late := range []error{nil, syscall.EIO} {
		for _, c := range deadlines() {
			name := c.name + ", then well"
			if late != nil {
				name = c.name + ", then EIO"
			}
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T, b *bench) { testDeadline(t, b, c, late) })
			})
		}
	}
}

func testDeadline(t *testing.T, b *bench, c deadline, late error) {
	b.put(t, 2, "two")
	b.put(t, 3, "three")
	r, err := b.Open(pieceID(3))
	if err != nil {
		t.Fatal(err)
	}
	w := b.create(t, 4)
	if err := w.WritePages([]byte("a"), nil, 0); err != nil {
		t.Fatal(err)
	}
	b.Reopen(pieceID(2))
	c.fault.Err = late
	release := b.hang(c.fault)
	took := took(func() { err = c.call(b, w, r) })
	wantStalled(t, c.name, err, errs.Timeout)
	if took < c.limit || took > c.limit+time.Second {
		t.Errorf("it took %v", took)
	}
	b.wantHealth(t, hemera.HealthFailing)
	if !b.Stalled() {
		t.Error("the disk does not say that it is stalled")
	}
	_, err = b.Create(pieceID(10), disk.CreateOptions{})
	wantStalled(t, "create on a stalled disk", err, errs.Unavailable)
	wantStalled(t, "remove on a stalled disk", b.Remove(pieceID(3)), errs.Unavailable)
	release()
	b.wantHealth(t, hemera.HealthOK)
	_ = r.Close()
	_ = w.Abort()
	if names := b.left(t); len(names) > 0 && (c.name != "abort" || late == nil) {
		t.Errorf("left on the disk: %v", names)
	}
	if list, err := b.Scan(hemera.PieceID{}, 10); err != nil || len(list) > 2 {
		t.Errorf("pieces on the disk: %+v, %v", list, err)
	}
	if s := b.Status(); s.Load.ReadOpens != 0 || s.Load.WriteOpens != 0 {
		t.Errorf("left open: %+v", s.Load)
	}
}

// defective is a store some of whose calls panic.
type defective struct {
	disk.Store
	left map[string]int // calls by name that panic
}

func (d *defective) defect(name string) {
	if d.left[name] > 0 {
		d.left[name]--
		panic("a defect in " + name)
	}
}

func (d *defective) Open(id hemera.PieceID) (disk.Reader, error) {
	d.defect("open")
	return d.Store.Open(id)
}

func (d *defective) Remove(id hemera.PieceID) error {
	d.defect("remove")
	return d.Store.Remove(id)
}

// TestACallThatPanicsFails: one that only reads leaves the disk to others; after one that changes names the disk takes no more changes.
func TestACallThatPanicsFails(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.put(t, 1, "one")
		b.put(t, 2, "two")
		store, panics := &defective{b.Store, map[string]int{"open": 1, "remove": 1}}, contain.New(nil)
		s := bounded.New(store, nil, panics)
		defer func() { _ = s.Close() }()
		if _, err := s.Open(pieceID(1)); !errors.Is(err, errs.Internal) || panics.Count() != 1 {
			t.Errorf("an open that panics: %v, %d", err, panics.Count())
		}
		r, err := s.Open(pieceID(1))
		if err != nil {
			t.Fatalf("the next open: %v", err)
		}
		_ = r.Close()
		if err := s.Remove(pieceID(1)); !errors.Is(err, errs.Internal) || panics.Count() != 2 {
			t.Errorf("a removal that panics: %v, %d", err, panics.Count())
		}
		wantStalled(t, "the next change", s.Remove(pieceID(2)), errs.Unavailable)
		time.Sleep(time.Minute)
		wantStalled(t, "a change later", s.Remove(pieceID(2)), errs.Unavailable)
		if st := s.Status(); st.Health != hemera.HealthFailing {
			t.Errorf("the disk is %v", st.Health)
		}
		if r, err = s.Open(pieceID(2)); err != nil {
			t.Fatalf("an open of a disk that takes no changes: %v", err)
		}
		_ = r.Close()
	})
}
