package daemon

import (
	"bytes"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"hemera/process/backup"
	"hemera/process/statedir"
	"hemera/words/tapeapi"
)

// TestTapeKeysAreInBackups: keys are in the backups of a running and of a stopped manager, and a manager restored from
// one can use them. The namespace has none of them.
func TestTapeKeysAreInBackups(t *testing.T) {
	o := ManagerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0", CacheBytes: 64 << 20, Log: keptLog(t)}
	m, err := OpenManager(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	made, err := m.TapeKeys.AddTapeKey(t.Context(), "test", tapeapi.Key{Name: "k1"}, "")
	if err != nil {
		t.Fatal(err)
	}
	var live, offline bytes.Buffer
	if err := m.backups().Backup(t.Context(), &live); err != nil {
		t.Fatal(err)
	}
	m.close()
	if err := (backup.Offline{Dir: o.Dir, Log: o.Log}).Backup(t.Context(), &offline); err != nil {
		t.Fatal(err)
	}
	keys, err := statedir.OpenTapeKeys(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := keys.Secret("k1")
	if err != nil {
		t.Fatal(err)
	}
	notIn(t, filepath.Join(o.Dir, statedir.StoreDir), secret)
	for name, archive := range map[string]*bytes.Buffer{"live": &live, "offline": &offline} {
		o.Dir = filepath.Join(t.TempDir(), "restored")
		if _, err := backup.Restore(t.Context(), archive, o.Dir, backup.RestoreOptions{}); err != nil {
			t.Fatal(err)
		}
		again, err := OpenManager(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := again.TapeKeys.TapeKeyList(t.Context())
		if err != nil || len(rows) != 1 || rows[0].Problem != "" || rows[0].Fingerprint != made.Fingerprint {
			t.Errorf("%s: %+v, %v", name, rows, err)
		}
		again.close()
		dir, err := os.Stat(filepath.Join(o.Dir, statedir.TapeKeysDir))
		if err != nil || dir.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", name, dir, err)
		}
	}
}

// notIn looks for a secret in all files below a directory.
func notIn(t *testing.T, dir string, secret tapeapi.Secret) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if bytes.Contains(b, secret) || bytes.Contains(b, []byte(hex.EncodeToString(secret))) {
			t.Errorf("the secret is in %s", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
}
