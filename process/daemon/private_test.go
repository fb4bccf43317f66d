package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"hemera/process/statedir"
)

// All users can read the directory that an admin makes for a manager with mkdir, but they must not read the keys in the
// store, neither in a new one nor in one that an older version made.
func TestOthersCannotReadTheStore(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(dir, statedir.StoreDir)
	for range 2 {
		m, err := OpenManager(t.Context(), ManagerOptions{Dir: dir, Listen: "127.0.0.1:0", CacheBytes: 1 << 28, Log: keptLog(t)})
		if err != nil {
			t.Fatal(err)
		}
		m.close()
		for _, path := range []string{store, filepath.Join(dir, "authority.pem")} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
		if err := os.Chmod(store, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s, err := statedir.Open(dir, false, keptLog(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if info, err := os.Stat(store); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("offline: %v, %v", info.Mode(), err)
	}
}
