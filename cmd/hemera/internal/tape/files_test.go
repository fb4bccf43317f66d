package tape

import (
	"testing"

	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// A command that could stage no file fails, and gives the reason in words that users know.
func TestNoneStaged(t *testing.T) {
	missing := tapeapi.Locality{Path: "/nope", Error: "namespace.Stat /nope: no such file or directory"}
	other := tapeapi.Locality{Path: "/d", Error: "manager.Stage /d: it is a directory"}
	err := noneStaged([]tapeapi.Locality{missing, other})
	if err == nil || err.Error() != "stage /nope: no such file or directory\nstage /d: it is a directory" {
		t.Errorf("%v", err)
	}
	if err := noneStaged([]tapeapi.Locality{missing, {Path: "/f"}}); err != nil {
		t.Errorf("one can be staged: %v", err)
	}
	for _, field := range localityRecord(missing, "id") {
		if field.Key == "error_text" && field.Value != "no such file or directory" {
			t.Errorf("%q", field.Value)
		}
	}
}

// An error about a path gets a remedy; one that has a remedy keeps it.
func TestRemediesOfPaths(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errs.New(errs.NotFound, "x.Y", "/a/b", ""), "see what is there: hemera ls -l /a"},
		{errs.New(errs.IsDirectory, "x.Y", "/a/b", ""), "name the files of the directory: hemera find /a/b -f lists them"},
		{errs.New(errs.NotFound, "x.Y", "/a/b", "").WithRemedy("r"), "r"},
		{errs.New(errs.Denied, "x.Y", "/a/b", ""), ""},
	} {
		err := helped(c.err, "/a/b")
		if errs.RemedyOf(err) != c.want || errs.KindOf(err) != errs.KindOf(c.err) {
			t.Errorf("%v: %q", c.err, errs.RemedyOf(err))
		}
	}
}

// The error of a command for several paths names each failed path with its reason, and each remedy once.
func TestFailuresOfSeveralPaths(t *testing.T) {
	var failed failures
	if failed.add("/ok", nil); failed.together("evict") != nil {
		t.Error("nothing has failed")
	}
	broken := errs.New(errs.Conflict, "manager.Evict", "/a", "its disk copies stay: tape V00001 is BROKEN").WithRemedy("set it ACTIVE")
	failed.add("/a", broken)
	if err := failed.together("evict"); err != broken {
		t.Errorf("one is told as it is: %v", err)
	}
	failed.add("/b", errs.New(errs.Conflict, "manager.Evict", "/b", "its disk copies stay: tape V00001 is BROKEN").WithRemedy("set it ACTIVE"))
	failed.add("/c", helped(errs.New(errs.NotFound, "namespace.Stat", "/c", ""), "/c"))
	err := failed.together("evict")
	want := "evict /a: its disk copies stay: tape V00001 is BROKEN\nevict /b: its disk copies stay: tape V00001 is BROKEN\nevict /c: not found"
	if err.Error() != want || errs.KindOf(err) != errs.Conflict {
		t.Errorf("%v", err)
	}
	if remedy := errs.RemedyOf(err); remedy != "set it ACTIVE\n              see what is there: hemera ls -l /" {
		t.Errorf("%q", remedy)
	}
}
