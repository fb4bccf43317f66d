package node

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hemera/disk"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// seenInterval is the shortest time between two syncs of the marks. A mark is written to the file at once, where it
// outlives the process; only a power failure of the node loses the marks of the last interval.
const seenInterval = 500 * time.Millisecond

// noteInterval is the interval at which new marks are copied to the disks.
const noteInterval = 10 * time.Second

// seenBytes is the size of the file: one sector, which disks write as a whole.
const seenBytes = hemera.SeenMarksMax * hemera.SeenMarkBytes

// seenFile keeps the manager's newest marks in manager.seen in the node's state directory. With them the node proves to a
// manager with an older state that changes are missing. Answers of the manager come in any order, and those of one of its
// earlier lives may come after the node has joined the next one. So seenFile keeps the newest mark of each life until a
// manager has seen it. Its methods may be called concurrently; run is called once.
type seenFile struct {
	path string
	log  *slog.Logger
	news chan struct{} // buffered, one element: the file is not current

	mu    sync.Mutex // guards all below
	marks [][]byte   // one of each life; the slices are not changed
	lease []byte     // identifies the manager's life of the last registration; nil before
}

// openSeen reads the file. The file of a new node does not exist.
func openSeen(dir string, log *slog.Logger) (*seenFile, error) {
	s := &seenFile{path: filepath.Join(dir, "manager.seen"), log: log, news: make(chan struct{}, 1)}
	saved, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	s.found(saved)
	return s, errs.Wrap(err, "node.New", s.path)
}

// found adds marks from the file or from a disk. Marks that the node has already take precedence, because a disk may have
// any.
func (s *seenFile) found(saved []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.marks
	s.marks = nil
	for mark := range slices.Chunk(saved, hemera.SeenMarkBytes) {
		s.take(mark)
	}
	for _, mark := range own {
		s.take(mark)
	}
	s.tell()
}

// lifeOf returns the part of a mark that identifies the life of the manager. numberOf returns the mark's number in that
// life.
func lifeOf(mark []byte) []byte   { return mark[:8] }
func numberOf(mark []byte) uint64 { return binary.BigEndian.Uint64(mark[8:]) }

// take keeps a mark if it is the newest of its life, and reports whether it is. The caller holds mu, or has the only
// reference to s.
func (s *seenFile) take(mark []byte) bool {
	if len(mark) != hemera.SeenMarkBytes || numberOf(mark) == 0 {
		return false
	}
	i := slices.IndexFunc(s.marks, func(m []byte) bool { return bytes.Equal(lifeOf(m), lifeOf(mark)) })
	if i >= 0 && numberOf(s.marks[i]) >= numberOf(mark) {
		return false
	}
	if i >= 0 {
		s.marks = slices.Delete(s.marks, i, i+1)
	}
	s.marks = append(s.marks, bytes.Clone(mark))
	// A manager may begin many lives without a registration of this node: newer marks prove at least as much as the
	// oldest, unless they come from a copy.
	s.marks = s.marks[max(0, len(s.marks)-hemera.SeenMarksMax):]
	return true
}

// saw keeps the mark of an answer.
func (s *seenFile) saw(mark []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.take(mark) {
		s.tell()
	}
}

// tell makes run write the file. mu is held.
func (s *seenFile) tell() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// welcome keeps the mark of a manager that has seen the marks in shown, and lacks nothing.
func (s *seenFile) welcome(shown, mark []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := slices.Collect(slices.Chunk(shown, hemera.SeenMarkBytes))
	s.marks = slices.DeleteFunc(s.marks, func(m []byte) bool {
		return slices.ContainsFunc(was, func(w []byte) bool { return bytes.Equal(m, w) })
	})
	if len(mark) == hemera.SeenMarkBytes {
		s.lease = bytes.Clone(lifeOf(mark))
	}
	s.take(mark)
	s.tell()
}

// shown returns the marks for a registration.
func (s *seenFile) shown() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Join(s.marks, nil)
}

// unshown reports whether there is a mark of another life than that of the lease: the manager has not seen it.
func (s *seenFile) unshown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease != nil && slices.ContainsFunc(s.marks, func(m []byte) bool { return !bytes.Equal(lifeOf(m), s.lease) })
}

// sector returns the content of the file: marks and zeros.
func sector(marks []byte) []byte {
	b := make([]byte, seenBytes)
	copy(b, marks)
	return b
}

// run writes the file until ctx ends: each mark at once, with a sync at intervals. When it returns the newest marks are
// durable.
func (s *seenFile) run(ctx context.Context) {
	var file *os.File
	failed := false
	do := func(step func() error) {
		err := step()
		if err != nil && !failed {
			s.log.Error("how far the manager is cannot be saved", "error", errs.Wrap(err, "node.Save", s.path))
		}
		failed = err != nil
	}
	write := func() (err error) {
		marks := s.shown()
		if len(marks) == 0 {
			return nil
		}
		if file == nil {
			if file, err = createDurable(s.path); err != nil {
				return err
			}
		}
		_, err = file.WriteAt(sector(marks), 0)
		return err
	}
	var due <-chan time.Time // of the next sync; nil if none is needed
	for {
		select {
		case <-s.news:
			do(write)
			if due == nil && file != nil {
				due = time.After(seenInterval)
			}
		case <-due:
			due = nil
			do(file.Sync)
		case <-ctx.Done():
			do(write)
			if file != nil {
				do(func() error { return errors.Join(file.Sync(), file.Close()) })
			}
			return
		}
	}
}

// diskNotes copies the marks to the disks too: the machine's system disk may be restored from an older copy, with the
// manager's directory and the node's on it. Disks lack only the marks of the last noteInterval, and those that a power
// failure lost. It is not safe for concurrent use.
type diskNotes struct {
	marks *seenFile
	disks *disks
	have  map[disk.Store]string // the last marks of each disk
}

// run copies the marks to the disks every noteInterval until ctx ends. It waits for disks.
func (d *diskNotes) run(ctx context.Context) {
	tick := time.NewTicker(noteInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			d.give()
		case <-ctx.Done():
			return
		}
	}
}

// give gives each disk the marks that it lacks. If a disk fails, the next call tries again.
func (d *diskNotes) give() {
	marks := d.marks.shown()
	if len(marks) == 0 {
		return
	}
	there := d.disks.stores()
	for _, store := range there {
		if d.have[store] != string(marks) && disk.Note(store, sector(marks)) == nil {
			d.have[store] = string(marks)
		}
	}
	maps.DeleteFunc(d.have, func(store disk.Store, _ string) bool { return !slices.Contains(there, store) })
}

// createDurable opens a file for writing. If it creates the file, the name is durable.
func createDurable(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if f, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return nil, err
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// committer wraps the manager for heads of writes, and keeps the marks of its answers.
type committer struct {
	hemera.Control
	seen *seenFile
}

// Commit implements transfer.Committer.
func (c committer) Commit(ctx context.Context, r hemera.CommitRequest) error {
	mark, err := c.Control.Commit(ctx, r)
	// Before the client gets the answer.
	c.seen.saw(mark)
	return err
}
