package manager

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hemera"
	"hemera/rules/lifecycle"
)

// When files were read is noted where a lifecycle rule asks for it, and nowhere else: in memory at the open, and some time
// later in the file's attributes, once a day for each file. So a read costs no write. What is lost when the process is
// killed, or when more files are read than there is room for, makes a file look unused for longer than it is, by a day or
// until it is read again.

const (
	// accessesMax is how many files can wait for their note.
	accessesMax = 1 << 17
	// accessTime is how often notes are written.
	accessTime = time.Minute
	// lastAccesses bounds how long a manager that ends writes notes.
	lastAccesses = 5 * time.Second
)

// accesses are the files that were read and have no note of today yet.
type accesses struct {
	// tracked has the directories whose rules ask; nil for none. It is replaced and never changed, and read at each open.
	tracked atomic.Pointer[map[hemera.FileID]bool]

	mu    sync.Mutex // guards what follows
	day   string     // on which they were read
	files map[hemera.FileID]struct{}
}

// track sets below which directories accesses are noted.
func (a *accesses) track(dirs map[hemera.FileID]bool) {
	maps.DeleteFunc(dirs, func(_ hemera.FileID, asks bool) bool { return !asks })
	if len(dirs) == 0 {
		a.tracked.Store(nil)
		return
	}
	a.tracked.Store(&dirs)
}

// note remembers that the file is read now. Whether it is below a directory that asks is found out later.
func (a *accesses) note(e *hemera.Entry, now time.Time) {
	// Nearly no cluster has such rules: then this is all that an open costs.
	if a.tracked.Load() == nil {
		return
	}
	// The entry is at hand, so a file that has the note of today costs no lock.
	day := lifecycle.Day(now)
	if string(e.Xattrs[lifecycle.AttrAccess]) >= day {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.day != day {
		// The notes of yesterday that are not written yet become notes of today: a file looks used for longer.
		a.day = day
	}
	if a.files == nil {
		a.files = map[hemera.FileID]struct{}{}
	}
	if len(a.files) < accessesMax {
		a.files[e.ID] = struct{}{}
	}
}

// take returns the files that wait, by id, and their day. They wait no longer.
func (a *accesses) take() (day string, files []hemera.FileID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	// By id: files that were written together are near each other in the store.
	files = slices.Sorted(maps.Keys(a.files))
	a.files = nil
	return a.day, files
}

// noter writes the notes.
type noter struct {
	*parts
	accesses *accesses
}

// run writes notes until the context ends, and once more then.
func (n *noter) run(ctx context.Context) error {
	ticker := time.NewTicker(accessTime)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAccesses)
			defer cancel()
			n.write(last)
			return nil
		case <-ticker.C:
			n.write(ctx)
		}
	}
}

// write writes the notes that wait. What cannot be written is dropped: the files are read again, or were not important.
func (n *noter) write(ctx context.Context) {
	tracked := n.accesses.tracked.Load()
	day, files := n.accesses.take()
	if tracked == nil || len(files) == 0 {
		return
	}
	err := n.cluster.AwaitCurrent(ctx)
	if err == nil {
		err = n.tree.NoteAccess(ctx, day, files, func(dir hemera.FileID) bool { return (*tracked)[dir] })
	}
	if err != nil && ctx.Err() == nil {
		n.log.Warn("the days on which files were read are not stored", "files", len(files), "error", err)
	}
}
