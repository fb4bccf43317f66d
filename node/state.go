package node

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// state is the content of node.json: what a node must know before it reaches the manager.
type state struct {
	ID    hemera.NodeID `json:"id"`
	Disks []knownDisk   `json:"disks"`
	// Running is set while a process uses the directory, and stays set if the process does not end cleanly.
	Running bool `json:"running,omitempty"`
}

// knownDisk is a disk that the node was given, open or not.
type knownDisk struct {
	Path  string           `json:"path"` // clean
	Space hemera.SpaceName `json:"space,omitempty"`
	UUID  string           `json:"uuid,omitempty"` // of the label; "" if it was never opened
	ID    hemera.DiskID    `json:"id,omitempty"`   // zero until the manager has named it
	// wished: only an admin's wish names it, and it may be withdrawn as long as the disk was never opened.
	wished bool
	// mount: it must be a separate filesystem when it is first opened.
	mount bool
}

// stateFile is node.json and its content.
type stateFile struct {
	state
	path string
}

// openState reads node.json, or makes the directory for it.
func openState(dir string) (*stateFile, error) {
	s := &stateFile{path: filepath.Join(dir, "node.json")}
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, errs.Wrap(err, "node.New", dir)
		}
		return s, nil
	}
	if err != nil {
		return nil, errs.Wrap(err, "node.New", s.path)
	}
	if err := json.Unmarshal(text, &s.state); err != nil {
		e := errs.New(errs.Invalid, "node.New", s.path, "not a node's state")
		e.Cause = err
		return nil, e.WithRemedy("restore the file, or remove it and join again: the disks keep their identity")
	}
	return s, nil
}

// text returns the state for the file. It leaves out paths that were never opened as a disk, because they may be typing
// errors.
func (s *stateFile) text() ([]byte, error) {
	kept := state{ID: s.ID, Running: s.Running, Disks: []knownDisk{}} // a list without disks is []
	for _, k := range s.Disks {
		if k.UUID != "" {
			kept.Disks = append(kept.Disks, k)
		}
	}
	text, err := json.MarshalIndent(kept, "", "  ")
	return append(text, '\n'), errs.Wrap(err, "node.Save", s.path)
}

// write makes the state durable.
func (s *stateFile) write(text []byte) error {
	return errs.Wrap(replaceFile(s.path, text), "node.Save", s.path)
}

// replaceFile replaces the content of a file durably and atomically: it writes and syncs another file, and renames it.
func replaceFile(path string, text []byte) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return err
	}
	// The rename is durable after a sync of its directory.
	return syncDir(filepath.Dir(path))
}

// syncDir makes the names in a directory durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
