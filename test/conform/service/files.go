package service

import (
	"context"
	"fmt"
	"testing"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// FilesOptions describe an implementation of hemera.Files.
// Dir is empty again for each test, as in [NamesOptions]. Anybody may make files there, but for Barred.
type FilesOptions struct {
	Files hemera.Files
	Names hemera.Names // of the tree that the files are in
	// The user Who has all rights below Dir. Other is another user, whom modes allow what they allow everybody.
	// Barred is refused in a directory of Who's with the mode 0700. A fake that does not look at modes refuses it everywhere.
	Who, Other, Barred hemera.Identity
	Dir                string
	// AlwaysUnchanged leaves out the refusal to read a file that has changed. Implementations that do not look at
	// [hemera.OpenRequest].Unchanged set it.
	AlwaysUnchanged bool
	// End does at the grant's node what a client does there: it opens the write, gives it content of the size, and ends it.
	// [AtNode] makes it of nodes.
	End func(ctx context.Context, g hemera.Grant, size int64, how hemera.Ending) error
}

// AtNode returns what FilesOptions.End needs, for an implementation whose nodes can be called.
// The node gets the token alone, as from a client.
func AtNode(node func(id hemera.NodeID) hemera.Node) func(context.Context, hemera.Grant, int64, hemera.Ending) error {
	return func(ctx context.Context, g hemera.Grant, size int64, how hemera.Ending) error {
		// A local permit would be trusted as it is; clients show a signature.
		token, err := g.Permit.Token()
		if err != nil {
			return err
		}
		f, err := node(g.Permit.Targets[0].Node).Open(ctx, hemera.ParsePermit(token), hemera.NodeOpen{Truncate: true, Path: g.Permit.Path})
		if err != nil {
			return err
		}
		// Zeros will do: the suite compares sizes. Contents are for the suite of hemera.File.
		if err := f.WritePages(make([]byte, size), nil, 0); err != nil {
			return err
		}
		return f.End(ctx, how)
	}
}

// Files checks an implementation of hemera.Files, and what an [hemera.Ending] means for those who open the file after it.
// start returns a new one for each test. hemera.File itself has its suite in transfer/transfertest.
func Files(t *testing.T, start func(t *testing.T) FilesOptions) {
	// The order does not matter, as each case has files of its own.
	for name, test := range map[string]func(*files, *testing.T){
		"Refusals": (*files).refusals, "Permissions": (*files).permissions, "Create": (*files).create, "Replace": (*files).replace,
		"Update": (*files).update, "Exclusive": (*files).exclusive, "Locked": (*files).locked, "Force": (*files).force,
		"Abort": (*files).abort, "Detach": (*files).detach, "Conflict": (*files).conflict, "Reread": (*files).reread,
		"OwnWrites": (*files).ownWrites, "Move": (*files).move, "Discard": (*files).discard, "Places": (*files).places,
	} {
		t.Run(name, func(t *testing.T) {
			f := &files{FilesOptions: start(t)}
			test(f, t)
		})
	}
}

// files is one implementation under test.
type files struct{ FilesOptions }

// as makes the user's request of a path below Dir.
// New files may be written by everybody, so that locks alone keep Other out.
func (f *files) as(t *testing.T, who hemera.Identity, path string, access hemera.Access, change ...func(*hemera.OpenRequest)) (hemera.Grant, error) {
	r := hemera.OpenRequest{Path: f.Dir + path, Access: access, Mode: 0o666}
	for _, c := range change {
		c(&r)
	}
	return f.Files.Open(t.Context(), who, r)
}

// open opens as Who does, and must succeed. It checks the properties of each grant.
func (f *files) open(t *testing.T, path string, access hemera.Access, change ...func(*hemera.OpenRequest)) hemera.Grant {
	t.Helper()
	// The request is Who's: only cases about several users name another.
	g, err := f.as(t, f.Who, path, access, change...)
	if err != nil {
		t.Fatalf("open %s: %v", path, err)
	}
	// The client goes to the first target, and the permit must be for what it asked for.
	c := &g.Permit.Capability
	if len(c.Targets) == 0 || g.Addr == "" || g.Addr != c.Targets[0].Addr || c.File == 0 || c.Access != access || c.Path != f.Dir+path {
		t.Fatalf("open %s: the grant is of %s for %+v", path, g.Addr, c)
	}
	return g
}

// end ends the write of a grant, which must succeed.
func (f *files) end(t *testing.T, g hemera.Grant, size int64, how hemera.Ending) {
	t.Helper()
	if err := f.End(t.Context(), g, size, how); err != nil {
		t.Fatalf("end of %s: %v", g.Permit.Path, err)
	}
}

// write makes a file or replaces its content.
func (f *files) write(t *testing.T, path string, size int64) hemera.Entry {
	t.Helper()
	f.end(t, f.open(t, path, hemera.AccessCreate), size, hemera.EndClose)
	return f.visible(t, path, size)
}

// visible fails the test unless everybody sees a file of the size, by its name and by an open.
func (f *files) visible(t *testing.T, path string, size int64) hemera.Entry {
	t.Helper()
	// Both must agree: doors answer a stat from one and an open from the other.
	e, err := f.Names.Stat(t.Context(), f.Who, f.Dir+path)
	if err != nil || e.Size != size {
		t.Fatalf("%s: %+v, %v, want %d bytes", path, e, err, size)
	}
	g := f.open(t, path, hemera.AccessRead)
	if c := &g.Permit.Capability; c.File != e.ID || c.Size != size {
		t.Fatalf("%s: the grant is of file %s with %d bytes, want %s with %d", path, c.File, c.Size, e.ID, size)
	}
	return e
}

// missing fails the test unless nothing can be seen at the path.
func (f *files) missing(t *testing.T, path string) {
	t.Helper()
	_, err := f.Names.Stat(t.Context(), f.Who, f.Dir+path)
	wantKind(t, "stat "+path, err, errs.NotFound)
	_, err = f.as(t, f.Who, path, hemera.AccessRead)
	wantKind(t, "open "+path, err, errs.NotFound)
}

// refusals: what no user can open.
// Each error is of the kind that its doors translate for clients.
func (f *files) refusals(t *testing.T) {
	// One of each kind of entry.
	f.write(t, "/f", 3)
	if _, err := f.Names.Mkdir(t.Context(), f.Who, f.Dir+"/d", 0o777, false); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path   string
		access hemera.Access
		want   errs.Kind
	}{
		// A create needs the directory only, unless it is to make that too.
		{"/no", hemera.AccessRead, errs.NotFound}, {"/no", hemera.AccessUpdate, errs.NotFound},
		{"/no/f", hemera.AccessRead, errs.NotFound}, {"/no/f", hemera.AccessUpdate, errs.NotFound}, {"/no/f", hemera.AccessCreate, errs.NotFound},
		{"/d", hemera.AccessRead, errs.IsDirectory}, {"/d", hemera.AccessUpdate, errs.IsDirectory}, {"/d", hemera.AccessCreate, errs.IsDirectory},
		{"/f/g", hemera.AccessRead, errs.NotDirectory}, {"/f/g", hemera.AccessUpdate, errs.NotDirectory}, {"/f/g", hemera.AccessCreate, errs.NotDirectory},
		// A slash at the end names a directory.
		{"/f/", hemera.AccessRead, errs.NotDirectory}, {"/f/", hemera.AccessUpdate, errs.NotDirectory}, {"/f/", hemera.AccessCreate, errs.NotDirectory},
		{"/d/", hemera.AccessRead, errs.IsDirectory}, {"/d/", hemera.AccessUpdate, errs.IsDirectory}, {"/d/", hemera.AccessCreate, errs.IsDirectory},
		{"/no/", hemera.AccessRead, errs.NotFound}, {"/no/", hemera.AccessUpdate, errs.NotFound}, {"/no/", hemera.AccessCreate, errs.IsDirectory},
	} {
		_, err := f.as(t, f.Who, c.path, c.access)
		wantKind(t, fmt.Sprintf("access %d of %s", c.access, c.path), err, c.want)
	}
	f.missing(t, "/no")
	// An open that makes the directories above makes the one that such a path names, and is refused: clients then open the
	// file in it.
	_, err := f.Files.Open(t.Context(), f.Who, hemera.OpenRequest{Path: f.Dir + "/e/new/", Access: hemera.AccessCreate, Parents: true})
	wantKind(t, "a create of a directory that it makes", err, errs.IsDirectory)
	if e, err := f.Names.Stat(t.Context(), f.Who, f.Dir+"/e/new"); err != nil || !e.IsDir() {
		t.Errorf("the directory that an open makes: %+v, %v", e, err)
	}
	_, err = f.Files.Locate(t.Context(), f.Who, f.Dir+"/f/")
	wantKind(t, "a locate", err, errs.NotDirectory)
	_, err = f.Files.Checksum(t.Context(), f.Who, f.Dir+"/f/", hemera.ChecksumNone)
	wantKind(t, "a checksum", err, errs.NotDirectory)
	wantKind(t, "a move", f.Files.Move(t.Context(), f.Who, f.Dir+"/f/", f.Dir+"/g", ""), errs.NotDirectory)
	wantKind(t, "a move to one", f.Files.Move(t.Context(), f.Who, f.Dir+"/f", f.Dir+"/g/", ""), errs.NotDirectory)
}

