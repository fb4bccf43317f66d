package manager

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hemera/rules/lifecycle"
	"hemera/words/hemera"
)

const (
	// readNotesMax bounds the files that wait for their note.
	readNotesMax = 1 << 17
	// readNotesTime is the interval at which notes are written.
	readNotesTime = time.Minute
	// readNotesLast bounds how long a process that ends writes notes.
	readNotesLast = 5 * time.Second
)

// The days on which files were read are noted where a lifecycle rule asks for it and nowhere else: in memory at the open, and some
// time later in the file's attributes, once a day for each file. So a read costs no write.
//
// Notes are lost when the process is killed, or when more files are read than there is room for. Such a file looks unused for longer
// than it is, by a day or until it is read again.

// readNotes are the files that were read and have no note of today yet. Methods may be called concurrently. The zero value is
// ready, and notes nothing until track.
type readNotes struct {
	// asked is set while the rule of a directory asks. It is read at each open.
	asked atomic.Bool

	mu    sync.Mutex // guards what follows
	day   string     // on which they were read
	files map[hemera.FileID]struct{}
}

// track has reads noted if one of the directories asks for it, which is true then.
func (n *readNotes) track(dirs map[hemera.FileID]bool) {
	n.asked.Store(slices.Contains(slices.Collect(maps.Values(dirs)), true))
}

// note remembers that the file is read now. Whether a rule asks for this file is found out later. It does not block.
func (n *readNotes) note(e *hemera.Entry, now time.Time) {
	// Nearly no cluster has such rules: then this is all that an open costs.
	if !n.asked.Load() {
		return
	}
	// The entry is at hand, so a file that has the note of today costs no lock.
	day := lifecycle.Day(now)
	if string(e.Xattrs[lifecycle.AttrAccess]) >= day {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	// The notes of yesterday that are not written yet become notes of today: a file looks used for longer.
	n.day = day
	if n.files == nil {
		n.files = map[hemera.FileID]struct{}{}
	}
	if len(n.files) < readNotesMax {
		n.files[e.ID] = struct{}{}
	}
}

// take returns the files that wait, by id, and their day. They wait no longer.
func (n *readNotes) take() (day string, files []hemera.FileID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	// By id: files that were written together are near each other in the store.
	files = slices.Sorted(maps.Keys(n.files))
	n.files = nil
	return n.day, files
}

// noteWriter writes notes to the namespace.
type noteWriter struct {
	notes *readNotes
	// await fails while nothing may be changed; it may block for seconds.
	await func(ctx context.Context) error
	// store writes the day to those of the files for which a rule asks.
	store func(ctx context.Context, day string, files []hemera.FileID) error
	log   *slog.Logger
}

// run writes notes until the context ends, and once more then. It returns nil.
func (w *noteWriter) run(ctx context.Context) error {
	_ = every(ctx, readNotesTime, func() { w.write(ctx) })
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), readNotesLast)
	defer cancel()
	w.write(last)
	return nil
}

// write writes the notes that wait. A note that cannot be written is dropped: the files are read again, or were not
// important.
func (w *noteWriter) write(ctx context.Context) {
	day, files := w.notes.take()
	if len(files) == 0 {
		return
	}
	err := w.await(ctx)
	if err == nil {
		err = w.store(ctx, day, files)
	}
	if err != nil && ctx.Err() == nil {
		w.log.Warn("the days on which files were read are not stored", "files", len(files), "error", err)
	}
}
