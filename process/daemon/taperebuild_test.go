package daemon

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hemera/process/backup"
	"hemera/process/statedir"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// TestTapesOfALostManagerAreScanned: the catalogue was lost with the manager, and the library adds its tapes again. Until
// they were scanned they are not written, the status reports them, and lost files are not forgotten. Then the file that
// only a tape had is back.
func TestTapesOfALostManagerAreScanned(t *testing.T) {
	dir, ctx, root := t.TempDir(), t.Context(), hemera.SystemIdentity()
	u, stop := tapeUp(t, dir)
	if _, err := u.Manager.Names.Mkdir(ctx, root, "/a", 0o777, false); err != nil {
		t.Fatal(err)
	}
	if err := u.Manager.Attributes.SetXattr(ctx, root, "/a", hemera.AttrStorageClass, []byte("default"), false); err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("tape only "), 10_000)
	newClient(t, u).put("/a/f", content)
	until(t, "the file is on tape only", func() bool { _, err := u.Manager.Staging.Evict(ctx, root, "/a/f"); return err == nil })
	stop()
	manager := filepath.Join(dir, statedir.UpManager)
	if err := os.RemoveAll(manager); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Prepare(ctx, manager, backup.PrepareOptions{}); err != nil {
		t.Fatal(err)
	}
	// Remove the pieces on disks, which would restore the file.
	for _, name := range pieceFiles(t, dir) {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}

	u, _ = tapeUp(t, dir)
	m := u.Manager
	if _, err := m.Rebuild.Rebuild(ctx, adminapi.RebuildOptions{}, quiet); err != nil {
		t.Fatal(err)
	}
	if err := m.Rebuild.FinishRebuild(ctx); err != nil {
		t.Fatal(err)
	}
	waiting := func() bool {
		p, err := m.Tape.TapePicture(ctx)
		return err == nil && slices.ContainsFunc(p.Attention, func(a tapeapi.Attention) bool { return a.Command == "hemera tape scan --needed" })
	}
	until(t, "all tapes of the library wait for a scan", func() bool {
		tapes, err := m.Tape.Tapes(ctx)
		return err == nil && len(tapes) == 4 && waiting()
	})
	if err := m.Rebuild.ForgetLost(ctx, adminapi.ForgetOptions{}); !errors.Is(err, errs.Conflict) || !strings.Contains(errs.RemedyOf(err), "hemera tape scan --needed") {
		t.Errorf("forgotten before a scan: %v", err)
	}
	if _, err := m.Tape.OrderTape(ctx, "test", adminapi.TapeOrder{Kind: adminapi.OrderScan, Only: true}); err != nil {
		t.Fatal(err)
	}
	until(t, "the file is back", func() bool { e, err := m.Names.Stat(ctx, root, "/a/f"); return err == nil && len(e.Tape) == 1 })
	until(t, "no tape waits", func() bool { return !waiting() })
	if got := newClient(t, u).get("/a/f"); !bytes.Equal(got, content) {
		t.Errorf("%d bytes came back, or others", len(got))
	}
	if err := m.Rebuild.ForgetLost(ctx, adminapi.ForgetOptions{}); err != nil {
		t.Error(err)
	}
}
