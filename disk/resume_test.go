package disk

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// again ends the process that has the disk, and starts the next one.
func (r *crashRun) again(power func() bool, cut bool) {
	_ = r.disk.Close()
	if cut {
		r.memory.Crash(power)
	}
	r.faulty.Heal()
	r.open()
}

// resume returns the piece that was left, and how many of its pages are not proved.
func (r *crashRun) resume(id hemera.PieceID) (Writer, int64) {
	r.t.Helper()
	w, err := r.disk.Resume(id, CreateOptions{Path: "/x"})
	if err != nil {
		r.t.Fatal(err)
	}
	unproved, err := ProveAll(w)
	if err != nil {
		r.t.Fatal(err)
	}
	return w, unproved
}

// all reads everything that a pending piece has.
func (r *crashRun) all(w Writer) []byte {
	r.t.Helper()
	p := make([]byte, w.Size())
	if n, err := w.ReadPages(p, nil, 0); n != len(p) || err != nil && err != io.EOF {
		r.t.Fatalf("%d of %d bytes: %v", n, len(p), err)
	}
	return p
}

// TestWhatWasSyncedIsFound: the state of the last sync is there after the end of the process, and can be sealed.
func TestWhatWasSyncedIsFound(t *testing.T) {
	first := randomBytes(1, 6<<20+777) // more than one block of checksums; one stays in memory
	cases := map[string]struct {
		after    func(Writer) error
		unproved int64
		want     func() []byte
	}{
		"nothing after it":   {func(Writer) error { return nil }, 0, nil},
		"more was appended":  {func(w Writer) error { return w.WritePages(randomBytes(2, 9000), nil, int64(len(first))) }, 0, nil},
		"a hole follows":     {func(w Writer) error { return w.WritePages([]byte("x"), nil, 20<<20) }, 0, nil},
		"a page was changed": {func(w Writer) error { return w.WritePages([]byte("changed"), nil, 5000) }, 1, func() []byte { p := append([]byte(nil), first...); copy(p[5000:], "changed"); return p }},
		"synced again": {func(w Writer) error {
			return errors.Join(w.WritePages([]byte("changed"), nil, 5000), w.Sync(), w.WritePages([]byte("longer"), nil, int64(len(first))), w.Sync())
		}, 0, func() []byte {
			p := append([]byte(nil), first...)
			copy(p[5000:], "changed")
			return append(p, "longer"...)
		}},
		"cut, grown and synced": {func(w Writer) error { return errors.Join(w.Truncate(100), w.Truncate(5<<20), w.Sync()) }, 0,
			func() []byte { p := make([]byte, 5<<20); copy(p, first[:100]); return p }},
	}
	for name, c := range cases {
		for _, cut := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", power cut ", cut), func(t *testing.T) {
				r := newCrashRun(t)
				w, err := r.disk.Create(pieceID(1), CreateOptions{Path: "/x"})
				if err = errors.Join(err, w.WritePages(first[3<<20:], nil, 3<<20), w.WritePages(first[:3<<20], nil, 0), w.Sync(), c.after(w)); err != nil {
					t.Fatal(err)
				}
				want, unproved := first, c.unproved
				if c.want != nil {
					want = c.want()
				}
				if cut && unproved > 0 { // the change is lost with the power
					want, unproved = first, 0
				}
				r.again(nil, cut)
				for range 2 { // a second process finds the same
					w, n := r.resume(pieceID(1))
					if got := r.all(w); n != unproved || string(got) != string(want) {
						t.Fatalf("%d bytes, want %d; %d pages are not proved, want %d", len(got), len(want), n, unproved)
					}
					if _, err := r.disk.Resume(pieceID(1), CreateOptions{}); !errors.Is(err, errs.Conflict) {
						t.Errorf("a second writer: %v", err)
					}
					if _, err := r.disk.Expire(-1); err != nil {
						t.Fatal(err)
					}
					r.again(nil, false)
				}
				w, _ = r.resume(pieceID(1))
				if _, err := w.Seal(hemera.SealInfo{FileSize: int64(len(want)), Sync: true}); err != nil {
					t.Fatal(err)
				}
				r.again(nil, true)
				rd, err := r.disk.Open(pieceID(1))
				if err != nil {
					t.Fatal(err)
				}
				checkRead(t, rd, want, 0, len(want))
				_ = rd.Close()
				if names, err := r.memory.ReadDir("/d/" + pendingName); err != nil || len(names) > 0 {
					t.Errorf("left: %v, %v", names, err)
				}
			})
		}
	}
}

// TestWhatWasNotSyncedIsNotFound: neither is a piece that was sealed or removed.
func TestWhatWasNotSyncedIsNotFound(t *testing.T) {
	r := newCrashRun(t)
	for i, end := range []func(Writer) error{
		func(w Writer) error { return nil },
		func(w Writer) error { return errors.Join(w.Sync(), w.Abort()) },
		func(w Writer) error {
			_, err := w.Seal(hemera.SealInfo{FileSize: 100, Sync: true})
			return errors.Join(w.Sync(), err)
		},
	} {
		id := pieceID(i + 1)
		w, err := r.disk.Create(id, CreateOptions{})
		if err = errors.Join(err, w.WritePages(randomBytes(1, 100), nil, 0)); err != nil {
			t.Fatal(err)
		}
		_ = end(w)
	}
	r.again(nil, false)
	for i := range 3 {
		if _, err := r.disk.Resume(pieceID(i+1), CreateOptions{}); !errors.Is(err, errs.NotFound) {
			t.Errorf("piece %d: %v", i+1, err)
		}
	}
}

