package service

import (
	"errors"
	"slices"
	"testing"

	"hemera"
	"hemera/errs"
)

// NamesOptions describe an implementation of hemera.Names.
type NamesOptions struct {
	// Names is empty below Dir, and Who may do everything there. Dir is absolute and clean, not "/".
	Names hemera.Names
	Who   hemera.Identity
	Dir   string
	// MakeFile makes a whole, empty file that is committed when it returns: Names has no call for that, and each
	// implementation has its own way. Nil leaves out what needs files.
	MakeFile func(t *testing.T, path string)
}

// wantKind fails the test unless the error has the kind.
func wantKind(t *testing.T, what string, err error, kind errs.Kind) {
	t.Helper()
	if errs.KindOf(err) != kind || err == nil {
		t.Errorf("%s: %v, want %v", what, err, kind)
	}
}

// Names checks an implementation of hemera.Names. start returns a new one for each test.
func Names(t *testing.T, start func(t *testing.T) NamesOptions) {
	// A map, so that the order changes from run to run: no test may need what another left.
	for name, test := range map[string]func(*names, *testing.T){
		"MakeAndStat": (*names).makeAndStat, "Parents": (*names).parents, "List": (*names).list, "Rename": (*names).rename,
		"RenameOfATree": (*names).renameTree, "Remove": (*names).remove, "Files": (*names).files,
	} {
		t.Run(name, func(t *testing.T) {
			n := &names{start(t)}
			test(n, t)
		})
	}
}

// names is one implementation under test, with helpers that take paths below Dir.
type names struct{ NamesOptions }

// mkdir makes a directory below Dir, whose own path is "".
func (n *names) mkdir(t *testing.T, path string) hemera.Entry {
	t.Helper()
	e, err := n.Names.Mkdir(t.Context(), n.Who, n.Dir+path, 0o755, false)
	if err != nil {
		t.Fatalf("mkdir %s: %v", path, err)
	}
	return e
}

// stat returns what is at the path below Dir, and the error as it is.
func (n *names) stat(t *testing.T, path string) (hemera.Entry, error) {
	return n.Names.Stat(t.Context(), n.Who, n.Dir+path)
}

// missing fails the test unless there is nothing at the path.
func (n *names) missing(t *testing.T, path string) {
	t.Helper()
	_, err := n.stat(t, path)
	wantKind(t, "stat "+path, err, errs.NotFound)
}

// makeAndStat: what Mkdir returns is what Stat finds, and without parents nothing else is made.
func (n *names) makeAndStat(t *testing.T) {
	n.missing(t, "/a")
	made := n.mkdir(t, "/a")
	e, err := n.stat(t, "/a")
	if err != nil || !e.IsDir() || e.Name != "a" || e.ID == 0 || e.ID != made.ID || e.Mode&0o777 != 0o755 {
		t.Errorf("made %+v, found %+v, %v", made, e, err)
	}
	_, err = n.Names.Mkdir(t.Context(), n.Who, n.Dir+"/a", 0o755, false)
	wantKind(t, "the same again", err, errs.Exists)
	_, err = n.Names.Mkdir(t.Context(), n.Who, n.Dir+"/no/b", 0o755, false)
	wantKind(t, "without a parent", err, errs.NotFound)
}

// parents: with parents all of the path is made, and a second call finds it and succeeds.
func (n *names) parents(t *testing.T) {
	for range 2 { // that it exists is no error
		e, err := n.Names.Mkdir(t.Context(), n.Who, n.Dir+"/p/q/r", 0o755, true)
		if err != nil || e.Name != "r" {
			t.Fatalf("%+v, %v", e, err)
		}
	}
	if e, err := n.stat(t, "/p/q"); err != nil || !e.IsDir() {
		t.Errorf("a parent is %+v, %v", e, err)
	}
}

// list: names come in byte order, entries below are not listed, and visit's error ends the list and is returned.
func (n *names) list(t *testing.T) {
	// Byte order: capitals before small letters, a name before those that it begins, ASCII before the rest of UTF-8.
	all := []string{"B", "a", "b", "b.c", "é"}
	for _, name := range []string{"b", "é", "B", "b.c", "a"} {
		n.mkdir(t, "/"+name)
	}
	n.mkdir(t, "/b/below")
	var got []string
	visit := func(e hemera.Entry) error { got = append(got, e.Name); return nil }
	if err := n.Names.List(t.Context(), n.Who, n.Dir, visit); err != nil || !slices.Equal(got, all) {
		t.Errorf("%q, %v, want %q", got, err, all)
	}
	// The error itself comes back, so that callers can tell their own from the list's.
	enough, calls := errors.New("enough"), 0
	err := n.Names.List(t.Context(), n.Who, n.Dir, func(hemera.Entry) error { calls++; return enough })
	if !errors.Is(err, enough) || calls != 1 {
		t.Errorf("ended with %v after %d calls", err, calls)
	}
	wantKind(t, "of nothing", n.Names.List(t.Context(), n.Who, n.Dir+"/no", visit), errs.NotFound)
}

