package pebblekv

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"

	"hemera/words/errs"
)

// Names of Pebble's files. A marker is an empty file. Its name says which manifest (the list of all tables) or which
// format the store has.
const (
	manifestMarker = "marker.manifest."
	formatMarker   = "marker.format-version."
	manifestPrefix = "MANIFEST-"
	tableSuffix    = ".sst"
)

// intact refuses a directory that has parts of a store but lacks a marker: Pebble would make a new, empty store there and
// remove the tables. If a crash interrupts the creation of a store, it has no table and no log yet.
func intact(files vfs.FS, dir string) error {
	names, err := files.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	logs, err := files.List(files.PathJoin(dir, logDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// A table or a log proves that something was stored here.
	if !slices.ContainsFunc(names, func(name string) bool { return path.Ext(name) == tableSuffix }) &&
		!slices.ContainsFunc(logs, func(name string) bool { return path.Ext(name) == logSuffix }) {
		return nil
	}
	for _, marker := range []string{manifestMarker, formatMarker} {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, marker) }) {
			return errs.New(errs.Corrupt, "kv.Open", files.PathJoin(dir, marker+"*"), "this file of the store is missing; what else the store has is left as it is").
				WithRemedy("put the file back (its name counts, it is empty); without it, save what is there with `hemera ns backup --state DIR --damaged FILE`, then `hemera ns restore FILE NEWDIR`")
		}
	}
	return nil
}

// isLog reports whether a name has the form of Pebble's logs.
func isLog(name string) bool {
	_, _, ok := wal.ParseLogFilename(name)
	return ok
}

// formerLog refuses a store without a state file that has a log of an earlier version: what is in there would be lost.
func formerLog(files vfs.FS, dir string) error {
	for _, at := range []struct{ dir, suffix string }{{dir, ".log"}, {files.PathJoin(dir, "log"), ".log"}, {files.PathJoin(dir, logDir), ".journal"}} {
		names, err := files.List(at.dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		i := slices.IndexFunc(names, func(name string) bool { return path.Ext(name) == at.suffix })
		if i >= 0 {
			return errs.New(errs.Unsupported, "kv.Open", files.PathJoin(at.dir, names[i]), "an earlier version wrote this log").
				WithRemedy("make a backup with the version of hemera that wrote it, then `hemera ns restore FILE NEWDIR` with this one")
		}
	}
	return nil
}

// withoutLog returns an error for a store that has lists of tables and no state file: its log is lost. A young store has
// all its content in the log. The state file is the first file of a store.
func withoutLog(files vfs.FS, dir string) error {
	names, err := files.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !slices.ContainsFunc(names, func(name string) bool {
		return strings.HasPrefix(name, manifestPrefix) || strings.HasPrefix(name, manifestMarker) || path.Ext(name) == tableSuffix
	}) {
		return err
	}
	return errs.New(errs.Corrupt, "kv.Open", files.PathJoin(dir, logDir), "the log of the store is missing: changes that were acknowledged are in it").
		WithRemedy("put the directory back; without it, take the latest backup, or save what is in tables with `hemera ns backup --state DIR --damaged FILE`, then `hemera ns restore FILE NEWDIR`")
}

// assumedMarkers is a filesystem that shows a store's directory as if its markers existed: the newest manifest counts. It
// is only for reading a store whose user has asked for the rest of it.
type assumedMarkers struct {
	vfs.FS
	dir    string // of the store
	format uint64 // the format to assume if its marker is missing
}

// List implements [vfs.FS]. It adds the markers that are missing. Numbers in names have at least six digits, so a longer
// name has a larger number.
func (f assumedMarkers) List(dir string) ([]string, error) {
	names, err := f.FS.List(dir)
	if err != nil || dir != f.dir {
		return names, err
	}
	newest := ""
	for _, name := range names {
		if strings.HasPrefix(name, manifestPrefix) && (len(name) > len(newest) || len(name) == len(newest) && name > newest) {
			newest = name
		}
	}
	for marker, value := range map[string]string{manifestMarker: newest, formatMarker: fmt.Sprintf("%03d", f.format)} {
		if value != "" && !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, marker) }) {
			names = append(names, marker+"000001."+value)
		}
	}
	return names, nil
}

// Unwrap implements [vfs.FS].
func (f assumedMarkers) Unwrap() vfs.FS { return f.FS }
