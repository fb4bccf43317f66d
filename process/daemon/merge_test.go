package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hemera/client/xrootd"
	"hemera/process/backup"
	"hemera/process/statedir"
	"hemera/words/adminapi"
	"hemera/words/errs"
)

// TestAMergeBringsBackWhatCameAfterTheBackup loses a manager that was not restarted after its backup. All files that were
// written or replaced since are found again, including one that was open at the time, and nothing can be forgotten
// before.
func TestAMergeBringsBackWhatCameAfterTheBackup(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	u, stop := startUp(t, dir)
	c, contents := newClient(t, u), map[string][]byte{}
	put := func(path, content string) {
		contents[path] = bytes.Repeat([]byte(content), 100)
		c.put(path, contents[path])
	}
	for i := range 5 {
		put(fmt.Sprintf("/old/%d", i), "before")
	}
	open, err := c.Open(ctx, c.at("/open"), xrootd.OpenOptions{Write: true, Create: true, Mode: 0o640})
	if err != nil {
		t.Fatal(err)
	}
	put("/old/5", "before") // its id is larger than that of the open file
	var archive bytes.Buffer
	if err := u.Manager.backups().Backup(ctx, &archive); err != nil {
		t.Fatal(err)
	}
	contents["/open"] = []byte("open at the time of the backup")
	w := open.NewWriter(ctx, 0)
	_, err = w.Write(contents["/open"])
	if err := errors.Join(err, w.Flush(), open.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		put(fmt.Sprintf("/new/%d", i), "after")
	}
	put("/old/0", "replaced")
	put("/old/1", "replaced")
	stop()
	state := filepath.Join(dir, statedir.UpManager)
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(ctx, &archive, state, backup.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}

	u, stop = startUp(t, dir)
	defer stop()
	if status, err := u.Manager.Status.Status(ctx); err != nil || !has(status.Conditions, "went_back", adminapi.SeverityWarning) {
		t.Errorf("%+v, %v", status.Conditions, err)
	}
	if fsck, err := u.Manager.Maint.Fsck(ctx, true); err != nil || fsck.WentBack.Restored.IsZero() {
		t.Errorf("%+v, %v", fsck, err)
	}
	if err := u.Manager.Rebuild.ForgetLost(ctx, adminapi.ForgetOptions{}); !errors.Is(err, errs.Conflict) || errs.RemedyOf(err) == "" {
		t.Errorf("forgotten before a merge: %v", err)
	}
	report, err := u.Manager.Rebuild.Rebuild(ctx, adminapi.RebuildOptions{Merge: true}, quiet)
	if err != nil || report.Made != 13 || report.Renewed != 2 || len(report.Unread) != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	c = newClient(t, u)
	for path, content := range contents {
		if got := c.get(path); !bytes.Equal(got, content) {
			t.Errorf("%s has %d bytes and not %d, or others", path, len(got), len(content))
		}
	}
	if status, err := u.Manager.Status.Status(ctx); err != nil || !has(status.Conditions, "went_back", adminapi.SeverityInfo) {
		t.Errorf("%+v, %v", status.Conditions, err)
	}
	if err := u.Manager.Rebuild.ForgetLost(ctx, adminapi.ForgetOptions{}); err != nil {
		t.Error(err)
	}
	if check, err := u.Manager.Maint.CheckNamespace(ctx, func(adminapi.NamespaceCheck) error { return nil }); err != nil || !check.Healthy() || !check.WentBack.Restored.IsZero() {
		t.Errorf("%+v, %v", check, err)
	}
}

// has reports whether a condition is in a list.
func has(list []adminapi.Condition, code string, severity adminapi.Severity) bool {
	for _, c := range list {
		if c.Code == code && c.Severity == severity {
			return true
		}
	}
	return false
}
