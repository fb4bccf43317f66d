package disk

import (
	"bytes"
	"os"
	"testing"
	"time"

	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// momentFS lets something happen right after the disk has looked for a name, or opened it, once.
type momentFS struct {
	vfs.FS
	name           string
	looked, opened func()
}

// Stat implements vfs.FS.
func (m *momentFS) Stat(name string) (vfs.Info, error) {
	info, err := m.FS.Stat(name)
	m.happen(&m.looked, name)
	return info, err
}

// Open implements vfs.FS.
func (m *momentFS) Open(name string, flag int) (vfs.File, error) {
	f, err := m.FS.Open(name, flag)
	m.happen(&m.opened, name)
	return f, err
}

func (m *momentFS) happen(what *func(), name string) {
	if then := *what; then != nil && name == m.name {
		*what = nil
		then()
	}
}

// copyOf puts a piece onto the disk as a copy of another disk's does, over what is there.
func copyOf(t *testing.T, d *Disk, id hemera.PieceID, data []byte) {
	t.Helper()
	w, err := d.Create(id, CreateOptions{Replace: true})
	if err == nil {
		err = w.WritePages(data, nil, 0)
	}
	if err == nil {
		_, err = w.Seal(hemera.SealInfo{FileSize: int64(len(data))})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A piece that is sealed between the look of Create for one and its own file stays: the writer that Create made
// ends with Exists.
func TestCreateReplacesNothingThatCameMeanwhile(t *testing.T) {
	good, other := randomBytes(1, 5000), randomBytes(2, 5000)
	for _, before := range []string{"nothing", "a piece without a footer"} {
		t.Run(before, func(t *testing.T) {
			memory := vfs.NewMemory(0, time.Now)
			if err := memory.Mkdir("/d"); err != nil {
				t.Fatal(err)
			}
			moment := &momentFS{FS: memory}
			d := newDisk(t, moment, "/d", Options{})
			d.sealed.counts.Wait()
			id := pieceID(1)
			copyOf(t, d, pieceID(2), other) // so that the directory is there
			moment.name = d.sealedPath(id)
			meanwhile := func() { copyOf(t, d, id, good) }
			if before == "nothing" {
				moment.looked = meanwhile
			} else {
				moment.opened = meanwhile
				f, err := memory.Open(d.sealedPath(id), os.O_RDWR|os.O_CREATE)
				if err == nil {
					_, err = f.WriteAt(make([]byte, 9000), 0)
				}
				if err != nil {
					t.Fatal(err)
				}
				_ = f.Close()
			}
			w, err := d.Create(id, CreateOptions{})
			if err == nil {
				err = w.WritePages(other, nil, 0)
				if err == nil {
					_, err = w.Seal(hemera.SealInfo{FileSize: 5000})
				}
			}
			wantKind(t, "the writer that came too late", err, errs.Exists)
			r, err := d.Open(id)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got := make([]byte, 5000)
			if _, err := r.ReadPages(got, nil, 0); err != nil || !bytes.Equal(got, good) {
				t.Errorf("the copy that was made meanwhile is gone: %v", err)
			}
		})
	}
}

// A piece that took the place of one of another content is there after a power cut, if its seal was durable: what it
// was copied from may be gone by then.
func TestReplacementOutlivesAPowerCut(t *testing.T) {
	d := newMemoryDisk(t, 0, Options{})
	id := pieceID(1)
	seal := func(data []byte) {
		w, err := d.Create(id, CreateOptions{Replace: true})
		if err == nil {
			err = w.WritePages(data, nil, 0)
		}
		if err == nil {
			_, err = w.Seal(hemera.SealInfo{FileSize: int64(len(data)), Sync: true})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	good := randomBytes(2, 5000)
	seal(randomBytes(1, 4000))
	d.memory.Crash(func() bool { return true }) // all of it is durable
	after := newDisk(t, d.memory, "/d", Options{})
	d.Disk = after
	seal(good)
	d.memory.Crash(nil)
	after = newDisk(t, d.memory, "/d", Options{})
	r, err := after.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := make([]byte, len(good))
	if n, err := r.ReadPages(got, nil, 0); err != nil || n != len(good) || !bytes.Equal(got, good) {
		t.Errorf("%d bytes, %v: the piece that was replaced is back", n, err)
	}
}
