package statedir

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// The suffix keeps other files of people, such as a README, from being keys.
const (
	// TapeKeysDir is the directory with the secrets that tapes are encrypted with, below a manager's state directory.
	TapeKeysDir = "tape-keys"
	keySuffix   = ".key"
)

// TapeKeys keeps the secrets of tape keys, each in a file NAME.key of mode 0600 with its 64 hexadecimal digits and a newline. They are in no
// store and in no log: who has the directory and a cartridge reads the cartridge. Calls that change it are made one after the other.
type TapeKeys struct{ Dir string }

// OpenTapeKeys returns the keys of a manager's state directory. Their directory is made with the first key; one that is there is closed to
// others.
func OpenTapeKeys(state string) (TapeKeys, error) {
	k := TapeKeys{filepath.Join(state, TapeKeysDir)}
	if _, err := os.Lstat(k.Dir); errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	return k, Private(k.Dir)
}

// Secret reads one. NotFound; Corrupt if the file is not that of a key.
func (k TapeKeys) Secret(name string) (hemera.TapeSecret, error) {
	// 65 bytes: read each time, so that a file that was put back counts at once.
	path := k.path(name)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, errs.Wrap(err, "statedir.TapeKey", path)
	}
	s, err := ParseTapeSecret(b)
	return s, errs.As(err, errs.Corrupt, "statedir.TapeKey", path)
}

// Keep stores one durably. Exists if there is another one of the name: a secret is never written over.
func (k TapeKeys) Keep(name string, s hemera.TapeSecret) error {
	path := k.path(name)
	// The same again is a call that was repeated.
	old, err := k.Secret(name)
	if err == nil && string(old) == string(s) {
		return nil
	}
	if errs.KindOf(err) != errs.NotFound {
		return errs.New(errs.Exists, "statedir.KeepTapeKey", path, "there is another secret of that name").
			WithRemedy("take it over: hemera tape key add " + name + " --from " + path + "; or move the file away, and keep it")
	}
	// The directory is made with the first key.
	if err := Private(k.Dir); err != nil {
		return err
	}
	// Whole or not at all: a half of a key would stand in the way of the right one.
	text := []byte(hex.EncodeToString(s) + "\n")
	if err := replace(path, text); err != nil {
		return errs.Wrap(err, "statedir.KeepTapeKey", path)
	}
	return nil
}

// Forget removes one for ever. One that is not there is no error.
func (k TapeKeys) Forget(name string) error {
	path := k.path(name)
	// A call that is repeated after a crash finds nothing.
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = SyncDir(k.Dir)
	}
	return errs.Wrap(err, "statedir.ForgetTapeKey", path)
}

// All reads all secrets, for a backup. A file that is not that of a key is an error: what a backup leaves out is noticed too late.
func (k TapeKeys) All() (map[string]hemera.TapeSecret, error) {
	all := map[string]hemera.TapeSecret{}
	// A manager without keys has no directory for them.
	list, err := os.ReadDir(k.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, errs.Wrap(err, "statedir.TapeKeys", k.Dir)
	}
	for _, f := range list {
		name, is := strings.CutSuffix(f.Name(), keySuffix)
		if !is || strings.HasPrefix(name, ".") { // one that was being written
			continue
		}
		if all[name], err = k.Secret(name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// path is the file of a key, below the directory whatever the name is. Names have no slash and begin with no dot: see tapeconfig.Key.
func (k TapeKeys) path(name string) string {
	return filepath.Join(k.Dir, filepath.Base(name)+keySuffix)
}

// ParseTapeSecret reads a secret as files have it: 64 hexadecimal digits, with white space around. Invalid. The error has none of it.
func ParseTapeSecret(b []byte) (hemera.TapeSecret, error) {
	// No digits of it in the error: it may be a key with a slip.
	if s, err := hex.DecodeString(strings.TrimSpace(string(b))); err == nil && len(s) == hemera.TapeSecretSize {
		return s, nil
	}
	return nil, errs.New(errs.Invalid, "statedir.ParseTapeSecret", "", "a key is 64 hexadecimal digits").
		WithRemedy("of a file with the 32 bytes themselves: xxd -p -c 32 FILE")
}

// replace writes a file that only its owner may read, durably and as a whole.
func replace(path string, content []byte) error {
	dir, name := filepath.Split(path)
	half := filepath.Join(dir, "."+name)
	f, err := os.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	// On the disk before it has its name.
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(half, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(half))
	}
	return SyncDir(dir)
}

// SyncDir makes the names in a directory durable: a sync of a file does not
// cover its name.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
