// Package journal reads the write-ahead log that Hemera wrote itself before it used the one of Pebble. A store that was
// last open in such a version is opened once with this package: its batches are applied, and the files removed. Nothing
// writes this format any more.
//
// The format is in docs/formats/namespace.md. In short: each record has the random mark of the process that wrote it, a
// checksum, the number of its batch, and the number of the last batch that was durable before. A record that says that
// more was durable than can be read proves damage. A record torn by a crash never says so.
package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/words/errs"
)

const (
	magic    = "hemlog2\n" // begins each file
	family   = "hemlog"    // begins the files of all formats
	suffix   = ".journal"
	olderEnd = ".log" // ends names in the older directory
)

// Files is where a store's journal is.
type Files struct {
	FS  vfs.FS
	Dir string // of the files
	// Older is where the first versions had them. Both directories need not exist.
	Older string
}

// State is what a store's tables say about its journal.
type State struct {
	Mark   Mark   // of the records; zero: the store has none
	Last   uint64 // number of the last batch in the tables
	Newest uint64 // number of the newest file that is needed; 0: no file is needed
}

// file is one file of a journal.
type file struct {
	number uint64
	path   string
}

// name returns the name of a file.
func name(number uint64) string { return fmt.Sprintf("%06d", number) + suffix }

// parseName returns the number in a file's name; ok is false for other names. Number 0 is the state file of Pebble's log.
func parseName(name, suffix string) (number uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	number, err := strconv.ParseUint(digits, 10, 64)
	return number, ok && err == nil && number > 0 && fmt.Sprintf("%06d", number) == digits
}

// list returns the files that exist, by number.
func (f Files) list() ([]file, error) {
	var found []file
	for _, at := range []struct{ dir, suffix string }{{f.Older, olderEnd}, {f.Dir, suffix}} {
		names, err := f.FS.List(at.dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, name := range names {
			if number, ok := parseName(name, at.suffix); ok {
				found = append(found, file{number, f.FS.PathJoin(at.dir, name)})
			}
		}
	}
	slices.SortFunc(found, func(a, b file) int { return cmp.Compare(a.number, b.number) })
	return found, nil
}

// Exists reports whether there is a file of a journal.
func (f Files) Exists() (bool, error) {
	found, err := f.list()
	return len(found) > 0, err
}

// Remove removes all files. The store must have all their batches, durable.
func (f Files) Remove() error {
	found, err := f.list()
	for _, file := range found {
		if err == nil {
			err = f.FS.Remove(file.path)
		}
	}
	_ = f.FS.Remove(f.Older) // if it exists and is empty
	return err
}

// Replay calls apply with each batch that the tables do not have, in order, in Pebble's format of a batch. It returns
// the number of the last one. Corrupt, if batches are missing that were durable; those before them have been applied.
// Unsupported, if a file has another format. The slice is valid during the call only.
func (f Files) Replay(s State, apply func(batch []byte) error) (last uint64, err error) {
	found, err := f.list()
	if err != nil {
		return s.Last, err
	}
	r := &replay{files: f, state: s, last: s.Last, next: map[uint64]uint64{}, apply: apply}
	for _, file := range found {
		if err := r.file(file); err != nil {
			return r.last, err
		}
	}
	if err := r.complete(found); err != nil {
		return r.last, err
	}
	if r.durable > r.last {
		return r.last, errs.New(errs.Corrupt, "journal.Replay", f.Dir, fmt.Sprintf("the log is damaged: batch %d cannot be read, and all up to %d were durable", r.last+1, r.durable)).
			WithRemedy("save what is before them with `hemera ns backup --state DIR --damaged FILE`, or take the latest backup; then `hemera ns restore FILE NEWDIR`")
	}
	return r.last, nil
}

// replay is one reading of a journal.
type replay struct {
	files   Files
	state   State
	apply   func(batch []byte) error
	last    uint64            // number of the last batch that was applied
	durable uint64            // number of the last batch that is known to have been durable
	next    map[uint64]uint64 // by the number of a file, that of the one that follows it
}

// complete checks that no file is missing: neither the newest that the tables name, nor one that follows it by the last
// record of each.
func (r *replay) complete(found []file) error {
	for number := r.state.Newest; number != 0; number = r.next[number] {
		if !slices.ContainsFunc(found, func(f file) bool { return f.number == number }) {
			return errs.New(errs.Corrupt, "journal.Replay", r.files.FS.PathJoin(r.files.Dir, name(number)), "this file of the log is missing: changes that were acknowledged are in it").
				WithRemedy("put the file back; without it, save what is before it with `hemera ns backup --state DIR --damaged FILE`, or take the latest backup; then `hemera ns restore FILE NEWDIR`")
		}
	}
	return nil
}

// file applies the batches of one file that are new and continue the ones before. Behind the end of what was written are
// zeros, the rest of an older journal, or what a crash tore. Records there are old or belong to the last group. Nothing
// of that was acknowledged: none says that a batch was durable which is missing. A record that says so is behind damage.
func (r *replay) file(of file) error {
	in, err := r.files.FS.Open(of.path, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	found := newRecords(in, r.state.Mark)
	head, err := found.in.Peek(len(magic))
	if notEnd(err) != nil {
		return err
	}
	if version := string(head); version != magic && strings.HasPrefix(version, family) {
		return errs.New(errs.Unsupported, "journal.Replay", of.path, "the log has a format that this version does not know").
			WithRemedy("use the version of hemera that wrote it")
	}
	if r.state.Mark == (Mark{}) {
		return nil
	}
	for {
		next, err := found.next()
		if notEnd(err) != nil {
			return err
		}
		if err != nil {
			return nil
		}
		if err := r.record(of, next); err != nil {
			return err
		}
	}
}

// record takes one record of a file.
func (r *replay) record(of file, found record) error {
	r.durable = max(r.durable, found.durable)
	// A file that was used before may still have the last record of that time.
	if found.successor() == of.number+1 {
		r.next[of.number] = of.number + 1
	}
	if found.number != r.last+1 || len(found.batch) == 0 {
		return nil
	}
	if err := r.apply(found.batch); err != nil {
		return err
	}
	r.last = found.number
	return nil
}
