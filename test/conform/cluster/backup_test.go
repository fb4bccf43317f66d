package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hemera/client/admin"
	"hemera/process/backup"
	"hemera/process/daemon"
	"hemera/words/errs"
	"hemera/words/hemera"
)

func (r *rig) backup() []byte {
	r.t.Helper()
	c, err := admin.Dial("root://" + r.up.Manager.Addr)
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	var out bytes.Buffer
	if err := c.Backups.Backup(r.t.Context(), &out); err != nil {
		r.t.Fatal(err)
	}
	return out.Bytes()
}

func (r *rig) fsck(repair bool) map[string]int64 {
	r.t.Helper()
	report, err := r.up.Manager.Maint.Fsck(r.t.Context(), repair)
	if err != nil {
		r.t.Fatal(err)
	}
	counts := map[string]int64{}
	for _, p := range report.Problems {
		counts[p.Tag] += p.Count
	}
	return counts
}

// TestLostManagerIsRestored: a cluster is backed up, written to, has files removed, rewritten and
// moved to other disks, and loses its manager. The restored one reads what the backup has, keeps and
// names what is newer, and never mixes the two.
func TestLostManagerIsRestored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, dir, 2, 4)
	files := r.fill()
	write(t, r.client, r.url("/rewritten"), content("/rewritten", 3000))
	write(t, r.client, r.url("/removed"), content("/removed", 3000))
	archive := r.backup()

	const newer = 12
	for i := range newer {
		path := fmt.Sprintf("/newer/%d", i)
		write(t, r.client, r.url(path), content(path, 5000))
	}
	write(t, r.client, r.url("/rewritten"), content("other", 4000))
	if err := r.up.Manager.Names.Remove(t.Context(), hemera.SystemIdentity(), "/removed", 0); err != nil {
		t.Fatal(err)
	}
	kept := r.pieces("/newer/0")
	if err := r.up.Manager.Admin.SetDisk(t.Context(), 1, "configstatus", "drain"); err != nil {
		t.Fatal(err)
	}
	until(t, "disk 1 is empty", func() bool { return r.disk(1).Config == hemera.ConfigEmpty })
	until(t, "what was replaced and removed is gone", func() bool {
		s, err := r.up.Manager.Observer.NamespaceStats(t.Context())
		return err == nil && s.Unlinked == 0
	})
	if _, moved := kept[1]; moved {
		kept = r.pieces("/newer/0")
	}
	r.stop()
	state := filepath.Join(dir, "manager")
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(t.Context(), bytes.NewReader(archive), state, backup.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}

	again := start(t, dir, 2, 4)
	counts := again.fsck(true)
	if counts["orphan"] > 0 || counts["newer"] < 2*newer || counts["moved"] == 0 || counts["missing"] == 0 {
		t.Errorf("the first audit found %v", counts)
	}
	until(t, "only what is newer or lost is left", func() bool {
		counts = again.fsck(true)
		return counts["moved"] == 0 && counts["missing"] <= 4 && counts["under_replicated"] <= 2
	})
	for path, size := range files {
		read(t, again.client, again.url(path), content(path, size))
	}
	for path, lost := range map[string]bool{"/rewritten": true, "/removed": true, "/newer/0": false} {
		info, err := again.up.Manager.Maint.FileInfo(t.Context(), hemera.SystemIdentity(), path)
		if lost != (err == nil) || lost && info.Status == "healthy" && info.Entry.Size == 4000 {
			t.Errorf("%s: %q, %v", path, info.Status, err)
		}
	}
	files["/after"] = 4321
	write(t, again.client, again.url("/after"), content("/after", 4321))
	read(t, again.client, again.url("/after"), content("/after", 4321))
	for disk, path := range kept {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("the piece of a newer file on disk %d: %v", disk, err)
		}
	}
	info, err := again.up.Manager.Maint.FileInfo(t.Context(), hemera.SystemIdentity(), "/after")
	if err != nil || info.Entry.ID < 1<<40 || info.Status != "healthy" {
		t.Errorf("the new file: %+v, %v", info.Entry, err)
	}
	s, err := again.up.Manager.Observer.NamespaceStats(t.Context())
	if err != nil || s.Epoch < 1<<30 || s.Sequence < 1<<40 {
		t.Errorf("epoch %d, sequence %d, %v", s.Epoch, s.Sequence, err)
	}
}

func TestRestoreRefusesWhatIsNotWholeOrNotEmpty(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), 1, 1)
	write(t, r.client, r.url("/f"), content("/f", 100))
	archive := r.backup()
	ctx := t.Context()
	empty := filepath.Join(t.TempDir(), "state")
	for name, bad := range map[string][]byte{
		"cut": archive[:len(archive)-1], "flipped": append(bytes.Clone(archive[:len(archive)/2]), append([]byte{archive[len(archive)/2] ^ 1}, archive[len(archive)/2+1:]...)...),
		"nothing": nil, "text": []byte("this is no backup at all"),
	} {
		if _, err := backup.Restore(ctx, bytes.NewReader(bad), empty, backup.RestoreOptions{}); !errors.Is(err, errs.Corrupt) || errs.RemedyOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
			t.Errorf("%s left %v, %v", name, left, err)
		}
	}
	if _, err := backup.Restore(ctx, bytes.NewReader(archive), empty, backup.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(empty, "authority.pem")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the authority: %v, %v", info, err)
	}
	if _, err := backup.Restore(ctx, bytes.NewReader(archive), empty, backup.RestoreOptions{}); !errors.Is(err, errs.NotEmpty) {
		t.Errorf("into a directory that is not empty: %v", err)
	}
	killed := t.TempDir()
	if err := os.Mkdir(filepath.Join(killed, "namespace.restoring"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := daemon.OpenManager(ctx, managerOptions(killed)); !errors.Is(err, errs.Corrupt) || errs.RemedyOf(err) == "" {
		t.Errorf("a manager on what a killed restore left: %v", err)
	}
}
