package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hemera/process/backup"
	"hemera/process/statedir"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// failingWriter is a client that disconnects.
type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestABackupIsRememberedOnceItIsSent: a backup whose client disconnected is not recorded.
func TestABackupIsRememberedOnceItIsSent(t *testing.T) {
	m, err := OpenManager(t.Context(), ManagerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0", CacheBytes: 64 << 20, Log: keptLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	last := func() time.Time {
		s, err := m.Observer.NamespaceStats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.LastBackup
	}
	if err := m.backups().Backup(t.Context(), failingWriter{}); err == nil || !last().IsZero() {
		t.Errorf("a backup that was not taken: %v, remembered as of %s", err, last())
	}
	before := time.Now()
	if err := m.backups().Backup(t.Context(), io.Discard); err != nil || last().Before(before) || last().After(time.Now()) {
		t.Errorf("a backup: %v, remembered as of %s", err, last())
	}
}

// crashed returns a copy of the state directory of a manager that made directories /d00, /d01 and so on, and was killed.
// Unless damaged is empty, the log record of that directory is damaged.
func crashed(t *testing.T, count int, damaged string) (dir string) {
	t.Helper()
	o := ManagerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0", CacheBytes: 64 << 20, Log: keptLog(t)}
	m, err := OpenManager(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	for i := range count {
		if _, err := m.Names.Mkdir(t.Context(), hemera.SystemIdentity(), fmt.Sprintf("/d%02d", i), 0o755, false); err != nil {
			t.Fatal(err)
		}
	}
	dir = filepath.Join(t.TempDir(), "state")
	if err := os.CopyFS(dir, os.DirFS(o.Dir)); err != nil {
		t.Fatal(err)
	}
	if damaged == "" {
		return dir
	}
	logs, err := filepath.Glob(filepath.Join(dir, statedir.StoreDir, "journal", "*.wal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range logs {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(raw, []byte(damaged))
		if at < 0 {
			continue // a log without batches
		}
		raw[at]++
		if err := os.WriteFile(name, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	t.Fatalf("%s is in none of %v", damaged, logs)
	return ""
}

// logFiles returns the content of a store's log.
func logFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, statedir.StoreDir, "journal", "*"))
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]string{}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		content[name] = string(raw)
	}
	return content
}

// TestDamagedState: a manager does not start from a damaged log; the part before the damage can be saved, and a manager
// restored from it never assigns an id twice.
func TestDamagedState(t *testing.T) {
	dir := crashed(t, 20, "d12")
	before := logFiles(t, dir)
	o := ManagerOptions{Dir: dir, Listen: "127.0.0.1:0", CacheBytes: 64 << 20, Log: keptLog(t)}
	if _, err := OpenManager(t.Context(), o); !errors.Is(err, errs.Corrupt) || errs.RemedyOf(err) == "" {
		t.Errorf("a start: %v", err)
	}
	b := backup.Offline{Dir: dir, Log: o.Log}
	if err := b.Backup(t.Context(), new(bytes.Buffer)); !errors.Is(err, errs.Corrupt) || errs.RemedyOf(err) == "" {
		t.Errorf("a backup of all of it: %v", err)
	}
	var damage error
	var archive bytes.Buffer
	b.Damaged = func(err error) { damage = err }
	if err := b.Backup(t.Context(), &archive); err != nil || !errors.Is(damage, errs.Corrupt) {
		t.Fatalf("a backup of what is there: %v; %v", err, damage)
	}
	if !maps.Equal(logFiles(t, dir), before) {
		t.Error("the log was changed")
	}
	o.Dir = filepath.Join(t.TempDir(), "restored")
	r, err := backup.Restore(t.Context(), &archive, o.Dir, backup.RestoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if age := time.Since(r.Boundary.Taken); age < 0 || age > time.Hour {
		t.Errorf("what was made after %s counts as newer", r.Boundary.Taken)
	}
	m, err := OpenManager(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	for i := range 20 {
		_, err := m.Names.Stat(t.Context(), hemera.SystemIdentity(), fmt.Sprintf("/d%02d", i))
		if i < 12 && err != nil || i >= 12 && !errors.Is(err, errs.NotFound) {
			t.Errorf("directory %d: %v", i, err)
		}
	}
	e, err := m.Names.Mkdir(t.Context(), hemera.SystemIdentity(), "/after", 0o755, false)
	if err != nil || uint64(e.ID) < r.Boundary.To {
		t.Errorf("a new directory has the id %d, new ones begin at %d; %v", e.ID, r.Boundary.To, err)
	}
}

// TestStateBackup: a backup of a stopped manager is complete, and there is none of a running one.
func TestStateBackup(t *testing.T) {
	dir := crashed(t, 5, "")
	b := backup.Offline{Dir: dir, Log: keptLog(t)}
	for range 2 {
		var archive bytes.Buffer
		if err := b.Backup(t.Context(), &archive); err != nil {
			t.Fatal(err)
		}
		r, err := backup.Restore(t.Context(), &archive, filepath.Join(t.TempDir(), "restored"), backup.RestoreOptions{})
		if err != nil || r.Totals.Attachments != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	m, err := OpenManager(t.Context(), ManagerOptions{Dir: dir, Listen: "127.0.0.1:0", CacheBytes: 64 << 20, Log: b.Log})
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	if err := b.Backup(t.Context(), new(bytes.Buffer)); !errors.Is(err, errs.Unavailable) || errs.RemedyOf(err) == "" {
		t.Errorf("beside a manager: %v", err)
	}
	b.Dir = t.TempDir()
	if err := b.Backup(t.Context(), new(bytes.Buffer)); !errors.Is(err, errs.NotFound) || errs.RemedyOf(err) == "" {
		t.Errorf("of nothing: %v", err)
	}
}
