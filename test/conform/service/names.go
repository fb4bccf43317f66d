package service

import (
	"context"
	"errors"
	"slices"
	"testing"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// NamesOptions describe an implementation of hemera.Names.
// Dir is empty again for each test, because start makes a new implementation.
type NamesOptions struct {
	// Names is empty below Dir, and Who may do everything there. Dir is absolute and clean, not "/".
	Names hemera.Names
	Who   hemera.Identity
	Dir   string
	// MakeFile makes a whole, empty file. Nil leaves out what needs files.
	MakeFile func(t *testing.T, path string)
}

// wantKind fails the test unless the error has the kind.
// A nil error has no kind, and is reported too.
func wantKind(t *testing.T, what string, err error, kind errs.Kind) {
	t.Helper()
	if errs.KindOf(err) != kind || err == nil {
		t.Errorf("%s: %v, want %v", what, err, kind)
	}
}

// Names checks an implementation of hemera.Names. start returns a new one for each test.
// A test that a fake fails shows where it differs from a manager.
func Names(t *testing.T, start func(t *testing.T) NamesOptions) {
	for name, test := range map[string]func(*names, *testing.T){
		"MakeAndStat": (*names).makeAndStat, "Parents": (*names).parents, "List": (*names).list, "Rename": (*names).rename,
		"RenameOfATree": (*names).renameTree, "Remove": (*names).remove, "Files": (*names).files,
		"Slash": (*names).slash,
	} {
		t.Run(name, func(t *testing.T) {
			n := &names{start(t)}
			test(n, t)
		})
	}
}

// names is one implementation under test.
type names struct{ NamesOptions }

// mkdir makes a directory below Dir, whose own path is "".
// Without parents, so the test makes each level itself.
func (n *names) mkdir(t *testing.T, path string) hemera.Entry {
	t.Helper()
	e, err := n.Names.Mkdir(t.Context(), n.Who, n.Dir+path, 0o755, false)
	if err != nil {
		t.Fatalf("mkdir %s: %v", path, err)
	}
	return e
}

// stat looks up a path below Dir.
func (n *names) stat(t *testing.T, path string) (hemera.Entry, error) {
	return n.Names.Stat(t.Context(), n.Who, n.Dir+path)
}

// missing fails the test unless there is nothing at the path.
func (n *names) missing(t *testing.T, path string) {
	t.Helper()
	_, err := n.stat(t, path)
	wantKind(t, "stat "+path, err, errs.NotFound)
}

// makeAndStat proves that what Mkdir returns is what Stat finds, and which errors there are otherwise.
func (n *names) makeAndStat(t *testing.T) {
	n.missing(t, "/a") // nothing is there yet
	made := n.mkdir(t, "/a")
	e, err := n.stat(t, "/a")
	if err != nil || !e.IsDir() || e.Name != "a" || e.ID == 0 || e.ID != made.ID || e.Mode&0o777 != 0o755 { // the type and special bits are not compared
		t.Errorf("made %+v, found %+v, %v", made, e, err)
	}
	_, err = n.Names.Mkdir(t.Context(), n.Who, n.Dir+"/a", 0o755, false) // without parents a taken name is an error
	wantKind(t, "the same again", err, errs.Exists)
	_, err = n.Names.Mkdir(t.Context(), n.Who, n.Dir+"/no/b", 0o755, false)
	wantKind(t, "without a parent", err, errs.NotFound)
}

// parents proves that Mkdir with parents makes all levels, and may be repeated.
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

// list proves the order of names, by bytes and not by any language, and that only direct entries are listed.
func (n *names) list(t *testing.T) {
	all := []string{"B", "a", "b", "b.c", "é"} // capitals sort before small letters, and "é" after both
	for _, name := range []string{"b", "é", "B", "b.c", "a"} {
		n.mkdir(t, "/"+name)
	}
	n.mkdir(t, "/b/below") // must not be listed
	var got []string
	visit := func(e hemera.Entry) error { got = append(got, e.Name); return nil }
	if err := n.Names.List(t.Context(), n.Who, n.Dir, visit); err != nil || !slices.Equal(got, all) {
		t.Errorf("%q, %v, want %q", got, err, all)
	}
	// An error of the visitor ends the listing and is returned as it is.
	enough, calls := errors.New("enough"), 0
	// The visitor is called once: nothing follows its error.
	err := n.Names.List(t.Context(), n.Who, n.Dir, func(hemera.Entry) error { calls++; return enough })
	if !errors.Is(err, enough) || calls != 1 {
		t.Errorf("ended with %v after %d calls", err, calls)
	}
	wantKind(t, "of nothing", n.Names.List(t.Context(), n.Who, n.Dir+"/no", visit), errs.NotFound)
}

// rename proves that an entry keeps its id, and what cannot be moved where.
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

// renameTree proves that everything below moves along, and nothing beside it.
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
	n.missing(t, "/a/b/c") // the whole tree has left its old name
	if _, err := n.stat(t, "/ab"); err != nil {
		t.Errorf("a neighbour: %v", err)
	}
}

