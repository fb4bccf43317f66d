package bounded_test

import (
	"testing"
	"time"

	"hemera/disk"
	"hemera/disk/bounded"
	"hemera/disk/disktest"
	"hemera/platform/vfs"
)

// plain is a disk without its optional methods, as a store of a test is.
type plain struct{ disk.Store }

func TestSuite(t *testing.T) {
	for name, wrap := range map[string]func(disk.Store) disk.Store{
		"with all methods": func(s disk.Store) disk.Store { return bounded.New(s, nil, nil) },
		"with the least":   func(s disk.Store) disk.Store { return bounded.New(plain{s}, nil, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			disktest.Run(t, func(t *testing.T) disk.Store {
				memory := vfs.NewMemory(0, time.Now)
				if err := memory.Mkdir("/disk"); err != nil {
					t.Fatal(err)
				}
				return wrap(open(t, memory, "/disk"))
			})
			disktest.Run(t, func(t *testing.T) disk.Store { return wrap(open(t, vfs.OS{}, t.TempDir())) })
		})
	}
}

func open(t *testing.T, fsys vfs.FS, path string) disk.Store {
	t.Helper()
	if _, err := disk.Format(fsys, path); err != nil {
		t.Fatal(err)
	}
	d, err := disk.Open(fsys, path, disk.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
