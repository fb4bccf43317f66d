package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"hemera/words/errs"
)

// noteName is the file of the note, beside the label; noteMax is how much of it is read, in bytes.
const (
	noteName = ".hemera-seen"
	noteMax  = 4096
)

// Noter is a Store that keeps a note of its node. The disk looks at nothing of it. Noted blocks for the device,
// Note seldom. IO when the device fails.
type Noter interface {
	// Note replaces the note with another one, at most 4096 bytes and as long as the one before. The next process finds it; a power cut may
	// bring back an earlier one, or a part of each. It is not synced, and waits for the device seldom.
	Note(b []byte) error
	// Noted returns the note; nil where the disk has no note.
	Noted() ([]byte, error)
}

var _ Noter = (*Disk)(nil)

// Note calls [Noter] of any Store. It fails with Unsupported if the Store is not a Noter.
func Note(s Store, b []byte) error {
	if n, ok := s.(Noter); ok {
		return n.Note(b)
	}
	return errs.New(errs.Unsupported, "disk.Note", "", "the disk keeps no notes")
}

// Noted calls [Noter] of any Store. It returns nil if the Store is not a Noter.
func Noted(s Store) ([]byte, error) {
	if n, ok := s.(Noter); ok {
		return n.Noted()
	}
	return nil, nil
}

// Note implements [Noter].
func (d *Disk) Note(b []byte) error {
	// Where the disk was unmounted nothing is written.
	o, err := d.condition.observation()
	if err == nil && o.Gone != "" {
		err = errs.New(errs.Conflict, "disk.Note", d.path, o.Gone)
	}
	if err != nil {
		return errs.Wrap(err, "disk.Note", d.path)
	}
	f, err := d.fs.Open(d.path+"/"+noteName, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return errs.Wrap(err, "disk.Note", d.path)
	}
	_, err = f.WriteAt(b[:min(len(b), noteMax)], 0)
	return errs.Wrap(errors.Join(err, f.Close()), "disk.Note", d.path)
}

// Noted implements [Noter].
func (d *Disk) Noted() ([]byte, error) {
	f, err := d.fs.Open(d.path+"/"+noteName, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errs.Wrap(err, "disk.Noted", d.path)
	}
	b := make([]byte, noteMax)
	n, err := f.ReadAt(b, 0)
	if err == io.EOF {
		err = nil
	}
	return b[:n], errs.Wrap(errors.Join(err, f.Close()), "disk.Noted", d.path)
}
