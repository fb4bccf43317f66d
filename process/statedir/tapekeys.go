package statedir

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hemera/words/errs"
	"hemera/words/tapeapi"
)

const (
	// TapeKeysDir is the directory with the secrets that tapes are encrypted with, below a manager's state directory.
	TapeKeysDir = "tape-keys"
	keySuffix   = ".key"
)

// TapeKeys keeps the secrets of tape keys, each in a file NAME.key of mode 0600 with its 64 hexadecimal digits and a
// newline. They are in no store and in no log: a person who has the directory and a cartridge can read the cartridge.
// Calls that change it must not be concurrent.
type TapeKeys struct{ Dir string }

// OpenTapeKeys returns the keys of a manager's state directory. The first key makes their directory. An existing one is
// closed to other users.
func OpenTapeKeys(state string) (TapeKeys, error) {
	k := TapeKeys{filepath.Join(state, TapeKeysDir)}
	if _, err := os.Lstat(k.Dir); errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	return k, Private(k.Dir)
}

// Secret reads one. It fails with NotFound, and with Corrupt if the file is not that of a key.
func (k TapeKeys) Secret(name string) (tapeapi.Secret, error) {
	// It is read each time, so that a file that was put back counts at once.
	path := k.path(name)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, errs.Wrap(err, "statedir.TapeKey", path)
	}
	s, err := ParseTapeSecret(b)
	return s, errs.As(err, errs.Corrupt, "statedir.TapeKey", path)
}

// Keep stores one durably. It fails with Exists if there is another one with the name: a secret is never overwritten.
func (k TapeKeys) Keep(name string, s tapeapi.Secret) error {
	path := k.path(name)
	// The same secret means a repeated call.
	old, err := k.Secret(name)
	if err == nil && string(old) == string(s) {
		return nil
	}
	if errs.KindOf(err) != errs.NotFound {
		return errs.New(errs.Exists, "statedir.KeepTapeKey", path, "there is another secret of that name").
			WithRemedy("take it over: hemera tape key add " + name + " --from " + path + "; or move the file away, and keep it")
	}
	if err := Private(k.Dir); err != nil {
		return err
	}
	// Atomically: a partial key would prevent the right one from being stored.
	text := []byte(hex.EncodeToString(s) + "\n")
	if err := replace(path, text); err != nil {
		return errs.Wrap(err, "statedir.KeepTapeKey", path)
	}
	return nil
}

// Forget removes one for ever. It is not an error if it does not exist.
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

// All reads all secrets, for a backup. A file that is not that of a key is an error: otherwise its absence in the backup
// would be noticed too late.
func (k TapeKeys) All() (map[string]tapeapi.Secret, error) {
	all := map[string]tapeapi.Secret{}
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

// path returns the file of a key, below the directory for any name. Names have no slash and do not begin with a dot: see
// tapeconfig.Key.
func (k TapeKeys) path(name string) string {
	return filepath.Join(k.Dir, filepath.Base(name)+keySuffix)
}

// ParseTapeSecret reads a secret in the form of its file: 64 hexadecimal digits, possibly surrounded by white space. It
// fails with Invalid. The error does not contain the text, which may be a key with a typing error.
func ParseTapeSecret(b []byte) (tapeapi.Secret, error) {
	if s, err := hex.DecodeString(strings.TrimSpace(string(b))); err == nil && len(s) == tapeapi.SecretSize {
		return s, nil
	}
	return nil, errs.New(errs.Invalid, "statedir.ParseTapeSecret", "", "a key is 64 hexadecimal digits").
		WithRemedy("of a file with the 32 bytes themselves: xxd -p -c 32 FILE")
}

// replace writes a file that only its owner may read, durably and atomically.
func replace(path string, content []byte) error {
	dir, name := filepath.Split(path)
	half := filepath.Join(dir, "."+name)
	f, err := os.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	// Durable before it has its name.
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(half, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(half))
	}
	return SyncDir(dir)
}

// SyncDir makes the names in a directory durable: a sync of a file does not include its name.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
