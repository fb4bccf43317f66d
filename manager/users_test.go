package manager

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hemera/rules/lifecycle"
	"hemera/rules/policy"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// explained returns the whole explanation of a file for a user.
func (r *rig) explained(who hemera.Identity, ref string) (string, error) {
	x, err := r.m.Status.Why(r.t.Context(), who, adminapi.WhyFile, ref)
	lines := []string{x.Subject + ": " + x.State}
	for _, reason := range x.Reasons {
		lines = append(lines, reason.About+": "+reason.Text+" -> "+reason.Remedy)
	}
	return strings.Join(lines, "\n"), err
}

// wantIn checks that a text has all of some words, and none of others.
func wantIn(t *testing.T, what, text string, want, not []string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s does not say %q:\n%s", what, w, text)
		}
	}
	for _, w := range not {
		if strings.Contains(text, w) {
			t.Errorf("%s says %q:\n%s", what, w, text)
		}
	}
}

// TestWhyTellsUsersOfTheirFiles: a reader of a file learns what it waits for, and no names of other users.
func TestWhyTellsUsersOfTheirFiles(t *testing.T) {
	running(t, 2, 1, func(t *testing.T, r *rig) {
		if err := r.m.Attributes.SetXattr(t.Context(), hemera.SystemIdentity(), "/", policy.AttrStripes, []byte("3"), false); err != nil {
			t.Fatal(err)
		}
		e := r.write("/mine/f", 10)
		carol := hemera.Identity{Name: "carol", UID: 1003, GID: 1003, Host: "farm.example.org"}
		r.nodes[0].open = []hemera.OpenFile{{Path: "/mine/f", File: e.ID, Who: carol}, {Path: "/mine/f", File: e.ID, Who: alice, Write: true}}
		r.mustOpen("/mine/f", hemera.AccessUpdate)
		r.mustOpen("/mine/new", hemera.AccessCreate)
		for _, ref := range []string{"/mine/f", "fxid:" + e.ID.Hex()} {
			mine, err := r.explained(alice, ref)
			if err != nil {
				t.Fatal(err)
			}
			wantIn(t, "its owner's answer", mine, []string{"/mine/f: incomplete: 2 of 3 pieces", "piece 2: missing", "is being written by alice", "open: alice from ", "open: another user reads it at node 1"}, []string{"carol", "farm"})
			others, err := r.explained(bob, ref)
			if err != nil {
				t.Fatal(err)
			}
			wantIn(t, "a reader's answer", others, []string{"incomplete: 2 of 3 pieces", "is being written by another user", "another user writes it"}, []string{"alice", "carol", "farm"})
		}
		all, err := r.explained(hemera.SystemIdentity(), "/mine/f")
		if err != nil {
			t.Fatal(err)
		}
		wantIn(t, "an admin's answer", all, []string{"is being written by alice", "carol from farm.example.org reads /mine/f"}, nil)
		own, _ := r.explained(alice, "/mine/new")
		wantIn(t, "what the writer of a new file is told", own, []string{"it is being written", "written by alice", "get layout replica:3"}, nil)
		new, _ := r.explained(bob, "/mine/new")
		wantIn(t, "what another is told of it", new, []string{"it is being written", "by another user", "new files: are refused: mode 0755"}, []string{"alice"})
	})
}

