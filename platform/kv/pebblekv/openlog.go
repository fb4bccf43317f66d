package pebblekv

import (
	"crypto/rand"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"hemera/errs"
)

// logDir is where the log's files are, below the store's directory; oldLogDir is where older versions had them.
const (
	logDir    = "journal"
	oldLogDir = "log"
)

// openLog takes what the last log has and begins a new one. What fills a file of the log takes twice as much
// room in memory, so a file is as much as a memory table, and the files that may wait bound the memory.
func (s *Store) openLog(table int64) (err error) {
	r, err := s.lastLog()
	if err != nil {
		return err
	}
	highest, err := r.run()
	if err != nil {
		return err
	}
	var m mark
	_, _ = rand.Read(m[:]) // never fails
	f := files{fs: s.fs, dir: r.dir, mark: m, max: table / 2, tables: s.tables, number: highest, ahead: min(aheadMax, table/aheadShare)}
	if err := f.begin(); err != nil {
		return err
	}
	// The logs of the life before are gone for good now. Acquire makes the mark of this one durable, before
	// the first record has it.
	if err := s.db.Set([]byte(keyMark), m[:], pebble.NoSync); err != nil {
		return err
	}
	if err := s.tables.newest(f.number); err != nil {
		return err
	}
	s.seq = r.last
	s.log = newLog(f, m, r.last)
	return nil
}

// readLog takes what the last log has and leaves it as it is.
func (s *Store) readLog(damaged func(error)) error {
	r, err := s.lastLog()
	if err != nil {
		return err
	}
	_, err = r.read()
	if errors.Is(err, errs.Corrupt) && damaged != nil {
		damaged(err)
		err = nil
	}
	s.seq = r.last
	s.log = newLog(files{}, mark{}, r.last)
	s.dead.Store(errs.New(errs.ReadOnly, "kv.Acquire", s.dir, "the store was opened to be read alone"))
	return err
}

// lastLog is what a start does with the log of the life before.
func (s *Store) lastLog() (*replay, error) {
	r := &replay{fs: s.fs, dir: s.fs.PathJoin(s.dir, logDir), old: s.fs.PathJoin(s.dir, oldLogDir), db: s.db, tables: s.tables}
	if err := s.own(keyMark, r.mark[:]); err != nil {
		return nil, err
	}
	var err error
	if r.newest, err = s.number(keyLog); err == nil {
		r.last, err = s.number(keySeq)
	}
	return r, err
}

func (s *Store) number(key string) (uint64, error) {
	var raw [8]byte
	err := s.own(key, raw[:])
	return binary.BigEndian.Uint64(raw[:]), err
}

// own fills in the value of one of the engine's own keys, and leaves it alone if there is none.
func (s *Store) own(key string, value []byte) error {
	raw, closer, err := s.db.Get([]byte(key))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return errs.As(err, readKind(err), "kv.Open", key[1:])
	}
	defer func() { _ = closer.Close() }()
	if copy(value, raw) != len(raw) || len(raw) != len(value) {
		return errs.New(errs.Corrupt, "kv.Open", key[1:], "the engine's own key has the wrong length")
	}
	return nil
}
