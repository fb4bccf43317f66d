package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"hemera/words/errs"
)

// fileMax bounds an undo file: some thousand cores with a line each.
const fileMax = 4 << 20

// load reads an undo file; one that is not there is empty. Invalid if it is none.
func load(path string) (list []Change, err error) {
	f, err := os.Open(path) // #nosec G304 -- the user names it
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errs.Wrap(err, "settings.Load", path)
	}
	defer func() { _ = f.Close() }()
	if err := json.NewDecoder(io.LimitReader(f, fileMax)).Decode(&list); err != nil {
		return nil, errs.New(errs.Invalid, "settings.Load", path, fmt.Sprintf("it is no undo file: %v", err)).WithRemedy("name another file with --undo-file")
	}
	return list, nil
}

// save writes an undo file, durably, whole or not at all. An empty list removes it.
func save(path string, list []Change) error {
	if len(list) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return errs.Wrap(err, "settings.Save", path)
		}
		return nil
	}
	// Indented: an admin may want to read it.
	data, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		return errs.Wrap(err, "settings.Save", path)
	}
	// Only root changes settings, so only root needs to read what they were.
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return errs.Wrap(err, "settings.Save", path)
	}
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // #nosec G304 -- as above
	if err != nil {
		return errs.Wrap(err, "settings.Save", path)
	}
	// Synced before the rename, so that a power cut leaves the old file or the new one.
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	// The old file stays if anything failed.
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	return errs.Wrap(err, "settings.Save", path)
}
