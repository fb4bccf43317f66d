package disk

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"hemera/platform/vfs"
	"hemera/words/errs"
)

// The label is a small text file: its kind and version, the UUID, and a warning to people.
const (
	labelFirst = "hemera-disk 1" // the first line
	labelHelp  = "# This filesystem is a disk of Hemera. Do not change or remove anything in it by hand."
	changesKey = "changes " // begins the line of a number that grows, see changes.go
	labelMax   = 4096       // how much of it is read, in bytes
)

// Format makes the directory at path a new disk and returns the UUID by which it will be known. Other files there stay.
// Durable when it returns; Exists if path already is a disk. After any other failure it can be tried again.
func Format(fsys vfs.FS, path string) (uuid string, err error) {
	const op = "disk.Format"
	label := path + "/" + labelName
	if _, err := fsys.Stat(label); err == nil {
		return "", errs.New(errs.Exists, op, path, "already is a disk of Hemera").
			WithRemedy("Add it as it is, or remove " + label + " if what it holds may be lost.")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", errs.Wrap(err, op, path)
	}
	// The label comes last, by a rename: with it the directory is a disk, and everything else is there.
	if err := fsys.Mkdir(path + "/" + pendingName); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", errs.Wrap(err, op, path)
	}
	uuid = newUUID()
	text := fmt.Sprintf("%s\nuuid %s\n%s\n", labelFirst, uuid, labelHelp)
	if err := writeFile(fsys, label+".new", text); err != nil {
		return "", errs.Wrap(err, op, path)
	}
	if err := fsys.Rename(label+".new", label); err != nil {
		return "", errs.Wrap(err, op, path)
	}
	// The directory has both names: that of the label and that of the pending directory.
	if err := fsys.SyncDir(path); err != nil {
		return "", errs.Wrap(err, op, path)
	}
	return uuid, nil
}

// ReadLabel returns the UUID of the disk at path. It fails with NotFound if the directory is not a disk: then nothing may
// be written there, for a disk that is not mounted looks like this.
func ReadLabel(fsys vfs.FS, path string) (uuid string, err error) {
	l, err := readLabel(fsys, path)
	return l.uuid, err
}

// label has the fields of the text.
type label struct {
	uuid    string
	changes uint64   // 0 without a line of it
	others  []string // all other lines but the first: for people, or of later versions
}

// text returns the label as it is stored.
func (l label) text() string {
	return fmt.Sprintf("%s\nuuid %s\n%s%d\n%s", labelFirst, l.uuid, changesKey, l.changes, strings.Join(l.others, "\n"))
}

// readLabel does what [ReadLabel] does, for all of the label.
func readLabel(fsys vfs.FS, path string) (l label, err error) {
	const op = "disk.ReadLabel"
	f, err := fsys.Open(path+"/"+labelName, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return l, errs.New(errs.NotFound, op, path, "no label "+labelName+": not a disk of Hemera, or not mounted").
			WithRemedy("Mount the disk, or add the path as a new one.")
	}
	if err != nil {
		return l, errs.Wrap(err, op, path)
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, labelMax)
	n, err := f.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return l, errs.Wrap(err, op, path)
	}
	lines := strings.Split(string(b[:n]), "\n")
	if lines[0] != labelFirst {
		return l, errs.New(errs.Corrupt, op, path, fmt.Sprintf("label begins with %.40q, want %q", lines[0], labelFirst))
	}
	for _, line := range lines[1:] {
		uuid, is := strings.CutPrefix(line, "uuid ")
		number, counts := strings.CutPrefix(line, changesKey)
		switch {
		case is && uuid != "" && l.uuid == "":
			l.uuid = uuid
		case counts:
			l.changes, _ = strconv.ParseUint(number, 10, 64) // a bad number is the lowest: the disk is compared before it counts
		default:
			l.others = append(l.others, line)
		}
	}
	if l.uuid == "" {
		return l, errs.New(errs.Corrupt, op, path, "label without a uuid")
	}
	return l, nil
}

// replaceLabel puts a label in the place of the one that is there. Durable when it returns, and whole at any time.
func replaceLabel(fsys vfs.FS, path string, l label) error {
	name := path + "/" + labelName
	if err := writeFile(fsys, name+".new", l.text()); err != nil {
		return err
	}
	if err := fsys.Rename(name+".new", name); err != nil {
		return err
	}
	return fsys.SyncDir(path)
}

// writeFile makes a file with the text; its content is durable when it returns, its name is not.
func writeFile(fsys vfs.FS, name, text string) error {
	f, err := fsys.Open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text), 0)
	return errors.Join(err, f.Sync(), f.Close())
}

// newUUID returns a random (version 4) UUID of RFC 9562.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
