package pebblekv

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"

	"hemera/words/errs"
)

// audit checks the logs of the process before, before Pebble opens them: Pebble takes the last readable record for the
// end of the log, applies the batches up to there and removes the files. It finds Corrupt if a log is missing, or if
// batches are missing that were provably durable. It changes nothing.
//
// The proof is the state file, or a token behind the readable part. A crash may tear all bytes that were written since
// the last sync, in any way, but no token in them says that another batch in them was durable.
type audit struct {
	fs    *logFS
	state *logState // of the process before

	read    uint64 // number of the last readable batch
	durable uint64 // number of the last batch that was durable according to a token
}

// run checks all logs that are needed, oldest first. With an error of kind Corrupt it also returns how far they can be
// read. Only the newest may have an end that a crash tore: Pebble ends a log before it begins the next, and the state
// file names a log before it has a batch.
func (a *audit) run() (*logExtent, error) {
	var before logExtent
	for i, log := range a.state.needed {
		if i == 0 {
			a.read = log.after
		}
		if a.read < log.after {
			return a.damage(before)
		}
		raw, err := a.content(log.number)
		if errors.Is(err, fs.ErrNotExist) {
			return &logExtent{number: log.number - 1}, a.missing(log.number)
		}
		if err != nil {
			return nil, err
		}
		// All tokens of the file count, also those behind damage, which Pebble cannot reach.
		tokens(raw, a.state.mark, func(t token) { a.durable = max(a.durable, t.durable) })
		size, clean, err := a.batches(log.number)
		if err != nil {
			return nil, err
		}
		last := i == len(a.state.needed)-1
		if last {
			a.durable = max(a.durable, a.state.durable)
		}
		before = logExtent{log.number, size}
		if !clean && !last || a.durable > a.read {
			return a.damage(before)
		}
	}
	return nil, nil
}

// batches reads the batches of a log up to the first unreadable one. size is the number of bytes up to there, and clean
// is true if Pebble ended the log there.
func (a *audit) batches(number uint64) (size int64, clean bool, err error) {
	var logs wal.FileAccumulator
	if _, err := logs.MaybeAccumulate(a.fs, a.fs.PathJoin(a.fs.dir, fmt.Sprintf("%06d.log", number))); err != nil {
		return 0, false, err
	}
	from := logs.Finish()[0].OpenForRead()
	defer func() { err = errors.Join(err, from.Close()) }()
	for {
		next, at, err := from.NextRecord()
		var raw []byte
		if err == nil {
			raw, err = io.ReadAll(next)
		}
		switch {
		case errors.Is(err, io.EOF):
			return at.Physical, true, nil
		case errors.Is(err, record.ErrUnexpectedEOF), errors.Is(err, record.ErrInvalidChunk), errors.Is(err, record.ErrZeroedChunk):
			return at.Physical, false, nil
		case err != nil && readKind(err) == errs.Corrupt:
			return at.Physical, false, nil
		case err != nil:
			return 0, false, err
		}
		tokens(raw, a.state.mark, func(t token) { a.read = max(a.read, t.number) })
	}
}

// content returns all bytes of a log's file: about a memory table, 32 MiB, and at most a few files at a start.
func (a *audit) content(number uint64) ([]byte, error) {
	file, err := a.fs.FS.Open(a.state.path(number), vfs.SequentialReadsOption)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(file)
	return raw, errors.Join(err, file.Close())
}

// damage returns the error for logs that are readable up to an extent.
func (a *audit) damage(extent logExtent) (*logExtent, error) {
	known := "later ones were written"
	if a.durable > a.read {
		known = fmt.Sprintf("all up to %d were durable", a.durable)
	}
	return &extent, errs.New(errs.Corrupt, "pebblekv.Open", a.fs.logs,
		fmt.Sprintf("the log is damaged: batch %d cannot be read, and %s", a.read+1, known)).
		WithRemedy("save what is before them with `hemera ns backup --state DIR --damaged FILE`, or take the latest backup; then `hemera ns restore FILE NEWDIR`")
}

// missing returns the error for a log that is needed and does not exist.
func (a *audit) missing(number uint64) error {
	return errs.New(errs.Corrupt, "pebblekv.Open", a.state.path(number), "this file of the log is missing: changes that were acknowledged are in it").
		WithRemedy("put the file back; without it, save what is before it with `hemera ns backup --state DIR --damaged FILE`, or take the latest backup; then `hemera ns restore FILE NEWDIR`")
}
