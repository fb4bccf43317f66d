package admin

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	adminclient "hemera/client/admin"
	"hemera/namespace"
	"hemera/platform/fairshare"
	"hemera/platform/treewalk"
	"hemera/test/fixture"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// entryLooker looks up entries like a manager's file info.
type entryLooker struct {
	adminapi.MaintAdmin
	tree *namespace.Namespace
}

func (l entryLooker) FileInfo(ctx context.Context, who hemera.Identity, path string) (r adminapi.FileReport, err error) {
	e, err := l.tree.Tree.Stat(ctx, who, path)
	disk := hemera.Disk{ID: 3, UUID: "u-u-i-d", Path: "/data3", Health: hemera.HealthOK, Active: true}
	return adminapi.FileReport{Entry: e, Path: path, Pieces: []adminapi.PieceReport{{Disk: disk, Host: "node1"}}}, err
}

// TestUsersAreToldOfWhatTheyMaySee checks that verbs use the caller's identity from the door, not one in the request.
func TestUsersAreToldOfWhatTheyMaySee(t *testing.T) {
	n := fixture.NewNamespace(t)
	owner, guest := hemera.Identity{Name: "owner", UID: 1, GID: 1}, hemera.Identity{Name: "guest", UID: 2, GID: 2}
	for path, mode := range map[string]uint32{"/secret/sub": 0o755, "/open": 0o711} {
		fixture.MakeDirs(t, n.Tree, owner, path, mode)
		if err := n.Tree.SetXattr(t.Context(), owner, path, "user.note", []byte("hidden"), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Tree.SetMode(t.Context(), owner, "/secret", 0o700); err != nil {
		t.Fatal(err)
	}
	h := NewHandler(Services{Names: n.Tree, Directories: n.Tree, Attributes: n.Tree, Maint: entryLooker{tree: n}}, nil)
	as := func(who hemera.Identity) *adminclient.Client {
		return clientThrough(t, &doorCaller{calls: NewCalls(h), who: who})
	}
	r, err := as(guest).Maint.FileInfo(t.Context(), hemera.SystemIdentity(), "/open")
	if err != nil || r.Path != "/open" || r.Entry.Xattrs["user.note"] != nil || r.Pieces[0].Disk.UUID != "" || r.Pieces[0].Host != "node1" || r.Pieces[0].Disk.ID != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = as(owner).Maint.FileInfo(t.Context(), guest, "/open"); err != nil || string(r.Entry.Xattrs["user.note"]) != "hidden" {
		t.Errorf("its owner sees %+v, %v", r, err)
	}
	if _, err := as(guest).Maint.FileInfo(t.Context(), owner, "/secret/sub"); !errors.Is(err, errs.Denied) {
		t.Errorf("below a closed directory: %v", err)
	}
	var found []string
	_, err = as(guest).Names.Walk(t.Context(), adminapi.WalkRequest{Path: "/", Brief: true}, func(f adminapi.Found) error {
		if f.Err != "" {
			f.Path = "!" + f.Path
		}
		found = append(found, f.Path)
		return nil
	})
	slices.Sort(found)
	if want := []string{"!/open", "!/secret", "/", "/open", "/secret"}; err != nil || !slices.Equal(found, want) {
		t.Errorf("a guest finds %q, %v", found, err)
	}
	if _, err := as(guest).Names.Walk(t.Context(), adminapi.WalkRequest{Path: "/secret/sub"}, func(adminapi.Found) error { return nil }); !errors.Is(err, errs.Denied) {
		t.Errorf("a walk that begins below: %v", err)
	}
}

// TestUsersOwners checks that users may change the group of their files to a group of their own, and never the owner.
func TestUsersOwners(t *testing.T) {
	n := fixture.NewNamespace(t)
	owner := hemera.Identity{Name: "owner", UID: 1, GID: 1, Groups: []uint32{1, 7}}
	fixture.MakeDirs(t, n.Tree, owner, "/mine", 0o755)
	h := NewHandler(Services{Names: n.Tree, Attributes: n.Tree}, nil)
	c := clientThrough(t, &doorCaller{calls: NewCalls(h), who: owner})
	root := hemera.Identity{Admin: true} // what a client claims
	if err := c.Attributes.SetOwner(t.Context(), root, "/mine", -1, 7); err != nil {
		t.Errorf("to a group of his: %v", err)
	}
	for _, to := range [][2]int64{{-1, 8}, {2, -1}, {0, 0}} {
		if err := c.Attributes.SetOwner(t.Context(), root, "/mine", to[0], to[1]); !errors.Is(err, errs.Denied) {
			t.Errorf("to %v: %v", to, err)
		}
	}
	if e, err := n.Tree.Stat(t.Context(), owner, "/mine"); err != nil || e.UID != 1 || e.GID != 7 {
		t.Errorf("it is %+v, %v", e, err)
	}
}

// TestUsersSeeTheLimitsThatBoundThem checks that users see no other limits.
func TestUsersSeeTheLimitsThatBoundThem(t *testing.T) {
	rows := func(who hemera.Identity, path string) (out []hemera.QuotaKey) {
		t.Helper()
		_, c, _ := callingAs(t, who)
		list, err := c.Quota.Quotas(t.Context(), path)
		if err != nil {
			t.Errorf("%s: %v", who.Name, err)
		}
		for _, r := range list {
			out = append(out, r.QuotaKey)
		}
		return out
	}
	project := hemera.QuotaKey{Path: "/exp", Kind: hemera.QuotaProject}
	others := hemera.QuotaKey{Path: "/exp", Kind: hemera.QuotaUser, ID: hemera.QuotaDefault}
	his, group := hemera.QuotaKey{Path: "/exp", Kind: hemera.QuotaUser, ID: 4242}, hemera.QuotaKey{Path: "/exp", Kind: hemera.QuotaGroup, ID: 4300}
	unbounded := hemera.QuotaKey{Path: "/exp", Kind: hemera.QuotaGroup, ID: 4301}
	for _, c := range []struct {
		who  hemera.Identity
		want []hemera.QuotaKey
	}{
		{alice, []hemera.QuotaKey{project, others}},
		{hemera.Identity{Name: "bob", UID: 4242, Groups: []uint32{4300}}, []hemera.QuotaKey{project, his, others, group}},
		{hemera.Identity{Name: "nobody", UID: hemera.NobodyID}, nil}, // may not see /exp
		{hemera.Identity{Name: "root", Admin: true}, []hemera.QuotaKey{project, his, others, group, unbounded}},
	} {
		if got := rows(c.who, ""); !slices.Equal(got, c.want) {
			t.Errorf("%s sees %+v", c.who.Name, got)
		}
	}
	_, c, _ := callingAs(t, hemera.Identity{Name: "nobody", UID: hemera.NobodyID})
	if _, err := c.Quota.Quotas(t.Context(), "/exp"); !errors.Is(err, errs.Denied) {
		t.Errorf("of a path that he may not see: %v", err)
	}
}

// TestUsersWalksShareALimiter checks that many walks of users read few pages at the same time, and that an admin's walk
// does not wait for them.
func TestUsersWalksShareALimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := fixture.NewNamespace(t)
		for _, path := range []string{"/a/b", "/c", "/d"} {
			fixture.MakeDirs(t, n.Tree, hemera.SystemIdentity(), path, 0o755)
		}
		s := fixture.NewGatedDirectories(n.Tree)
		users := fairshare.Of(2)
		top, err := n.Tree.Stat(t.Context(), hemera.SystemIdentity(), "/")
		if err != nil {
			t.Fatal(err)
		}
		walk := func(who hemera.Identity) <-chan error {
			done := make(chan error, 1)
			visit := func(string, hemera.Entry, error) error { return nil }
			o := treewalk.Options{Dirs: s, Who: who, Acquire: func(ctx context.Context) (func(), error) { return users.Acquire(ctx, who) }}
			go func() { done <- treewalk.Walk(t.Context(), "/", top, visit, o) }()
			return done
		}
		var walks []<-chan error
		for range 10 {
			walks = append(walks, walk(hemera.Identity{Name: "guest", UID: 2}))
		}
		synctest.Wait()
		if now := s.Readers.Load(); now != 2 {
			t.Errorf("%d pages are read for users", now)
		}
		walks = append(walks, walk(hemera.SystemIdentity()))
		synctest.Wait()
		if now := s.Readers.Load(); now != 3 {
			t.Errorf("%d pages are read, with an admin's", now)
		}
		close(s.Gate)
		for _, w := range walks {
			if err := <-w; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestVerbsOfUsers lists the verbs that need no admin: each checks the permissions of its caller.
func TestVerbsOfUsers(t *testing.T) {
	users := []string{"Stat", "List", "Walk", "Mkdir", "Rename", "Publish", "Remove", "SetMode", "SetOwner", "SetTimes", "SetXattr", "RemoveXattr",
		"FileInfo", "Why", "Quotas", "Spaces", "Writes", "EndWrite", "Version", "WhoAmI", "Restore", "RestoreVersion", "Purge", "Recycled",
		"Stage", "StageStatus", "Stages", "CancelStage", "Release", "Localities", "Archive"}
	h := NewHandler(Services{}, func(*http.Request) (hemera.Identity, error) { return alice, nil })
	page := httptest.NewRecorder()
	h.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/", nil))
	listed := 0
	for line := range strings.Lines(page.Body.String()) {
		verb, ok := strings.CutPrefix(strings.TrimSpace(line), adminapi.Service)
		if !ok {
			continue
		}
		listed++
		request := "{}"
		if verb == "Why" { // for files; the rest is for admins
			request = `{"Kind":"file"}`
		}
		r := httptest.NewRequest(http.MethodPost, adminapi.Service+verb, strings.NewReader(request))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if refused := strings.Contains(w.Body.String(), "this needs an admin"); refused == slices.Contains(users, verb) {
			t.Errorf("%s is refused to users: %v", verb, refused)
		}
	}
	if listed < 30 {
		t.Errorf("only %d verbs are listed", listed)
	}
}
