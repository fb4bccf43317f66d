package pebblekv

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/errs"
)

// replay is what a start does with the logs of the life before.
type replay struct {
	fs  vfs.FS
	dir string
	old string // where older versions had the logs
	db  *pebble.DB
	// tables are where batches go before the logs are removed.
	tables *tables
	mark   mark   // of the life before; zero: it has none
	last   uint64 // number of the last batch that the database has
	newest uint64 // number of the newest file that the database knows of; 0: none is needed

	durable uint64            // number of the last batch that is known to have been durable
	next    map[uint64]uint64 // the file that goes on where another ended, by that one's number
}

// logFile is one file of a log.
type logFile struct {
	number uint64
	path   string
}

// run gives the database the batches that it lost with its memory, has it write them to tables and
// removes the logs. It returns the highest number of a log. Corrupt when batches are missing that were
// durable; nothing is removed then.
func (r *replay) run() (highest uint64, err error) {
	if err := r.fs.MkdirAll(r.dir, 0o755); err != nil {
		return 0, err
	}
	before := r.last
	logs, err := r.read()
	if err != nil {
		return 0, err
	}
	if r.last > before || r.newest > 0 {
		if err := r.tables.newest(0); err != nil {
			return 0, err
		}
		if err := r.tables.flush(); err != nil {
			return 0, err
		}
	}
	for _, log := range logs {
		if err := r.fs.Remove(log.path); err != nil {
			return 0, err
		}
		highest = log.number
	}
	_ = r.fs.Remove(r.old) // where it is there and empty
	return highest, syncDir(r.fs, r.fs.PathDir(r.dir))
}

// read gives the database the batches of all logs that go on, and returns the logs' numbers. Corrupt when batches
// are missing that were durable.
func (r *replay) read() ([]logFile, error) {
	logs, err := r.logs()
	if err != nil {
		return nil, err
	}
	r.next = map[uint64]uint64{}
	for _, log := range logs {
		if err := r.file(log); err != nil {
			return nil, err
		}
	}
	if err := r.complete(logs); err != nil {
		return nil, err
	}
	if r.durable > r.last {
		return nil, errs.New(errs.Corrupt, "kv.Open", r.dir, fmt.Sprintf("the log is damaged: batch %d cannot be read, and all up to %d were durable", r.last+1, r.durable)).
			WithRemedy("save what is before them with `hemera ns backup --state DIR --damaged`, or take the latest backup; then `hemera ns restore`")
	}
	return logs, nil
}

// complete says whether a file is missing that has to be there: the newest that the tables know, which are written
// before an older one goes, and what follows it by the last record of each.
func (r *replay) complete(logs []logFile) error {
	for number := r.newest; number != 0; number = r.next[number] {
		if !slices.ContainsFunc(logs, func(l logFile) bool { return l.number == number }) {
			return errs.New(errs.Corrupt, "kv.Open", r.fs.PathJoin(r.dir, logName(number)), "this file of the log is missing: changes that were acknowledged are in it").
				WithRemedy("put the file back; without it, save what is before it with `hemera ns backup --state DIR --damaged`, or take the latest backup; then `hemera ns restore`")
		}
	}
	return nil
}

// logs are the files there are, by number.
func (r *replay) logs() ([]logFile, error) {
	var logs []logFile
	for _, at := range []struct{ dir, suffix string }{{r.old, oldLogSuffix}, {r.dir, logSuffix}} {
		names, err := r.fs.List(at.dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, name := range names {
			if number, ok := logNumber(name, at.suffix); ok {
				logs = append(logs, logFile{number, r.fs.PathJoin(at.dir, name)})
			}
		}
	}
	slices.SortFunc(logs, func(a, b logFile) int { return cmp.Compare(a.number, b.number) })
	return logs, nil
}

// file applies the batches of one log that are new and go on. Behind the end of what was written are zeros, what
// is left of an older log, or what a crash tore. Records there are either old or of the last lot, of which
// nothing was acknowledged: none says that a batch was durable which is not there. One that does is behind damage.
func (r *replay) file(log logFile) error {
	file, err := r.fs.Open(log.path, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	found := newRecords(file, r.mark)
	magic, err := found.in.Peek(len(logMagic))
	if notEnd(err) != nil {
		return err
	}
	switch version := string(magic); {
	case version == logMagic1:
		_, _ = found.in.Discard(len(logMagic1)) // which were peeked
		if err := r.take(log, (&records1{in: found.in}).next); err != nil {
			return err
		}
	case version != logMagic && strings.HasPrefix(version, logMagic[:len(logMagic)-2]):
		return errs.New(errs.Unsupported, "kv.Open", log.path, "the log has a format that this version does not know").
			WithRemedy("use the version of hemera that wrote it")
	}
	if r.mark == (mark{}) {
		return nil
	}
	return r.take(log, found.next)
}

// take takes all records of a file.
func (r *replay) take(log logFile, next func() (record, error)) error {
	for {
		found, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r.durable = max(r.durable, found.durable)
		// A file that was used before may have the last record of that time still.
		if found.successor() == log.number+1 {
			r.next[log.number] = log.number + 1
		}
		if found.number != r.last+1 || len(found.batch) == 0 {
			continue
		}
		if err := r.apply(found.batch); err != nil {
			return err
		}
		r.last = found.number
	}
}

func (r *replay) apply(batch []byte) error {
	b := r.db.NewBatch()
	batch = bytes.Clone(batch) // it is the database's from now on
	if err := b.SetRepr(batch); err != nil {
		return err
	}
	clear(batch[:8]) // the number Pebble gave it in the life before; a large batch would keep it
	if err := r.db.Apply(b, pebble.NoSync); err != nil {
		return err
	}
	return b.Close()
}
