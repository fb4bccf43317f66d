package namespace_test

import (
	"errors"
	"testing"

	"hemera/namespace"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// made makes a file of alice's with a mode and an attribute.
func made(t *testing.T, n *namespace.Namespace, path string, mode uint32) {
	t.Helper()
	put(t, n, alice(), path, 5)
	if err := errors.Join(n.Tree.SetMode(t.Context(), alice(), path, mode), n.Tree.SetXattr(t.Context(), alice(), path, "user.note", []byte("hidden"), false)); err != nil {
		t.Fatal(err)
	}
}

// TestUpdatesAskForTheRightToRead: an update begins with the content, and its handle reads it.
func TestUpdatesAskForTheRightToRead(t *testing.T) {
	n := open(t, memkv.New(), namespace.Options{})
	made(t, n, "/drop", 0o622)
	made(t, n, "/both", 0o666)
	for _, c := range []struct {
		path   string
		access hemera.Access
		denied bool
	}{
		{"/drop", hemera.AccessRead, true}, {"/drop", hemera.AccessUpdate, true}, {"/drop", hemera.AccessCreate, false},
		{"/both", hemera.AccessUpdate, false},
	} {
		_, err := n.Writes.Prepare(t.Context(), bob(), hemera.OpenRequest{Path: c.path, Access: c.access, Mode: 0o644})
		if errors.Is(err, errs.Denied) != c.denied || err != nil && !c.denied {
			t.Errorf("%s %d: %v", c.path, c.access, err)
		}
	}
}

// TestUsersAttributesAreForReaders: a user that may only go through a directory sees neither content nor notes.
func TestUsersAttributesAreForReaders(t *testing.T) {
	n := open(t, memkv.New(), namespace.Options{})
	made(t, n, "/secret", 0o600)
	made(t, n, "/open", 0o644)
	see := func(who hemera.Identity, path string) (notes [3]string) {
		e, err := n.Tree.Stat(t.Context(), who, path)
		if err != nil {
			t.Fatal(err)
		}
		notes[0] = string(e.Xattrs["user.note"])
		err = n.Tree.List(t.Context(), who, "/", func(e hemera.Entry) error {
			if "/"+e.Name == path {
				notes[1] = string(e.Xattrs["user.note"])
			}
			return nil
		})
		root, statErr := n.Tree.Stat(t.Context(), who, "/")
		page, _, pageErr := n.Tree.Page(t.Context(), who, hemera.PageRequest{Dir: root, Path: "/", Limit: 9})
		if err := errors.Join(err, statErr, pageErr); err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			if "/"+e.Name == path {
				notes[2] = string(e.Xattrs["user.note"])
			}
		}
		return notes
	}
	all, none := [3]string{"hidden", "hidden", "hidden"}, [3]string{}
	if got := see(bob(), "/secret"); got != none {
		t.Errorf("bob sees %q", got)
	}
	if got := see(bob(), "/open"); got != all {
		t.Errorf("bob sees %q of what he may read", got)
	}
	if got := see(alice(), "/secret"); got != all {
		t.Errorf("its owner sees %q", got)
	}
	// A user that may list the directory, and not go through it, sees names.
	if err := n.Tree.SetMode(t.Context(), hemera.SystemIdentity(), "/", 0o754); err != nil {
		t.Fatal(err)
	}
	listed := 0
	see = func(who hemera.Identity, _ string) (notes [3]string) {
		err := n.Tree.List(t.Context(), who, "/", func(e hemera.Entry) error {
			listed++
			notes[1] += string(e.Xattrs["user.note"])
			return nil
		})
		page, _, pageErr := n.Tree.Page(t.Context(), who, hemera.PageRequest{Dir: hemera.Entry{ID: hemera.RootID, Kind: hemera.KindDirectory, Mode: 0o754}, Path: "/", Limit: 9})
		if err := errors.Join(err, pageErr); err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			notes[2] += string(e.Xattrs["user.note"])
		}
		return notes
	}
	if got := see(bob(), ""); got != none || listed == 0 {
		t.Errorf("bob sees %q of %d files that he cannot reach", got, listed)
	}
}

// TestModesThatClientsDoNotGive: many clients send no mode; what they write is as readable as its directory.
func TestModesThatClientsDoNotGive(t *testing.T) {
	n := open(t, memkv.New(), namespace.Options{})
	mkdir := func(path string, mode uint32) uint32 {
		t.Helper()
		e, err := n.Tree.Mkdir(t.Context(), alice(), path, mode, false)
		if err != nil {
			t.Fatal(err)
		}
		return e.Mode
	}
	file := func(path string, mode uint32) uint32 {
		t.Helper()
		p, err := n.Writes.Prepare(t.Context(), alice(), hemera.OpenRequest{Path: path, Access: hemera.AccessCreate, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		return p.Mode
	}
	mkdir("/private", 0o700)
	mkdir("/group", 0o755)
	if err := n.Tree.SetXattr(t.Context(), alice(), "/group", "sys.forced.mode", []byte("770"), false); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ got, want uint32 }{
		{mkdir("/open", hemera.ModeUnset), 0o755}, {file("/open/f", hemera.ModeUnset), 0o644}, {file("/open/g", 0o600), 0o600},
		{mkdir("/private/d", hemera.ModeUnset), 0o700}, {file("/private/f", hemera.ModeUnset), 0o600},
		{mkdir("/group/d", 0o700), 0o770}, {file("/group/d/f", 0o644), 0o660}, {file("/group/d/g", hemera.ModeUnset), 0o660},
	} {
		if c.got != c.want {
			t.Errorf("mode %04o, want %04o", c.got, c.want)
		}
	}
}