// rename: a directory keeps its id, and each refusal has the kind that the interface names.
func (n *names) rename(t *testing.T) {
	made := n.mkdir(t, "/a")
	n.mkdir(t, "/taken")
	move := func(from, to string) error { return n.Names.Rename(t.Context(), n.Who, n.Dir+from, n.Dir+to) }
	wantKind(t, "of nothing", move("/no", "/b"), errs.NotFound)
	wantKind(t, "below nothing", move("/a", "/no/b"), errs.NotFound)
	wantKind(t, "onto a directory", move("/a", "/taken"), errs.IsDirectory)
	wantKind(t, "below itself", move("/a", "/a/b"), errs.Invalid)
	if err := move("/a", "/b"); err != nil {
		t.Fatal(err)
	}
	n.missing(t, "/a")
	if e, err := n.stat(t, "/b"); err != nil || e.ID != made.ID || e.Name != "b" {
		t.Errorf("moved to %+v, %v, was %+v", e, err, made)
	}
}

// renameTree: everything below moves with a directory, and nothing that only begins like it.
func (n *names) renameTree(t *testing.T) {
	n.mkdir(t, "/a")
	n.mkdir(t, "/a/b")
	deep := n.mkdir(t, "/a/b/c")
	n.mkdir(t, "/ab") // begins alike, and stays
	if err := n.Names.Rename(t.Context(), n.Who, n.Dir+"/a", n.Dir+"/z"); err != nil {
		t.Fatal(err)
	}
	if e, err := n.stat(t, "/z/b/c"); err != nil || e.ID != deep.ID {
		t.Errorf("below: %+v, %v, was %+v", e, err, deep)
	}
	n.missing(t, "/a/b/c")
	if _, err := n.stat(t, "/ab"); err != nil {
		t.Errorf("a neighbour: %v", err)
	}
}

// remove: a kind that does not match is refused, kind zero takes either, and a directory has to be empty.
func (n *names) remove(t *testing.T) {
	n.mkdir(t, "/a")
	n.mkdir(t, "/a/b")
	remove := func(path string, kind hemera.EntryKind) error {
		return n.Names.Remove(t.Context(), n.Who, n.Dir+path, kind)
	}
	wantKind(t, "of nothing", remove("/no", 0), errs.NotFound)
	wantKind(t, "of what is not empty", remove("/a", 0), errs.NotEmpty)
	wantKind(t, "of a directory as a file", remove("/a/b", hemera.KindFile), errs.IsDirectory)
	if err := remove("/a/b", hemera.KindDirectory); err != nil {
		t.Error(err)
	}
	if err := remove("/a", 0); err != nil {
		t.Error(err)
	}
	n.missing(t, "/a")
}

// files: what differs between files and directories, replacement by Rename, and Publish with all that it refuses.
func (n *names) files(t *testing.T) {
	if n.MakeFile == nil {
		t.Skip("it makes no files")
	}
	n.MakeFile(t, n.Dir+"/f")
	n.MakeFile(t, n.Dir+"/g")
	old, err := n.stat(t, "/f")
	if err != nil || old.IsDir() {
		t.Fatalf("%+v, %v", old, err)
	}
	_, err = n.stat(t, "/f/below")
	wantKind(t, "stat below a file", err, errs.NotDirectory)
	wantKind(t, "a list of a file", n.Names.List(t.Context(), n.Who, n.Dir+"/f", func(hemera.Entry) error { return nil }), errs.NotDirectory)
	wantKind(t, "removal as a directory", n.Names.Remove(t.Context(), n.Who, n.Dir+"/f", hemera.KindDirectory), errs.NotDirectory)
	// As POSIX rename(2): a file at the target is replaced, and the moved one keeps its id.
	if err := n.Names.Rename(t.Context(), n.Who, n.Dir+"/f", n.Dir+"/g"); err != nil {
		t.Fatalf("a rename that replaces: %v", err)
	}
	n.missing(t, "/f")
	if e, err := n.stat(t, "/g"); err != nil || e.ID != old.ID {
		t.Errorf("replaced by %+v, %v, want %+v", e, err, old)
	}
	// Without a checksum: files that MakeFile makes need not store one.
	publish := hemera.Publication{From: n.Dir + "/g", To: n.Dir + "/h", Size: old.Size + 1}
	wantKind(t, "publication of another size", n.Names.Publish(t.Context(), n.Who, publish), errs.Conflict)
	publish.Size = old.Size
	if err := n.Names.Publish(t.Context(), n.Who, publish); err != nil {
		t.Fatalf("publication: %v", err)
	}
	n.MakeFile(t, n.Dir+"/new")
	// Its size is that of the other: both are empty.
	publish.From = n.Dir + "/new"
	wantKind(t, "publication onto a name that is taken", n.Names.Publish(t.Context(), n.Who, publish), errs.Exists)
	publish.Replace = true
	if err := n.Names.Publish(t.Context(), n.Who, publish); err != nil {
		t.Errorf("publication that replaces: %v", err)
	}
	if err := n.Names.Remove(t.Context(), n.Who, n.Dir+"/h", hemera.KindFile); err != nil {
		t.Error(err)
	}
	n.missing(t, "/h")
}
