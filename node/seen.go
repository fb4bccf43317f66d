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

// seenInterval is the shortest time between two syncs of what a node saw. What it saw is in the file at once, where it outlives
// the process; only a power cut of the node, too, takes the part of the last interval along.
const seenInterval = 500 * time.Millisecond

// noteInterval is how often the disks are given the marks that are new.
const noteInterval = 10 * time.Second

// seenBytes is the size of the file: one sector, which disks write as a whole.
const seenBytes = hemera.SeenMarksMax * hemera.SeenMarkBytes

// seenFile keeps the manager's newest marks, manager.seen in the node's state directory: with them the node proves to a
// manager with an older state that changes are missing. Answers of the manager come in any order, and those of a life of it that
// is over may come after the node is welcome in the next one. So it keeps the newest mark of each life, until a manager was shown
// it. Its methods may be called concurrently; run is called once.
type seenFile struct {
	path string
	log  *slog.Logger
	news chan struct{} // buffered one: the file is behind

	mu    sync.Mutex // guards all below
	marks [][]byte   // one of each life; the slices are not changed
	lease []byte     // names the life of the manager that the node was welcome in last; nil before
}

// openSeen reads the file; a node that never joined has none.
func openSeen(dir string, log *slog.Logger) (*seenFile, error) {
	s := &seenFile{path: filepath.Join(dir, "manager.seen"), log: log, news: make(chan struct{}, 1)}
	saved, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	s.found(saved)
	return s, errs.Wrap(err, "node.New", s.path)
}

// found takes marks that were saved, in the file or on a disk. They make way for those that the node has: a disk may have any.
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

// lifeOf names the life of the manager that gave a mark, and numberOf is how far that was.
func lifeOf(mark []byte) []byte   { return mark[:8] }
func numberOf(mark []byte) uint64 { return binary.BigEndian.Uint64(mark[8:]) }

// take keeps a mark if it is the newest of its life, and reports whether it is. mu is held, or nobody else knows s.
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
	// Managers that begin many lives without a welcome: what the oldest proves, newer ones prove too, unless those are of a copy.
	s.marks = s.marks[max(0, len(s.marks)-hemera.SeenMarksMax):]
	return true
}

// saw keeps a mark that came with an answer.
func (s *seenFile) saw(mark []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.take(mark) {
		s.tell()
	}
}

// tell has run write the file. mu is held.
func (s *seenFile) tell() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// welcome keeps the mark of a manager that has seen those in shown, and found none that it lacks.
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

// shown is what the node shows when it registers.
func (s *seenFile) shown() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Join(s.marks, nil)
}

// unshown reports whether there is a mark of another life than that of the lease: the manager has not been shown it.
func (s *seenFile) unshown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease != nil && slices.ContainsFunc(s.marks, func(m []byte) bool { return !bytes.Equal(lifeOf(m), s.lease) })
}

// sector is the content of the file: zeros are no marks.
func sector(marks []byte) []byte {
	b := make([]byte, seenBytes)
	copy(b, marks)
	return b
}

// run keeps the file until ctx ends: each mark is written at once, and synced now and then. At its return the newest are durable.
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
	var due <-chan time.Time // of the next sync; nil while nothing is to be synced
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

// diskNotes has the disks keep the marks, too: a machine's own disk may be put back from an older copy with the manager's directory and
// the node's in it. What disks lack is of the last noteInterval, and of a power cut. It is used by one goroutine at a time.
type diskNotes struct {
	marks *seenFile
	disks *disks
	have  map[disk.Store]string // what each disk was given last
}

// run gives the disks the marks every noteInterval until ctx ends. It waits for disks.
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

// give gives each disk the marks that it does not have. A disk that cannot take them now is tried the next time.
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

// createDurable opens a file for writing. One that was not there is durable as a name.
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

// committer is the manager as heads of writes reach it: how far it says that it is, the node keeps.
type committer struct {
	hemera.Control
	seen *seenFile
}

// Commit implements transfer.Committer.
func (c committer) Commit(ctx context.Context, r hemera.CommitRequest) error {
	mark, err := c.Control.Commit(ctx, r)
	// Before the client hears of it.
	c.seen.saw(mark)
	return err
}
