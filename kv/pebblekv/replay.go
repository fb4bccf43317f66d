package pebblekv

import (
	"bytes"
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
	db  *pebble.DB
	// tables are where batches go before the logs are removed.
	tables *tables
	mark   mark   // of the life before; zero: it has none
	last   uint64 // number of the last batch that the database has

	durable uint64 // number of the last batch that is known to have been durable
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
	if r.last > before {
		if err := r.tables.flush(); err != nil {
			return 0, err
		}
	}
	for _, number := range logs {
		if err := r.fs.Remove(r.fs.PathJoin(r.dir, logName(number))); err != nil {
			return 0, err
		}
		highest = number
	}
	return highest, syncDir(r.fs, r.fs.PathDir(r.dir))
}

// read gives the database the batches of all logs that go on, and returns the logs' numbers. Corrupt when batches
// are missing that were durable.
func (r *replay) read() ([]uint64, error) {
	logs, err := r.logs()
	if err != nil {
		return nil, err
	}
	for _, number := range logs {
		if err := r.file(logName(number)); err != nil {
			return nil, err
		}
	}
	if r.durable > r.last {
		return nil, errs.New(errs.Corrupt, "kv.Open", r.dir, fmt.Sprintf("the log is damaged: batch %d cannot be read, and all up to %d were durable", r.last+1, r.durable)).
			WithRemedy("save what is before them with `hemera ns backup --state DIR --damaged`, or take the latest backup; then `hemera ns restore`")
	}
	return logs, nil
}

// logs are the numbers of the files there are, ascending.
func (r *replay) logs() ([]uint64, error) {
	names, err := r.fs.List(r.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var logs []uint64
	for _, name := range names {
		if number, ok := logNumber(name); ok {
			logs = append(logs, number)
		}
	}
	slices.Sort(logs)
	return logs, nil
}

// file applies the batches of one log that are new and go on. Behind the end of what was written are zeros, what
// is left of an older log, or what a crash tore. Records there are either old or of the last lot, of which
// nothing was acknowledged: none says that a batch was durable which is not there. One that does is behind damage.
func (r *replay) file(name string) error {
	file, err := r.fs.Open(r.fs.PathJoin(r.dir, name), vfs.SequentialReadsOption)
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
		if err := r.take((&records1{in: found.in}).next); err != nil {
			return err
		}
	case version != logMagic && strings.HasPrefix(version, logMagic[:len(logMagic)-2]):
		return errs.New(errs.Unsupported, "kv.Open", name, "the log has a format that this version does not know").
			WithRemedy("use the version of hemera that wrote it")
	}
	if r.mark == (mark{}) {
		return nil
	}
	return r.take(found.next)
}

// take takes all records of a file.
func (r *replay) take(next func() (record, error)) error {
	for {
		found, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r.durable = max(r.durable, found.durable)
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
