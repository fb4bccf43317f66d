package copy

import (
	"errors"
	"testing"
	"time"

	"hemera/words/errs"
)

func TestResolveTargetAndChoose(t *testing.T) {
	file, dir, none := state{exists: true, size: 10}, state{exists: true, dir: true}, state{}
	src, dst := Place{Path: "/s/x"}, Place{Path: "/d"}
	if got, err := resolveTarget(end{Place{Path: "/s/x", Content: true}, dir}, end{dst, dir}, true, 1); err != nil || got.Path != "/d" {
		t.Errorf("the content of a directory goes to %s, %v", got, err)
	}
	for _, c := range []struct {
		from, to  state
		recursive bool
		sources   int
		want      string // a path, or "" for an error
	}{
		{file, none, false, 1, "/d"}, {file, file, false, 1, "/d"}, {file, dir, false, 1, "/d/x"}, {file, dir, false, 2, "/d/x"},
		{file, none, false, 2, ""}, {dir, none, false, 1, ""}, {dir, none, true, 1, "/d"}, {dir, dir, true, 1, "/d/x"},
		{dir, file, true, 1, ""}, {none, none, false, 1, ""},
	} {
		got, err := resolveTarget(end{src, c.from}, end{dst, c.to}, c.recursive, c.sources)
		if (err == nil) != (c.want != "") || (err == nil && got.Path != c.want) {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
	short, long := state{exists: true, size: 4}, state{exists: true, size: 11}
	for _, c := range []struct {
		there state
		o     Options
		want  action
		fail  errs.Kind
	}{
		{none, Options{}, actCopy, 0}, {file, Options{}, actCopy, errs.Exists}, {file, Options{Force: true}, actCopy, 0},
		{short, Options{Continue: true}, actCopy, errs.Exists}, {file, Options{Continue: true}, actCompare, 0},
		{short, Options{Continue: true, Force: true}, actCopy, 0}, {file, Options{Continue: true, Force: true}, actCompare, 0},
		{long, Options{Continue: true}, actCopy, errs.Exists}, {dir, Options{Force: true}, actCopy, errs.IsDirectory},
	} {
		got, err := choose(file, c.there, "d", c.o)
		if got != c.want || (err == nil) != (c.fail == 0) || (err != nil && !errors.Is(err, c.fail)) {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}

func TestSmooth(t *testing.T) {
	if got := smooth(0, 500, time.Second); got != 500 {
		t.Errorf("first rate %v", got)
	}
	if got := smooth(100, 300, 2*time.Second); got != 125 {
		t.Errorf("second rate %v", got)
	}
}

func TestPlaces(t *testing.T) {
	for in, want := range map[string]struct {
		path    string
		content bool
	}{
		"a/b/": {"a/b", false}, "a/b/.": {"a/b", true}, "a?b/.": {"a?b", true}, "file:///x/.": {"/x", true}, "x.": {"x.", false},
		"root://h//a/b": {"/a/b", false}, "root://h//a/b/.": {"/a/b/", true}, "root://h//a/.?k=v/": {"/a/", true}, "root://h//a?k=/.": {"/a", false},
	} {
		p, err := ParsePlace(in)
		if got := p.Path + p.URL.Path; err != nil || got != want.path || p.Content != want.content {
			t.Errorf("%s: %+v, %v", in, p, err)
		}
	}
}
