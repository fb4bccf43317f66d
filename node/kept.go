package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hemera/transfer"
	"hemera/words/errs"
)

const (
	// keptSuffix is the suffix of the file names of records of kept writes.
	keptSuffix = ".json"
	// keptFilesMax and keptFileMax bound the number of records and the size of one that are read: more than a node keeps,
	// and more than a record has.
	keptFilesMax = transfer.PendingMax
	keptFileMax  = 1 << 20
)

// keptFiles implements transfer.KeptStore with one file for each kept write, in the directory "kept" in the node's state
// directory.
type keptFiles struct{ dir string }

var _ transfer.KeptStore = keptFiles{}

// Save implements transfer.KeptStore.
func (k keptFiles) Save(name string, record []byte) error {
	err := os.MkdirAll(k.dir, 0o700)
	if err == nil {
		err = replaceFile(k.path(name), record)
	}
	return errs.Wrap(err, "node.Keep", k.dir)
}

// Remove implements transfer.KeptStore.
func (k keptFiles) Remove(name string) error {
	err := os.Remove(k.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errs.Wrap(err, "node.Keep", k.dir)
}

// Load implements transfer.KeptStore.
func (k keptFiles) Load() (map[string][]byte, error) {
	entries, err := os.ReadDir(k.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errs.Wrap(err, "node.Keep", k.dir)
	}
	records := map[string][]byte{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), keptSuffix)
		info, err := e.Info()
		if !ok || err != nil || !info.Mode().IsRegular() || info.Size() > keptFileMax || len(records) >= keptFilesMax {
			continue
		}
		if records[name], err = os.ReadFile(k.path(name)); err != nil {
			return nil, errs.Wrap(err, "node.Keep", k.dir)
		}
	}
	return records, nil
}

// path returns the path of a record's file.
func (k keptFiles) path(name string) string { return filepath.Join(k.dir, name+keptSuffix) }