// permissions: a user who may not use a directory opens nothing there, and learns nothing of what is being written.
func (f *files) permissions(t *testing.T) {
	if _, err := f.Names.Mkdir(t.Context(), f.Who, f.Dir+"/own", 0o700, false); err != nil {
		t.Fatal(err)
	}
	f.write(t, "/own/f", 3)
	// For a new file it is the directory that says no.
	for _, path := range []string{"/own/f", "/own/new"} {
		_, err := f.as(t, f.Barred, path, hemera.AccessCreate)
		wantKind(t, "a create of "+path, err, errs.Denied)
	}
	// What exists has rights of its own, which would allow both.
	for _, access := range []hemera.Access{hemera.AccessRead, hemera.AccessUpdate} {
		_, err := f.as(t, f.Barred, "/own/f", access)
		wantKind(t, fmt.Sprintf("access %d", access), err, errs.Denied)
	}
	// Where the pieces are and what their sum is are parts of the content.
	_, err := f.Files.Locate(t.Context(), f.Barred, f.Dir+"/own/f")
	wantKind(t, "a locate", err, errs.Denied)
	_, err = f.Files.Checksum(t.Context(), f.Barred, f.Dir+"/own/f", hemera.ChecksumNone)
	wantKind(t, "a checksum", err, errs.Denied)
}

