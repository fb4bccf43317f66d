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

// load reads an undo file. A missing file is empty. It fails with Invalid if the content is no undo file.
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

// save writes an undo file durably and atomically. It removes the file if the list is empty.
func save(path string, list []Change) error {
	if len(list) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return errs.Wrap(err, "settings.Save", path)
		}
		return nil
	}
	// Indented, so that an admin can read it.
	data, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		return errs.Wrap(err, "settings.Save", path)
	}
	// Only root changes settings, so only root needs to read the old values.
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return errs.Wrap(err, "settings.Save", path)
	}
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // #nosec G304 -- as above
	if err != nil {
		return errs.Wrap(err, "settings.Save", path)
	}
	// Synced before the rename, so that after a power failure it is either the old file or the new one.
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	// After an error the old file stays.
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	return errs.Wrap(err, "settings.Save", path)
}
