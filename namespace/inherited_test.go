package namespace_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/rules/lifecycle"
	"hemera/rules/policy"
	"hemera/rules/recycle"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// steering is one attribute of directories, with a value, and whether it holds for a user's file or directory below:
// what is asked of a tree in which the attribute is at /proj.
type steering struct {
	name, value string
	local       bool // of the directory alone, not below
	holds       func(t *testing.T, n *namespace.Namespace, who hemera.Identity, dir string) bool
}

// steers returns all attributes that steer what is below a directory. docs/operations.md has a row for each.
func steers() []steering {
	inForce := func(name string) func(t *testing.T, n *namespace.Namespace, who hemera.Identity, dir string) bool {
		return func(t *testing.T, n *namespace.Namespace, who hemera.Identity, dir string) bool {
			t.Helper()
			p := must[namespace.Prepared](t)(n.Writes.PrepareBelow(t.Context(), who, dir))
			_, sys := p.Attrs.Sys[name]
			_, user := p.Attrs.User[name]
			return sys || user
		}
	}
	all := []steering{
		{policy.AttrMode, "777", false, func(t *testing.T, n *namespace.Namespace, who hemera.Identity, dir string) bool {
			return prepareMode(t, n, who, dir+"/new") == 0o666
		}},
		{recycle.Attr, "30d", false, func(t *testing.T, n *namespace.Namespace, who hemera.Identity, dir string) bool {
			path := dir + "/removed." + who.Name
			e := put(t, n, who, path, 1)
			good(t, n.Tree.Remove(t.Context(), system(), path, 0))
			_, err := n.Bins.Restore(t.Context(), who, adminapi.RestoreRequest{ID: e.ID})
			if err == nil {
				good(t, n.Tree.Remove(t.Context(), system(), path, 0))
			}
			return err == nil
		}},
		{recycle.AttrVersions, "5", false, keepsVersions},
		{recycle.UserVersions, "5", true, keepsVersions},
		{lifecycle.AttrExpire, "age=1m", false, expires},
		{lifecycle.AttrExpire, "unused=30d", false, notesAccess},
		{lifecycle.AttrMatch, "*:1min", false, expires},
	}
	for name, value := range map[string]string{
		policy.AttrSpace: "default", policy.AttrLayout: "plain", policy.AttrStripes: "3", policy.AttrBlockSize: "1M", policy.AttrChecksum: "md5",
		policy.AttrNoUserLayout: "1", lifecycle.AttrConvert: "layout=plain", lifecycle.AttrConvertMatch: "*:1d", "sys.lru.conversion.space": "default",
		"sys.force.atime": "1", "sys.conversion.*": "20640542", hemera.AttrStorageClass: "raw", hemera.AttrDropOnArchive: "1",
	} {
		all = append(all, steering{name, value, false, inForce(name)})
		if rest, ok := strings.CutPrefix(name, "sys.forced."); ok && name != policy.AttrNoUserLayout {
			all = append(all, steering{"user.forced." + rest, value, true, inForce("user.forced." + rest)})
		}
	}
	return all
}

func prepareMode(t *testing.T, n *namespace.Namespace, who hemera.Identity, path string) uint32 {
	t.Helper()
	return must[namespace.Prepared](t)(n.Writes.Prepare(t.Context(), who, hemera.OpenRequest{Path: path, Access: hemera.AccessCreate, Mode: 0o600})).Mode
}

func keepsVersions(t *testing.T, n *namespace.Namespace, who hemera.Identity, dir string) bool {
	t.Helper()
	put(t, n, who, dir+"/f", 3)
	p := must[namespace.Prepared](t)(n.Writes.Prepare(t.Context(), who, hemera.OpenRequest{Path: dir + "/f", Access: hemera.AccessCreate}))
	good(t, n.Tree.Remove(t.Context(), system(), dir+"/f", 0))
	return p.Versioned
}

// notesAccess reports whether the day of access is written to a file of who.
func notesAccess(t *testing.T, n *namespace.Namespace, who hemera.Identity, dir string) bool {
	t.Helper()
	e := put(t, n, who, dir+"/read", 3)
	good(t, n.Lifecycle.NoteAccess(t.Context(), "2026-11-23", []hemera.FileID{e.ID}))
	e = must[hemera.Entry](t)(n.Tree.Stat(t.Context(), who, dir+"/read"))
	good(t, n.Tree.Remove(t.Context(), who, dir+"/read", 0))
	return len(e.Xattrs[lifecycle.AttrAccess]) > 0
}

func expires(t *testing.T, n *namespace.Namespace, who hemera.Identity, dir string) bool {
	t.Helper()
	e := put(t, n, who, dir+"/old", 3)
	own, _, err := n.Lifecycle.RuleAttributes(t.Context(), e.ID)
	good(t, err)
	due := lifecycle.Of(own).Decide(e, time.Time{}, e.Birth.Add(time.Hour)).Expire
	good(t, n.Tree.Remove(t.Context(), who, dir+"/old", 0))
	return due
}

