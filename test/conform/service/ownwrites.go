package service

import (
	"slices"
	"testing"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// What follows is the rest of the suite of hemera.Files: the writes of a process that asks about them itself, and where
// files are.

// process names the client's process in requests.
// Sessions stay empty: doors have them, and a request of one session waits less for its own close.
const process = "laptop/7"

// begun opens a write of the process.
func (f *files) begun(t *testing.T, path string) hemera.Grant {
	t.Helper()
	return f.open(t, path, hemera.AccessCreate, func(r *hemera.OpenRequest) { r.Process = process })
}

// ownWrites: a process finds what it is writing. Nobody else does.
// After the close there is nothing left to find.
func (f *files) ownWrites(t *testing.T) {
	ctx := t.Context()
	// A new file, and a new content of a file that others see.
	known := f.write(t, "/old", 1)
	made, rewritten := f.begun(t, "/new"), f.begun(t, "/old")
	g, e, err := f.Files.Pending(ctx, f.Who, f.Dir+"/new", process, hemera.Entry{})
	if err != nil || g.Addr != made.Addr || e.ID != made.Permit.File || e.Name != "new" || e.IsDir() {
		t.Errorf("%+v at %s, %v", e, g.Addr, err)
	}
	// Of a file that is visible already its writer knows what Stat said.
	g, e, err = f.Files.Pending(ctx, f.Who, f.Dir+"/old", process, known)
	if err != nil || g.Addr != rewritten.Addr || e.ID != known.ID {
		t.Errorf("%+v at %s, %v", e, g.Addr, err)
	}
	// The list of the namespace has the other file already.
	if got := f.listed(t, f.Who, process); !slices.Equal(got, []string{"new"}) {
		t.Errorf("its process lists %q", got)
	}
	// An empty process is one that the door does not know; it has no writes.
	for _, other := range []struct {
		who     hemera.Identity
		process string
	}{{f.Who, "laptop/8"}, {f.Who, ""}, {f.Other, process}} {
		_, _, err := f.Files.Pending(ctx, other.who, f.Dir+"/new", other.process, hemera.Entry{})
		wantKind(t, "pending for "+other.who.Name+" "+other.process, err, errs.NotFound)
		if got := f.listed(t, other.who, other.process); len(got) > 0 {
			t.Errorf("%s %s lists %q", other.who.Name, other.process, got)
		}
	}
	f.end(t, made, 1, hemera.EndClose)
	_, _, err = f.Files.Pending(ctx, f.Who, f.Dir+"/new", process, hemera.Entry{})
	wantKind(t, "pending after the close", err, errs.NotFound)
}

// listed returns the names of PendingIn for Dir.
func (f *files) listed(t *testing.T, who hemera.Identity, process string) (names []string) {
	t.Helper()
	list, err := f.Files.PendingIn(t.Context(), who, f.Dir, process)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name)
	}
	return names
}

// move: a file that is closed moves as by Rename, and one that is open goes on under its new name.
func (f *files) move(t *testing.T) {
	move := func(from, to string) error { return f.Files.Move(t.Context(), f.Who, f.Dir+from, f.Dir+to, process) }
	wantKind(t, "of nothing", move("/no", "/b"), errs.NotFound)
	f.write(t, "/a", 1)
	if err := move("/a", "/b"); err != nil {
		t.Fatal(err)
	}
	f.missing(t, "/a")
	f.visible(t, "/b", 1)
	g := f.begun(t, "/open")
	if err := move("/open", "/moved"); err != nil {
		t.Fatal(err)
	}
	// Its process looks for it under the new name from now on.
	_, _, err := f.Files.Pending(t.Context(), f.Who, f.Dir+"/open", process, hemera.Entry{})
	wantKind(t, "under its old name", err, errs.NotFound)
	// The grant still says the old name; its commit finds the new one.
	f.end(t, g, 5, hemera.EndClose)
	f.missing(t, "/open")
	f.visible(t, "/moved", 5)
}

// discard: the close of what was discarded fails, and the name is free.
func (f *files) discard(t *testing.T) {
	discard := func(path, process string) error {
		return f.Files.Discard(t.Context(), f.Who, f.Dir+path, process, "")
	}
	wantKind(t, "of nothing", discard("/no", process), errs.NotFound)
	f.write(t, "/f", 1)
	// It is visible and nobody writes it, so it is for Remove.
	wantKind(t, "of a file", discard("/f", process), errs.NotFound)
	g := f.begun(t, "/new")
	wantKind(t, "of another's", discard("/new", "laptop/8"), errs.NotFound)
	if err := discard("/new", process); err != nil {
		t.Fatal(err)
	}
	wantKind(t, "its close", f.End(t.Context(), g, 5, hemera.EndClose), errs.Conflict)
	f.missing(t, "/new")
	if _, err := f.as(t, f.Other, "/new", hemera.AccessCreate); err != nil {
		t.Errorf("the name: %v", err)
	}
}

// places: Locate and Checksum are of committed files.
func (f *files) places(t *testing.T) {
	for path, size := range map[string]int64{"/f": 5, "/empty": 0} {
		f.write(t, path, size)
		// A client can go to each place.
		targets, err := f.Files.Locate(t.Context(), f.Who, f.Dir+path)
		if err != nil || len(targets) == 0 || targets[0].Addr == "" || targets[0].Node == 0 {
			t.Errorf("%s is at %+v, %v", path, targets, err)
		}
		sum, err := f.Files.Checksum(t.Context(), f.Who, f.Dir+path, hemera.ChecksumNone)
		if err != nil || sum.Kind == hemera.ChecksumNone {
			t.Fatalf("%s has %v, %v", path, sum, err)
		}
		// Asked for by its name, the policy's checksum is the same.
		if named, err := f.Files.Checksum(t.Context(), f.Who, f.Dir+path, sum.Kind); err != nil || named != sum {
			t.Errorf("%s has %v, by its kind %v, %v", path, sum, named, err)
		}
	}
	// Errors are those of an open for reading.
	_, err := f.Files.Locate(t.Context(), f.Who, f.Dir+"/no")
	wantKind(t, "a locate of nothing", err, errs.NotFound)
	_, err = f.Files.Checksum(t.Context(), f.Who, f.Dir+"/no", hemera.ChecksumNone)
	wantKind(t, "a checksum of nothing", err, errs.NotFound)
	_, err = f.Files.Checksum(t.Context(), f.Who, f.Dir, hemera.ChecksumNone)
	wantKind(t, "a checksum of a directory", err, errs.IsDirectory)
}
