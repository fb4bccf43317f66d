package node

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hemera/errs"
)

// seenInterval is how often a node makes durable how far it saw the manager: often, as a log that lost its end within this time
// of a crash is not seen by it.
const seenInterval = 2 * time.Second

// seenFile keeps the manager's newest mark, manager.seen in the node's state directory: with it the node proves to a
// manager with an older state that changes are missing. The mark is the manager's; a node does not read it.
// It is used by one goroutine.
type seenFile struct {
	path   string
	newest []byte    // what the node shows
	saved  []byte    // what is in the file
	when   time.Time // of the last attempt to save
}

// openSeen reads the file; a node that never joined has none.
func openSeen(dir string) (*seenFile, error) {
	s := &seenFile{path: filepath.Join(dir, "manager.seen")}
	var err error
	if s.saved, err = os.ReadFile(s.path); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	s.newest = s.saved
	return s, errs.Wrap(err, "node.New", s.path)
}

// keep takes the newest mark, and saves it if it is news, not too often.
func (s *seenFile) keep(mark []byte, now time.Time) error {
	if len(mark) > 0 {
		s.newest = bytes.Clone(mark)
	}
	if len(mark) == 0 || bytes.Equal(mark, s.saved) || now.Sub(s.when) < seenInterval {
		return nil
	}
	s.when = now
	if err := replaceFile(s.path, mark); err != nil {
		return errs.Wrap(err, "node.Save", s.path)
	}
	s.saved = bytes.Clone(mark)
	return nil
}