// create: a new file can be seen when its close returns, and not before.
func (f *files) create(t *testing.T) {
	g := f.open(t, "/f", hemera.AccessCreate)
	if g.Permit.BaseGen != 0 || g.Permit.Base != nil {
		t.Errorf("a new file replaces %d, %+v", g.Permit.BaseGen, g.Permit.Base)
	}
	f.missing(t, "/f")
	f.end(t, g, 7, hemera.EndClose)
	if e := f.visible(t, "/f", 7); e.ID != g.Permit.File {
		t.Errorf("granted %s, found %s", g.Permit.File, e.ID)
	}
	// An empty file is a file too.
	f.write(t, "/empty", 0)
	// The directories are made at the open, and stay if the file is never closed.
	parents := func(r *hemera.OpenRequest) { r.Parents = true }
	f.end(t, f.open(t, "/a/b/f", hemera.AccessCreate, parents), 1, hemera.EndClose)
	f.visible(t, "/a/b/f", 1)
}

// replace: readers have the old content until the new one is closed. The file keeps its id.
func (f *files) replace(t *testing.T) {
	old := f.write(t, "/f", 7)
	g := f.open(t, "/f", hemera.AccessCreate)
	if g.Permit.BaseGen == 0 || g.Permit.Base != nil {
		t.Errorf("it replaces %d and begins from %+v", g.Permit.BaseGen, g.Permit.Base)
	}
	// The write is under way, and changes nothing for readers.
	f.visible(t, "/f", 7)
	f.end(t, g, 3, hemera.EndClose)
	if e := f.visible(t, "/f", 3); e.ID != old.ID || e.Gen == old.Gen {
		t.Errorf("was %s.%d, is %s.%d", old.ID, old.Gen, e.ID, e.Gen)
	}
}