// TestWhomAttributesSteer sets each attribute as a user and as an admin, and asks for whom it holds: the setter, another user
// below, the setter behind another's directory, and after the directory got another owner.
func TestWhomAttributesSteer(t *testing.T) {
	for _, a := range steers() {
		t.Run(a.name+"="+a.value, func(t *testing.T) {
			n, ctx := fresh(t), t.Context()
			people(t, n, "/proj/own", "/proj/others/back")
			for path, who := range map[string]hemera.Identity{"/proj": alice(), "/proj/own": alice(), "/proj/others": bob(), "/proj/others/back": alice()} {
				good(t, n.Tree.SetOwner(ctx, system(), path, int64(who.UID), int64(who.GID)))
			}
			at := func(what, dir string, who hemera.Identity, want bool) {
				t.Helper()
				if want && a.local && dir != "/proj" {
					want = false
				}
				if got := a.holds(t, n, who, dir); got != want {
					t.Errorf("%s: it holds for %s in %s: %t", what, who.Name, dir, got)
				}
			}
			if err := n.Tree.SetXattr(ctx, bob(), "/proj", a.name, []byte(a.value), false); err == nil {
				t.Error("set by a user who may write the directory of another")
			}
			good(t, n.Tree.SetXattr(ctx, alice(), "/proj", a.name, []byte(a.value), false))
			at("of its owner", "/proj", alice(), true)
			at("of its owner", "/proj/own", alice(), true)
			at("of its owner", "/proj", bob(), false)
			at("of its owner", "/proj/own", bob(), false)
			at("of its owner", "/proj/others", bob(), false)
			at("of its owner", "/proj/others", alice(), false)
			at("of its owner", "/proj/others/back", alice(), false)

			good(t, n.Tree.SetOwner(ctx, system(), "/proj", int64(bob().UID), -1))
			at("given away", "/proj", alice(), false)
			at("given away", "/proj/own", alice(), false)
			at("given away", "/proj", bob(), false)
			if err := n.Tree.RemoveXattr(ctx, alice(), "/proj", a.name); err == nil {
				t.Error("removed by the former owner")
			}
			good(t, n.Tree.RemoveXattr(ctx, bob(), "/proj", a.name))
			good(t, n.Tree.SetOwner(ctx, system(), "/proj", int64(alice().UID), -1))

			good(t, n.Tree.SetXattr(ctx, system(), "/proj", a.name, []byte(a.value), false))
			for _, dir := range []string{"/proj", "/proj/own", "/proj/others", "/proj/others/back"} {
				at("of an admin", dir, alice(), true)
				at("of an admin", dir, bob(), true)
			}
			if n.Tree.SetXattr(ctx, alice(), "/proj", a.name, []byte(a.value), false) == nil || n.Tree.RemoveXattr(ctx, alice(), "/proj", a.name) == nil {
				t.Error("an owner changed what an admin set")
			}
			good(t, n.Tree.SetOwner(ctx, system(), "/proj", int64(bob().UID), -1))
			at("of an admin, given away", "/proj", alice(), true)
			at("of an admin, given away", "/proj", bob(), true)
			checked(t, n)
		})
	}
}

// TestNoAttributeWithoutARow fails when a source names an attribute that neither the table of TestWhomAttributesSteer has, nor
// the list of those of single files and bins; and when docs/operations.md has no row for it.
func TestNoAttributeWithoutARow(t *testing.T) {
	// Of files, of entries in bins, and beginnings of names.
	single := []string{"sys.archive.file_id", "sys.archive.error", "sys.retrieve.req_id", "sys.retrieve.req_time", "sys.retrieve.error", "sys.retrieve.evict_counter",
		"sys.retrieve.pins", "sys.retrieve.released", "sys.lifecycle.access", "sys.versions", "user.hemera.source", "sys.", "user.", "sys.forced.", "user.forced.", "sys.conversion.", "sys.lru.",
		"sys.lifecycle.", "sys.archive.", "sys.retrieve.", "sys.lru.expire.empty", "sys.lru.lowwatermark", "sys.lru.highwatermark"}
	page, err := os.ReadFile("../docs/operations.md")
	good(t, err)
	known := map[string]bool{}
	for _, a := range steers() {
		known[a.name] = true
		row := "`" + a.name + "`"
		if strings.HasPrefix(a.name, "user.forced.") {
			row = "`user.forced.*`"
		}
		if !slices.ContainsFunc(strings.Split(string(page), "\n"), func(l string) bool {
			return strings.HasPrefix(l, "|") && strings.Contains(l, row) && strings.Contains(l, "rests")
		}) {
			t.Errorf("docs/operations.md has no row for %s", a.name)
		}
	}
	literal := regexp.MustCompile(`"((?:sys|user)\.[a-z_.*]*)"`)
	for _, dir := range []string{"../words", "../rules", "../namespace", "../cluster", "../disk", "../transfer", "../maint", "../tape", "../manager", "../node"} {
		good(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			text, err := os.ReadFile(path)
			for _, m := range literal.FindAllStringSubmatch(string(text), -1) {
				if !known[m[1]] && !slices.Contains(single, m[1]) {
					t.Errorf("%s: what does %s steer, and for whom? It needs a row here and in docs/operations.md", path, m[1])
				}
			}
			return err
		}))
	}
}

// TestAttributesOfOthersFiles: the owner of a directory sets and removes nothing on the files of others in it, and the files'
// owners do.
func TestAttributesOfOthersFiles(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	people(t, n, "/proj")
	good(t, n.Tree.SetOwner(ctx, system(), "/proj", int64(alice().UID), -1))
	put(t, n, bob(), "/proj/f", 1)
	for _, name := range []string{"sys.any", "user.any"} {
		if n.Tree.SetXattr(ctx, alice(), "/proj/f", name, []byte("x"), false) == nil {
			t.Errorf("the directory's owner set %s", name)
		}
		good(t, n.Tree.SetXattr(ctx, bob(), "/proj/f", name, []byte("x"), false))
		if n.Tree.RemoveXattr(ctx, alice(), "/proj/f", name) == nil {
			t.Errorf("the directory's owner removed %s", name)
		}
		good(t, n.Tree.RemoveXattr(ctx, bob(), "/proj/f", name))
	}
	if n.Tree.SetXattr(ctx, bob(), "/proj/f", lifecycle.AttrAccess, []byte("2999-01-01"), false) == nil {
		t.Error("a file was read in the future")
	}
	checked(t, n)
}
