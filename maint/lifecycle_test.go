package maint

import (
	"slices"
	"testing"
	"time"

	"hemera/rules/lifecycle"
	"hemera/words/hemera"
)

// TestUsersTakeTurnsInScans: a user with many directories that are due delays the scans of others by no more than one with few.
func TestUsersTakeTurnsInScans(t *testing.T) {
	tree := func(id hemera.FileID, uid uint32, scanned int64) lifecycle.Tree {
		return lifecycle.Tree{Dir: id, By: hemera.Setter{UID: uid}, Scanned: time.Unix(scanned, 0)}
	}
	many := []lifecycle.Tree{tree(1, 6, 10), tree(2, 6, 10), tree(3, 6, 9), tree(4, 6, 10)}
	other := tree(9, 7, 20)
	admins := func(id hemera.FileID) lifecycle.Tree {
		return lifecycle.Tree{Dir: id, By: hemera.Setter{Admin: true}, Scanned: time.Unix(30, 0)}
	}
	for name, c := range map[string]struct {
		due, running []lifecycle.Tree
		want         []int
	}{
		"nothing is due":                     {nil, nil, nil},
		"a user alone takes half":            {many, nil, []int{2, 0}},
		"the other is second":                {append(slices.Clone(many), other), nil, []int{2, 4, 0}},
		"the other first":                    {append(slices.Clone(many), other), many[:1], []int{4, 2}},
		"one that is running does not again": {many[:1], many[:1], nil},
		"admins take what there is":          {[]lifecycle.Tree{admins(1), admins(2), admins(3), admins(4), admins(5)}, nil, []int{0, 1, 2, 3}},
		"all places are taken":               {[]lifecycle.Tree{other}, []lifecycle.Tree{admins(1), admins(2), many[2], many[3]}, nil},
		"a user among admins":                {[]lifecycle.Tree{admins(1), other, admins(2)}, []lifecycle.Tree{admins(3)}, []int{1, 0, 2}},
	} {
		if got := scansInTurn(c.due, slices.Clone(c.running)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