// TestUsersAreToldOfWhatTheyCanReach: by path or id, file info and why say nothing of what is below directories that are closed to
// the user, and why needs the right to read.
func TestUsersAreToldOfWhatTheyCanReach(t *testing.T) {
	running(t, 1, 1, func(t *testing.T, r *rig) {
		hidden, closed := r.write("/secret/sub/f", 10), r.write("/open/f", 10)
		system := hemera.SystemIdentity()
		for path, mode := range map[string]uint32{"/secret": 0o700, "/open/f": 0o600} {
			if err := r.m.Attributes.SetMode(t.Context(), system, path, mode); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.m.Attributes.SetXattr(t.Context(), alice, "/open/f", "user.note", []byte("hidden"), false); err != nil {
			t.Fatal(err)
		}
		for _, ref := range []string{"/open/f", "fxid:" + closed.ID.Hex()} {
			info, err := r.m.Maint.FileInfo(t.Context(), bob, ref)
			if err != nil || info.Path != "/open/f" || info.Entry.Xattrs["user.note"] != nil || len(info.Pieces) != 1 {
				t.Errorf("file info of %s: %+v, %v", ref, info, err)
			}
			if info, err = r.m.Maint.FileInfo(t.Context(), alice, ref); err != nil || string(info.Entry.Xattrs["user.note"]) != "hidden" {
				t.Errorf("file info of %s for its owner: %+v, %v", ref, info, err)
			}
			_, err = r.explained(bob, ref)
			wantKind(t, err, errs.Denied)
			if _, err := r.explained(alice, ref); err != nil {
				t.Errorf("why %s for its owner: %v", ref, err)
			}
		}
		for verb, ask := range map[string]func(ref string) error{
			"file info": func(ref string) error { _, err := r.m.Maint.FileInfo(t.Context(), bob, ref); return err },
			"why":       func(ref string) error { _, err := r.explained(bob, ref); return err },
		} {
			for _, path := range []string{"/secret/sub/f", "/secret/sub", "/secret/nothing"} {
				wantKind(t, ask(path), errs.Denied)
			}
			known, unknown := ask("fxid:"+hidden.ID.Hex()), ask("fxid:99")
			wantKind(t, known, errs.NotFound)
			wantKind(t, unknown, errs.NotFound)
			if strings.ReplaceAll(known.Error(), hidden.ID.Hex(), "99") != unknown.Error() {
				t.Errorf("%s by id: %v; of none: %v", verb, known, unknown)
			}
		}
	})
}

// TestWhyTellsUsersOfTheirLimits, and not of other users'.
func TestWhyTellsUsersOfTheirLimits(t *testing.T) {
	running(t, 1, 1, func(t *testing.T, r *rig) {
		r.write("/q/f", 10)
		for _, who := range []hemera.Identity{alice, bob} {
			r.limit("/q", hemera.QuotaUser, who.UID, hemera.QuotaAmount{Files: 1})
		}
		r.limit("/q", hemera.QuotaProject, 0, hemera.QuotaAmount{Files: 1})
		for who, want := range map[*hemera.Identity]int{&alice: 2, &bob: 1} {
			text, err := r.explained(*who, "/q/f")
			if n := strings.Count(text, "\nquota: "); err != nil || n != want {
				t.Errorf("%s is told of %d limits, not %d: %v\n%s", who.Name, n, want, err, text)
			}
		}
	})
}

// TestNoUserChoosesMorePiecesThanThereAreDisks: such a file would lack pieces as long as it lives. What an admin sets may wait for disks.
func TestNoUserChoosesMorePiecesThanThereAreDisks(t *testing.T) {
	r := newRig(t, 2, 1)
	r.write("/exp/f", 1)
	wish := func(w hemera.Wish) func(*hemera.OpenRequest) { return func(r *hemera.OpenRequest) { r.Wish = w } }
	for _, w := range []hemera.Wish{{Pieces: 3}, {Layout: "rs:4+2"}, {Layout: "replica:32"}} {
		_, err := r.open("/exp/a", hemera.AccessCreate, wish(w))
		wantKind(t, err, errs.Invalid)
		if err != nil && (!strings.Contains(err.Error(), "disks, and space default has 2") || errs.RemedyOf(err) == "") {
			t.Errorf("%+v: %v", w, err)
		}
	}
	r.mustOpen("/exp/two", hemera.AccessCreate, wish(hemera.Wish{Pieces: 2}))
	set := func(who hemera.Identity) {
		t.Helper()
		if err := r.m.Attributes.SetXattr(t.Context(), who, "/exp", policy.AttrStripes, []byte("3"), false); err != nil {
			t.Fatal(err)
		}
	}
	set(alice)
	_, err := r.open("/exp/b", hemera.AccessCreate)
	wantKind(t, err, errs.Invalid)
	r.mustOpen("/exp/f", hemera.AccessUpdate) // it keeps its layout
	set(hemera.SystemIdentity())
	r.mustOpen("/exp/b", hemera.AccessCreate)
}

// TestNoUserChoosesASpaceWithTooFewDisks: for the layout that an admin chose for the directory. A space whose own layout takes more disks than it
// has is the admin's choice.
func TestNoUserChoosesASpaceWithTooFewDisks(t *testing.T) {
	r := newRig(t, 2, 2)
	ctx, admin := t.Context(), hemera.SystemIdentity()
	disk := r.m.Cluster.View().Disks[0].ID
	if err := errors.Join(r.m.Admin.SetSpace(ctx, "small", "define", "4"), r.m.Admin.SetSpace(ctx, "small", "policy.layout", "replica:2"), r.m.Admin.SetDisk(ctx, disk, "space", "small")); err != nil {
		t.Fatal(err)
	}
	set := func(who hemera.Identity, path, name, value string) {
		t.Helper()
		if err := r.m.Attributes.SetXattr(ctx, who, path, name, []byte(value), false); err != nil {
			t.Fatal(err)
		}
	}
	toSmall := func(r *hemera.OpenRequest) { r.Wish.Space = "small" }
	r.write("/exp/f", 1)
	r.mustOpen("/exp/own", hemera.AccessCreate, toSmall)
	set(admin, "/exp", policy.AttrLayout, "replica:3")
	_, err := r.open("/exp/a", hemera.AccessCreate, toSmall)
	wantKind(t, err, errs.Invalid)
	r.mustOpen("/exp/a", hemera.AccessCreate)
	set(alice, "/exp", policy.AttrSpace, "small")
	_, err = r.open("/exp/b", hemera.AccessCreate)
	wantKind(t, err, errs.Invalid)
	set(admin, "/exp", policy.AttrSpace, "small")
	r.mustOpen("/exp/b", hemera.AccessCreate)
}

// TestRulesAskForNoMorePiecesThanThereAreDisks: in any form that a user can write one. Admins may wait for disks.
func TestRulesAskForNoMorePiecesThanThereAreDisks(t *testing.T) {
	r := newRig(t, 2, 1)
	r.write("/exp/f", 1)
	for _, c := range []struct {
		name, value string
		refused     bool
	}{
		{lifecycle.AttrConvert, "layout=rs:4+2 age=1d", true},
		{lifecycle.AttrConvert, "layout=replica:2 age=1d; layout=replica:3 age=2d space=default", true},
		{"sys.conversion.*", "20640542", true},
		{lifecycle.AttrConvert, "layout=replica:2 age=1d", false},
		{"sys.conversion.*", "00650112", false},
		{lifecycle.AttrConvert, "off", false},
		{lifecycle.AttrExpire, "age=1d", false},
	} {
		err := r.m.Attributes.SetXattr(t.Context(), alice, "/exp", c.name, []byte(c.value), false)
		if errors.Is(err, errs.Invalid) != c.refused || err != nil && errs.RemedyOf(err) == "" {
			t.Errorf("%s=%s: %v", c.name, c.value, err)
		}
		if err := r.m.Attributes.SetXattr(t.Context(), hemera.SystemIdentity(), "/", c.name, []byte(c.value), false); err != nil {
			t.Errorf("an admin: %s=%s: %v", c.name, c.value, err)
		}
	}
}

// TestOneUsersRulesLeaveRoomForOthers: a user at the bound is refused before the attribute is set, and others are not.
func TestOneUsersRulesLeaveRoomForOthers(t *testing.T) {
	r := newRig(t, 1, 1)
	ctx := t.Context()
	set := func(who hemera.Identity, dir string) error {
		t.Helper()
		if _, err := r.m.Names.Mkdir(ctx, who, dir, 0o755, false); err != nil {
			t.Fatal(err)
		}
		return r.m.Attributes.SetXattr(ctx, who, dir, lifecycle.AttrExpire, []byte("age=9y"), false)
	}
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		err = set(alice, fmt.Sprint("/a", n))
	}
	wantKind(t, err, errs.Overloaded)
	if errs.RemedyOf(err) == "" {
		t.Error(err)
	}
	last := fmt.Sprint("/a", n-1)
	if e := r.entry(last); len(e.Xattrs) != 0 {
		t.Errorf("the attribute was set: %+v", e.Xattrs)
	}
	if err := errors.Join(set(bob, "/bob"), set(hemera.SystemIdentity(), "/admin")); err != nil {
		t.Error(err)
	}
	// What is known may change, what is gone leaves room, and an admin helps.
	if err := r.m.Attributes.SetXattr(ctx, alice, "/a0", lifecycle.AttrExpire, []byte("age=8y"), false); err != nil {
		t.Error(err)
	}
	if err := r.m.Attributes.SetXattr(ctx, hemera.SystemIdentity(), "/a1", lifecycle.AttrExpire, []byte("age=8y"), false); err != nil {
		t.Error(err)
	}
	if err := r.m.Attributes.SetXattr(ctx, alice, last, lifecycle.AttrExpire, []byte("age=9y"), false); err != nil {
		t.Error(err)
	}
	// A user who may not set the attribute keeps no room.
	if err := r.m.Attributes.SetXattr(ctx, bob, last, lifecycle.AttrExpire, []byte("age=9y"), false); !errors.Is(err, errs.Denied) {
		t.Error(err)
	}
}
