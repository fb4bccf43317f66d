package pebblekv

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/platform/turn"
	"hemera/rules/checksum"
	"hemera/words/errs"
)

const (
	// logDir has the files of the log, below the store's directory.
	logDir    = "journal"
	stateName = "000000.journal" // of the state file
	// stateFormat is the first line of the state file.
	stateFormat = "hemlog4\n"
	stateFamily = "hemlog" // begins the first line of all formats
)

// logState records facts about Pebble's log outside of it: which of its files must exist, and the mark of their tokens.
// It is in a small file that is replaced, durably, when a log is begun, before one is removed, and with each note.
//
// Pebble begins a log for every memory table (32 MiB), so this adds a few syncs to ten thousands.
type logState struct {
	fs  vfs.FS
	dir string // of the log's files

	turn   turn.Turn // of changes, which write to the disk
	stored bool      // there was a state file
	// current is true once this process has its own state in the file. Until then needed is that of the process before, and
	// begun are the logs of this one.
	current bool
	mark    mark
	needed  []neededLog // oldest first
	begun   []neededLog
	durable uint64 // number of a batch that was durable when the file was written
}

// neededLog is a log that must exist.
type neededLog struct {
	number uint64
	after  uint64 // number of a batch that is in an older log or in tables; this log may have later ones
}

// readLogState returns the state of the logs in a directory. It fails with Corrupt if the file is damaged.
func readLogState(files vfs.FS, dir string) (*logState, error) {
	s := &logState{fs: files, dir: dir, turn: turn.New()}
	file, err := files.Open(s.file())
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	s.stored = true
	return s, s.parse(string(raw))
}

// parse reads the text of a state file.
func (s *logState) parse(text string) error {
	body, found := strings.CutPrefix(text, stateFormat)
	if !found && strings.HasPrefix(text, stateFamily) {
		return errs.New(errs.Unsupported, "pebblekv.Open", s.file(), "the log has a format that this version does not know").
			WithRemedy("use the version of hemera that wrote it")
	}
	lines, sum, complete := strings.Cut(body, "crc32c ")
	if !found || !complete || sum != fmt.Sprintf("%08x\n", checksum.CRC32C([]byte(stateFormat+lines))) {
		return s.damaged()
	}
	for line := range strings.Lines(lines) {
		var hexMark string
		var n neededLog
		if _, err := fmt.Sscanf(line, "mark %16s\n", &hexMark); err == nil {
			if _, err := hex.Decode(s.mark[:], []byte(hexMark)); err != nil {
				return s.damaged()
			}
		} else if _, err := fmt.Sscanf(line, "log %d after %d\n", &n.number, &n.after); err == nil {
			s.needed = append(s.needed, n)
		} else if _, err := fmt.Sscanf(line, "durable %d\n", &s.durable); err == nil {
			continue
		} else {
			return s.damaged()
		}
	}
	return nil
}

// damaged returns the error for an unreadable state file. Such a file proves nothing: a log that it does not name may
// still be needed.
func (s *logState) damaged() error {
	return errs.New(errs.Corrupt, "pebblekv.Open", s.file(), "this file is damaged: it says which logs the store needs").
		WithRemedy("put the file back; without it, save what is there with `hemera ns backup --state DIR --damaged FILE`, then `hemera ns restore FILE NEWDIR`")
}

// file returns the path of the state file.
func (s *logState) file() string { return s.fs.PathJoin(s.dir, stateName) }

// path returns the path of a log's file.
func (s *logState) path(number uint64) string {
	return s.fs.PathJoin(s.dir, fmt.Sprintf("%06d", number)+logSuffix)
}

