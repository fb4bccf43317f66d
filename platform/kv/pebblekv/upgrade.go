package pebblekv

import (
	"bytes"
	"errors"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"

	"hemera/platform/kv/pebblekv/journal"
	"hemera/words/errs"
)

// journal returns where versions before this one had a log of their own. The first ones had it in a directory "log".
func (s *Store) journal() journal.Files {
	return journal.Files{FS: s.fs, Dir: s.fs.PathJoin(s.dir, logDir), Older: s.fs.PathJoin(s.dir, "log")}
}

// takeJournal applies the batches that only a journal has, and returns the number of the last batch. Unless the store is
// opened to be read alone they are in tables at return, so the journal can go. A start that is cut off does it again.
func (s *Store) takeJournal(last uint64, o Options) (uint64, error) {
	exists, err := s.journal().Exists()
	if err != nil || !exists {
		return last, err
	}
	state := journal.State{Last: last}
	if err := s.own(keyMark, state.Mark[:]); err != nil {
		return last, err
	}
	if state.Newest, err = s.number(keyJournal); err != nil {
		return last, err
	}
	last, err = s.journal().Replay(state, s.applyOld)
	if err != nil && o.ReadOnly && o.Damaged != nil && errors.Is(err, errs.Corrupt) {
		o.Damaged(err)
		err = nil
	}
	if err != nil || o.ReadOnly {
		return last, err
	}
	// The key and the batches go to tables together. From then on no file of the journal is needed.
	return last, catchFatal(func() error {
		if err := s.db.Set([]byte(keyJournal), make([]byte, 8), pebble.NoSync); err != nil {
			return err
		}
		return s.flusher.flush()
	})
}

// applyOld applies a batch of a journal, in Pebble's format (batchrepr). It is not durable at return: takeJournal flushes
// after the last one.
func (s *Store) applyOld(raw []byte) error {
	raw = bytes.Clone(raw) // it is the database's from now on
	clear(raw[:8])         // the number that Pebble gave it at the time; a large batch would keep it
	b := s.db.NewBatch()
	if err := b.SetRepr(raw); err != nil {
		return err
	}
	if err := catchFatal(func() error { return s.db.Apply(b, pebble.NoSync) }); err != nil {
		return err
	}
	return b.Close()
}

// removeStrayLogs removes the logs beside the tables. The state file is written, so none of them is needed: this version has
// its logs in logDir. Earlier ones had theirs here, or make an empty one before they refuse to open the store.
func (s *Store) removeStrayLogs() error {
	names, err := s.fs.List(s.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if isLog(name) {
			if err := s.fs.Remove(s.fs.PathJoin(s.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
