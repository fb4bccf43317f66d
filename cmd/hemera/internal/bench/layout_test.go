package bench

import (
	"context"
	"errors"
	"testing"

	"hemera/rules/policy"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// tree is a manager with these directories and their attributes. Its spaces are "default", with two copies, and "big", with a code.
type tree map[string]map[string][]byte

func (d tree) Stat(_ context.Context, _ hemera.Identity, path string) (hemera.Entry, error) {
	attrs, ok := d[path]
	if !ok {
		return hemera.Entry{}, errs.New(errs.NotFound, "test.Stat", path, "")
	}
	return hemera.Entry{Xattrs: attrs}, nil
}

func (d tree) Spaces(context.Context) ([]hemera.Space, error) {
	return []hemera.Space{
		{Name: "big", Policy: hemera.Policy{Layout: hemera.ReedSolomon(4, 2)}},
		{Name: hemera.DefaultSpace, Policy: hemera.Policy{Layout: hemera.Replica(2)}},
	}, nil
}

func TestTheLayoutOfNewFiles(t *testing.T) {
	set := func(name, value string) map[string][]byte { return map[string][]byte{name: []byte(value)} }
	for name, c := range map[string]struct {
		dirs tree
		want string
	}{
		"the policy of the default space":     {tree{"/": nil, "/a": nil, "/a/b": nil}, "replica:2"},
		"a directory has another layout":      {tree{"/": nil, "/a": nil, "/a/b": set(policy.AttrLayout, "rs:10+4")}, "rs:10+4"},
		"a directory above has":               {tree{"/": nil, "/a": set(policy.AttrLayout, "plain"), "/a/b": nil}, "plain"},
		"the nearest counts":                  {tree{"/": set(policy.AttrLayout, "stripe:4"), "/a": set(policy.AttrLayout, "plain"), "/a/b": nil}, "plain"},
		"a directory has another space":       {tree{"/": nil, "/a": set(policy.AttrSpace, "big"), "/a/b": nil}, "rs:4+2"},
		"another number of copies":            {tree{"/": set(policy.AttrStripes, "3"), "/a": nil, "/a/b": nil}, "replica:3"},
		"a user's attribute is not inherited": {tree{"/": nil, "/a": nil, "/a/b": set("user.forced.layout", "plain")}, "replica:2"},
	} {
		got, err := layoutBelow(t.Context(), c.dirs, "/a/b")
		if err != nil || got.String() != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
	if _, err := layoutBelow(t.Context(), tree{"/": nil}, "/a"); !errors.Is(err, errs.NotFound) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, err := layoutBelow(t.Context(), tree{"/": set(policy.AttrSpace, "gone")}, "/"); !errors.Is(err, errs.NotFound) {
		t.Errorf("a space that is not there: %v", err)
	}
}