// store replaces the file: after a crash there is the old one or the new one, complete. It takes two syncs and a rename.
// The caller has the turn.
func (s *logState) store() error {
	var text strings.Builder
	text.WriteString(stateFormat)
	fmt.Fprintf(&text, "mark %x\n", s.mark[:])
	fmt.Fprintf(&text, "durable %d\n", s.durable)
	for _, n := range s.needed {
		fmt.Fprintf(&text, "log %d after %d\n", n.number, n.after)
	}
	fmt.Fprintf(&text, "crc32c %08x\n", checksum.CRC32C([]byte(text.String())))
	temporary := s.fs.PathJoin(s.dir, "state.tmp")
	file, err := s.fs.Create(temporary, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write([]byte(text.String()))
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := s.fs.Rename(temporary, s.file()); err != nil {
		return err
	}
	return syncDir(s.fs, s.dir)
}

// change runs f with the turn. It may block on the disk, because another caller's f may be writing.
func (s *logState) change(f func() error) error {
	s.turn.Wait()
	defer s.turn.Release()
	return f()
}

// add records a log that begins after a batch. It is durable at return.
func (s *logState) add(number, after uint64) error {
	return s.change(func() error {
		if !s.current {
			s.begun = append(s.begun, neededLog{number, after})
			return nil
		}
		s.needed = append(s.needed, neededLog{number, after})
		return s.store()
	})
}

// drop records that a log is not needed any more. It is durable at return.
func (s *logState) drop(number uint64) error {
	is := func(n neededLog) bool { return n.number == number }
	return s.change(func() error {
		s.begun = slices.DeleteFunc(s.begun, is)
		if !slices.ContainsFunc(s.needed, is) {
			return nil
		}
		s.needed = slices.DeleteFunc(s.needed, is)
		return s.store()
	})
}

// keep records that only the newest of the logs up to a number are needed: as many as Pebble had later. Logs that were
// begun after that number was read stay, because the count may not include them. It does nothing if no more are recorded.
// It is durable at return.
func (s *logState) keep(newest int, upTo uint64) error {
	return s.change(func() error {
		counted := 0
		for counted < len(s.needed) && s.needed[counted].number <= upTo {
			counted++
		}
		if counted <= newest {
			return nil
		}
		s.needed = s.needed[counted-newest:]
		return s.store()
	})
}

// adopt makes the state that of this process: it needs the newest of the logs that it has begun, which continues after a
// batch, and no other. A new mark distinguishes its tokens from earlier ones.
func (s *logState) adopt(after uint64) error {
	return s.change(func() error {
		_, _ = rand.Read(s.mark[:]) // never fails
		s.needed = nil
		if len(s.begun) > 0 {
			s.needed = []neededLog{{s.begun[len(s.begun)-1].number, after}}
		}
		s.begun, s.current, s.durable = nil, true, after
		return s.store()
	})
}

// note records that a batch is durable. If the log ends before it, the log was cut. It is durable at return.
func (s *logState) note(batch uint64) error {
	return s.change(func() error {
		if !s.current || batch <= s.durable {
			return nil
		}
		s.durable = batch
		return s.store()
	})
}

// begin makes the state file of a new store, before any other file: a store without it has lost its log.
func (s *logState) begin() error {
	return s.change(func() error {
		if err := s.fs.MkdirAll(s.dir, 0o755); err != nil {
			return err
		}
		// Pebble syncs only the directories that it makes itself.
		store := s.fs.PathDir(s.dir)
		return errors.Join(s.store(), syncDir(s.fs, store), syncDir(s.fs, s.fs.PathDir(store)))
	})
}

// behind returns an error if the last batch of the store is older than the last durable one in the state file: then its
// tables are from an earlier time.
func (s *logState) behind(last uint64) error {
	if last >= s.durable {
		return nil
	}
	return errs.New(errs.Corrupt, "pebblekv.Open", s.dir, fmt.Sprintf("batch %d cannot be read, and all up to %d were durable", last+1, s.durable)).
		WithRemedy("put back all files of the store as they were; without them, save what is there with `hemera ns backup --state DIR --damaged FILE`, or take the latest backup; then `hemera ns restore FILE NEWDIR`")
}

// none records that no log is needed: all batches are in tables.
func (s *logState) none() error {
	return s.change(func() error {
		s.needed = nil
		return s.store()
	})
}