// update: the write begins with what is there.
// Its node needs to know where that is, and how large.
func (f *files) update(t *testing.T) {
	old := f.write(t, "/f", 7)
	g := f.open(t, "/f", hemera.AccessUpdate)
	if b := g.Permit.Base; b == nil || b.Size != 7 || b.Gen != old.Gen || g.Permit.File != old.ID || g.Permit.BaseGen != old.Gen {
		t.Fatalf("it begins from %+v, want %+v", b, old)
	}
	f.end(t, g, 9, hemera.EndClose)
	f.visible(t, "/f", 9)
}

// exclusive: a name has one maker. That one is being made is a reason to refuse, although nobody sees it.
func (f *files) exclusive(t *testing.T) {
	exclusive := func(r *hemera.OpenRequest) { r.Exclusive = true }
	f.write(t, "/f", 1)
	_, err := f.as(t, f.Who, "/f", hemera.AccessCreate, exclusive)
	wantKind(t, "a file that exists", err, errs.Exists)
	// Nothing is there yet, so this open wins and all others lose.
	g := f.open(t, "/new", hemera.AccessCreate, exclusive)
	_, err = f.as(t, f.Other, "/new", hemera.AccessCreate, exclusive)
	wantKind(t, "a file that is being made", err, errs.Exists)
	f.end(t, g, 1, hemera.EndClose)
	_, err = f.as(t, f.Other, "/new", hemera.AccessCreate, exclusive)
	wantKind(t, "a file that was made", err, errs.Exists)
	f.visible(t, "/new", 1)
}

// locked: of two users one writes, and the other reads what was there before.
func (f *files) locked(t *testing.T) {
	f.write(t, "/f", 1)
	// An update and a replacement exclude each other.
	for i, access := range []hemera.Access{hemera.AccessUpdate, hemera.AccessCreate} {
		g := f.open(t, "/f", access)
		for _, second := range []hemera.Access{hemera.AccessUpdate, hemera.AccessCreate} {
			_, err := f.as(t, f.Other, "/f", second)
			wantKind(t, fmt.Sprintf("access %d beside %d", second, access), err, errs.Locked)
		}
		if _, err := f.as(t, f.Other, "/f", hemera.AccessRead); err != nil {
			t.Errorf("a read: %v", err)
		}
		f.end(t, g, int64(i+2), hemera.EndClose)
	}
	// The lock was freed with the close.
	if _, err := f.as(t, f.Other, "/f", hemera.AccessUpdate); err != nil {
		t.Error(err)
	}
}

// force: it takes the lock, and its commit wins over what was committed meanwhile.
func (f *files) force(t *testing.T) {
	force := func(r *hemera.OpenRequest) { r.Force = true }
	f.write(t, "/f", 1)
	first := f.open(t, "/f", hemera.AccessCreate)
	second, err := f.as(t, f.Other, "/f", hemera.AccessCreate, force)
	if err != nil {
		t.Fatal(err)
	}
	// The first writer lost its lock but not its permit: nothing was committed when it closes.
	f.end(t, first, 2, hemera.EndClose)
	f.end(t, second, 3, hemera.EndClose)
	f.visible(t, "/f", 3)
}