// TestSyncedBytesOutlastEachCut: power is cut at each change of some writes and syncs. All bytes that an acknowledged sync covers, and
// that were not written over since, are there and proved.
func TestSyncedBytesOutlastEachCut(t *testing.T) {
	found := 0
	for seed := range uint64(6) {
		for step := 0; ; step++ {
			r := newCrashRun(t)
			r.faulty.Inject(vfs.Fault{Ops: vfs.Changes(), Skip: step, Err: syscall.EIO})
			synced, now, changed, over := syncedWork(r, rand.New(rand.NewPCG(seed, 7)))
			rng := rand.New(rand.NewPCG(seed, uint64(step)))
			r.again(func() bool { return rng.IntN(3) < int(seed%4) }, seed%3 > 0)
			if synced != nil {
				found++
				w, unproved := r.resume(pieceID(1))
				got := r.all(w)
				if len(got) != len(synced) && len(got) != len(now) {
					t.Fatalf("seed %d, step %d: %d bytes, %d were synced", seed, step, len(got), len(synced))
				}
				if unproved > int64(len(changed)) {
					t.Fatalf("seed %d, step %d: %d pages are not proved, %d changed", seed, step, unproved, len(changed))
				}
				for i := range min(len(got), len(synced)) {
					if got[i] != synced[i] && !changed[int64(i)/hemera.PageSize] {
						t.Fatalf("seed %d, step %d: byte %d of %d is wrong", seed, step, i, len(got))
					}
				}
			}
			_ = r.disk.Close()
			if over {
				break
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d cuts had something synced", found)
	}
}

// syncedWork writes and syncs until something fails. It returns what the last acknowledged sync covers, what there is now, and the pages that
// were changed since. over: nothing failed.
func syncedWork(r *crashRun, rng *rand.Rand) (synced, now []byte, changed map[int64]bool, over bool) {
	w, err := r.disk.Create(pieceID(1), CreateOptions{Path: "/x"})
	if err != nil {
		return nil, nil, nil, false
	}
	changed = map[int64]bool{}
	touch := func(from, to int) {
		for page := from / hemera.PageSize; page <= to/hemera.PageSize; page++ {
			changed[int64(page)] = true
		}
	}
	for range 12 {
		switch rng.IntN(6) {
		case 0, 1: // append
			p := randomBytes(rng.Uint64(), 1+rng.IntN(10_000))
			before := len(now)
			now = append(now, p...)
			err = w.WritePages(p, nil, int64(before))
			if before%hemera.PageSize == 0 || before == 0 {
				touch(before, len(now))
			} else { // the page was not whole: what was there of it stays
				touch(before+hemera.PageSize-before%hemera.PageSize, len(now))
			}
		case 2: // over something
			off := rng.IntN(len(now) + 1)
			p := randomBytes(rng.Uint64(), 1+rng.IntN(6000))
			now = append(now, make([]byte, max(0, off+len(p)-len(now)))...)
			copy(now[off:], p)
			touch(off, off+len(p))
			err = w.WritePages(p, nil, int64(off))
		case 3:
			size := rng.IntN(len(now) + 5000)
			touch(min(size, len(now)), max(size, len(now)))
			if size < len(now) {
				now = now[:size:size]
			}
			now = append(now, make([]byte, size-len(now))...)
			err = w.Truncate(int64(size))
		default:
			if err = w.Sync(); err == nil {
				synced, changed = append([]byte{}, now...), map[int64]bool{}
			}
		}
		if err != nil {
			return synced, now, changed, false
		}
	}
	_ = leave(w)
	return synced, now, changed, true
}

// FuzzSynced: whatever is in the file of checksums, a piece is found or not, and each page that counts as proved matches.
func FuzzSynced(f *testing.F) {
	memory := func(t testing.TB) *vfs.Memory {
		m := vfs.NewMemory(0, func() time.Time { return time.Unix(1e9, 0) })
		if err := m.Mkdir("/d"); err != nil {
			t.Fatal(err)
		}
		if _, err := Format(m, "/d"); err != nil {
			t.Fatal(err)
		}
		return m
	}
	path := "/d/" + pendingName + "/" + pieceID(1).String()
	data := randomBytes(1, 9000)
	left := func(t testing.TB) (*vfs.Memory, []byte) {
		m := memory(t)
		d, err := Open(m, "/d", Options{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := d.Create(pieceID(1), CreateOptions{})
		if err = errors.Join(err, w.WritePages(data[:5000], nil, 0), w.Sync(), w.WritePages(data[5000:], nil, 5000), w.Sync(), d.Close()); err != nil {
			t.Fatal(err)
		}
		file, err := m.Open(path+syncedSuffix, os.O_RDWR)
		if err != nil {
			t.Fatal(err)
		}
		size, _ := file.Size()
		raw := make([]byte, size)
		_, _ = file.ReadAt(raw, 0)
		return m, raw
	}
	_, raw := left(f)
	f.Add(raw)
	f.Add(raw[:9000])
	f.Add([]byte(syncedMagic))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, _ := left(t)
		file, err := m.Open(path+syncedSuffix, os.O_RDWR)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteAt(raw, 0); err != nil || file.Truncate(int64(len(raw))) != nil {
			t.Fatal(err)
		}
		d, err := Open(m, "/d", Options{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := d.Resume(pieceID(1), CreateOptions{})
		if err != nil {
			if !errors.Is(err, errs.NotFound) {
				t.Error(err)
			}
			return
		}
		if w.Size() > int64(len(data)) {
			return
		}
		unproved, err := ProveAll(w)
		got := make([]byte, w.Size())
		if n, readErr := w.ReadPages(got, nil, 0); err != nil || n != len(got) || string(got) != string(data[:n]) {
			t.Errorf("%d pages are not proved, %v; %d of %d bytes are read, %v", unproved, err, n, len(got), readErr)
		}
	})
}
