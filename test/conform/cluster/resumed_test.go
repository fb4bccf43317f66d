package cluster

import (
	"context"
	"errors"
	"testing"

	"hemera/client/xrootd"
	"hemera/process/daemon"
	"hemera/rules/wire"
	"hemera/test/fixture/serving"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestWritesOutliveTheManager: nodes announce them to the next one, so that it refuses a second writer, and holds the room of the first. The
// first goes on and closes, whether it makes a file, codes one, or changes one.
func TestWritesOutliveTheManager(t *testing.T) {
	t.Parallel()
	ctx, o := t.Context(), managerOptions(t.TempDir())
	begin := func() (*joined, func()) {
		t.Helper()
		m, err := daemon.OpenManager(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Listen = m.Addr
		stop := serving.Run(t, func(ctx context.Context, ready func()) error { ready(); return m.Run(ctx) })
		return &joined{t: t, manager: m, admin: dial(t, m.Addr)}, stop
	}
	j, stop := begin()
	for range 3 {
		n, err := j.open(t.TempDir(), j.token(0))
		if err != nil {
			t.Fatal(err)
		}
		j.run(n)
	}
	c := xrootd.New(xrootd.Options{})
	t.Cleanup(func() { _ = c.Close() })
	const size = 1 << 20
	write(t, c, urlAt(t, j.manager.Addr, "/exp/old"), content("/exp/old", 1000))
	if err := j.manager.Quotas.SetQuota(ctx, hemera.QuotaKey{Path: "/exp", Kind: hemera.QuotaProject}, hemera.QuotaAmount{Files: 3}); err != nil {
		t.Fatal(err)
	}
	files := map[string]*xrootd.File{}
	for path, opaque := range map[string]wire.Opaque{"/exp/new": "", "/exp/coded": "hem.layout=rs:2+1", "/exp/old": ""} {
		u := urlAt(t, j.manager.Addr, path)
		u.Opaque = opaque
		how := xrootd.OpenOptions{Write: true, Create: path != "/exp/old", Mode: 0o644}
		f, err := c.Open(ctx, u, how)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.WriteAt(ctx, content(path, size)[:size/2], 0); err != nil {
			t.Fatal(err)
		}
		files[path] = f
	}
	stop()
	j, _ = begin()
	until(t, "the writes are announced", func() bool {
		list, err := j.manager.Writes.Writes(ctx, hemera.SystemIdentity())
		return err == nil && len(list) == len(files)
	})
	bob := hemera.Identity{Name: "bob", UID: 1001, Host: "elsewhere", Admin: true}
	second := func(path string, exclusive bool) error {
		g, err := j.manager.Files.Open(ctx, bob, hemera.OpenRequest{Path: path, Access: hemera.AccessCreate, Exclusive: exclusive, Mode: 0o644})
		if err == nil {
			_ = j.manager.Control.Abort(ctx, g.Permit)
		}
		return err
	}
	for path := range files {
		wants(t, "a second writer of "+path, second(path, false), errs.Locked)
		wants(t, "an exclusive one of "+path, second(path, true), errs.Exists)
	}
	// Three files are there, or about to be.
	wants(t, "one file too many", second("/exp/another", false), errs.OverQuota)
	for path, f := range files {
		if err := errors.Join(f.WriteAt(ctx, content(path, size)[size/2:], size/2), f.Close(ctx)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		read(t, c, urlAt(t, j.manager.Addr, path), content(path, size))
		if err := second(path, false); err != nil {
			t.Errorf("%s is closed: %v", path, err)
		}
	}
	if err := j.manager.Names.Remove(ctx, hemera.SystemIdentity(), "/exp/old", 0); err != nil {
		t.Fatal(err)
	}
	if err := second("/exp/another", false); err != nil {
		t.Errorf("nothing is claimed any more: %v", err)
	}
}