// remove proves that a directory must be empty, and that the kind in the call is held to.
func (n *names) remove(t *testing.T) {
	n.mkdir(t, "/a")
	n.mkdir(t, "/a/b")
	remove := func(path string, kind hemera.EntryKind) error {
		return n.Names.Remove(t.Context(), n.Who, n.Dir+path, kind)
	}
	wantKind(t, "of nothing", remove("/no", 0), errs.NotFound) // 0: whatever it is
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

// slash proves that a path which ends in a slash is of a directory, for each operation: of one that is there, or that is
// made, as without the slash; never of a file.
func (n *names) slash(t *testing.T) {
	ctx, d := t.Context(), n.Dir
	if _, err := n.Names.Mkdir(ctx, n.Who, d+"/a/b/", 0o755, true); err != nil {
		t.Fatal(err)
	}
	if e, err := n.stat(t, "/a/b/"); err != nil || !e.IsDir() || e.Name != "b" {
		t.Errorf("%+v, %v", e, err)
	}
	if err := n.Names.List(ctx, n.Who, d+"/a/", func(hemera.Entry) error { return nil }); err != nil {
		t.Error(err)
	}
	wantKind(t, "the same directory", mkdirError(n, "/a/b/"), errs.Exists)
	if err := n.Names.Rename(ctx, n.Who, d+"/a/b/", d+"/a/c/"); err != nil {
		t.Error(err)
	}
	if err := n.Names.Remove(ctx, n.Who, d+"/a/c/", 0); err != nil {
		t.Error(err)
	}
	wantKind(t, "nothing", statError(n, "/a/c/"), errs.NotFound)
	if n.MakeFile == nil {
		return
	}
	n.MakeFile(t, d+"/f")
	file := d + "/f/"
	for what, err := range map[string]error{
		"stat":                       statError(n, "/f/"),
		"list":                       n.Names.List(ctx, n.Who, file, func(hemera.Entry) error { return nil }),
		"mkdir":                      mkdirError(n, "/f/below"),
		"remove":                     n.Names.Remove(ctx, n.Who, file, 0),
		"remove of a file":           n.Names.Remove(ctx, n.Who, file, hemera.KindFile),
		"remove of a directory":      n.Names.Remove(ctx, n.Who, file, hemera.KindDirectory),
		"rename":                     n.Names.Rename(ctx, n.Who, file, d+"/g"),
		"rename of a file to one":    n.Names.Rename(ctx, n.Who, d+"/f", d+"/g/"),
		"rename of a file to itself": n.Names.Rename(ctx, n.Who, d+"/f", file),
		"publish":                    n.Names.Publish(ctx, n.Who, hemera.Publication{From: file, To: d + "/g"}),
		"publish to one":             n.Names.Publish(ctx, n.Who, hemera.Publication{From: d + "/f", To: d + "/g/"}),
	} {
		wantKind(t, what, err, errs.NotDirectory)
	}
	if e, err := n.stat(t, "/f"); err != nil || e.IsDir() {
		t.Errorf("the file: %+v, %v", e, err)
	}
	n.missing(t, "/g")
}

// statError returns the error of a stat.
func statError(n *names, path string) error {
	_, err := n.Names.Stat(context.Background(), n.Who, n.Dir+path)
	return err
}

// mkdirError returns the error of a mkdir without parents.
func mkdirError(n *names, path string) error {
	_, err := n.Names.Mkdir(context.Background(), n.Who, n.Dir+path, 0o755, false)
	return err
}

// files proves what files have beyond directories: they can be replaced, and published if their size is right.
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
	_, err = n.stat(t, "/f/below") // ENOTDIR, as in POSIX path resolution
	wantKind(t, "stat below a file", err, errs.NotDirectory)
	wantKind(t, "a list of a file", n.Names.List(t.Context(), n.Who, n.Dir+"/f", func(hemera.Entry) error { return nil }), errs.NotDirectory)
	wantKind(t, "removal as a directory", n.Names.Remove(t.Context(), n.Who, n.Dir+"/f", hemera.KindDirectory), errs.NotDirectory)
	// A rename onto a file replaces it, unlike one onto a directory.
	if err := n.Names.Rename(t.Context(), n.Who, n.Dir+"/f", n.Dir+"/g"); err != nil {
		t.Fatalf("a rename that replaces: %v", err)
	}
	n.missing(t, "/f")
	if e, err := n.stat(t, "/g"); err != nil || e.ID != old.ID {
		t.Errorf("replaced by %+v, %v, want %+v", e, err, old)
	}
	publish := hemera.Publication{From: n.Dir + "/g", To: n.Dir + "/h", Size: old.Size + 1}
	wantKind(t, "publication of another size", n.Names.Publish(t.Context(), n.Who, publish), errs.Conflict) // the size must be that of the file
	publish.Size = old.Size
	if err := n.Names.Publish(t.Context(), n.Who, publish); err != nil {
		t.Fatalf("publication: %v", err)
	}
	n.MakeFile(t, n.Dir+"/new")
	publish.From = n.Dir + "/new"
	wantKind(t, "publication onto a name that is taken", n.Names.Publish(t.Context(), n.Who, publish), errs.Exists)
	publish.Replace = true // with consent the target is replaced
	if err := n.Names.Publish(t.Context(), n.Who, publish); err != nil {
		t.Errorf("publication that replaces: %v", err)
	}
	if err := n.Names.Remove(t.Context(), n.Who, n.Dir+"/h", hemera.KindFile); err != nil {
		t.Error(err)
	}
	n.missing(t, "/h")
}