// abort: the name is as if nobody had opened it, and free at once.
func (f *files) abort(t *testing.T) {
	f.write(t, "/f", 1)
	f.end(t, f.open(t, "/f", hemera.AccessCreate), 5, hemera.EndAbort)
	f.visible(t, "/f", 1)
	// A new file leaves no entry, a replaced one keeps its content.
	f.end(t, f.open(t, "/new", hemera.AccessCreate), 5, hemera.EndAbort)
	f.missing(t, "/new")
	// Another user comes next: the lock would count for it.
	for _, path := range []string{"/f", "/new"} {
		if _, err := f.as(t, f.Other, path, hemera.AccessCreate); err != nil {
			t.Errorf("%s after an abort: %v", path, err)
		}
	}
}

// detach: nothing is visible, the lock is held, and the same permit goes on.
func (f *files) detach(t *testing.T) {
	g := f.open(t, "/f", hemera.AccessCreate)
	f.end(t, g, 5, hemera.EndDetach)
	// The client may come back for [hemera.PendingHold].
	f.missing(t, "/f")
	_, err := f.as(t, f.Other, "/f", hemera.AccessCreate)
	wantKind(t, "a second writer", err, errs.Locked)
	f.end(t, g, 6, hemera.EndClose)
	f.visible(t, "/f", 6)
}

// conflict: a close whose base is gone fails, and nothing of it becomes visible.
func (f *files) conflict(t *testing.T) {
	f.write(t, "/gone", 1)
	g := f.open(t, "/gone", hemera.AccessUpdate)
	if err := f.Names.Remove(t.Context(), f.Who, f.Dir+"/gone", hemera.KindFile); err != nil {
		t.Fatal(err)
	}
	// The removal was acknowledged, so the close must not bring the file back.
	wantKind(t, "a close of a removed file", f.End(t.Context(), g, 5, hemera.EndClose), errs.Conflict)
	f.missing(t, "/gone")
	// The file was rewritten: the second commit would hide the first one's content.
	f.write(t, "/f", 1)
	g = f.open(t, "/f", hemera.AccessUpdate)
	other, err := f.as(t, f.Other, "/f", hemera.AccessCreate, func(r *hemera.OpenRequest) { r.Force = true })
	if err != nil {
		t.Fatal(err)
	}
	f.end(t, other, 2, hemera.EndClose)
	wantKind(t, "a close of a rewritten file", f.End(t.Context(), g, 5, hemera.EndClose), errs.Conflict)
	f.visible(t, "/f", 2)
}

// reread: a reader that comes back gets the content that it was reading, or is refused.
func (f *files) reread(t *testing.T) {
	before := time.Now().Add(-time.Hour)
	f.write(t, "/f", 4)
	g := f.open(t, "/f", hemera.AccessRead)
	// Of a content that is there in any case; how long a replaced one is held is the manager's policy.
	again := f.open(t, "/f", hemera.AccessRead, func(r *hemera.OpenRequest) { r.Again = g.Permit.Content() })
	if a, b := &again.Permit.Capability, &g.Permit.Capability; a.File != b.File || a.Gen != b.Gen || a.Size != b.Size {
		t.Errorf("again it is %+v, was %+v", a, b)
	}
	// The file was made after the reader began, so it cannot be what was read.
	_, err := f.as(t, f.Who, "/f", hemera.AccessRead, func(r *hemera.OpenRequest) { r.Unchanged = before })
	if !f.AlwaysUnchanged {
		wantKind(t, "a file that changed", err, errs.Conflict)
	}
	f.open(t, "/f", hemera.AccessRead, func(r *hemera.OpenRequest) { r.Unchanged = time.Now().Add(time.Hour) })
	// A client that has failed at every node is refused at once, so that it says so to its user.
	var all []hemera.NodeID
	for _, target := range g.Permit.Targets {
		all = append(all, target.Node)
	}
	_, err = f.as(t, f.Who, "/f", hemera.AccessRead, func(r *hemera.OpenRequest) { r.Tried = all })
	wantKind(t, "all nodes were tried", err, errs.NoReplicas)
}
