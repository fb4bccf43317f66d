package access

import (
	"strings"
	"testing"

	"hemera/words/hemera"
)

func TestDecide(t *testing.T) {
	owner := hemera.Identity{UID: 1, GID: 1}
	member := hemera.Identity{UID: 2, GID: 2, Groups: []uint32{9, 10}}
	other := hemera.Identity{UID: 3, GID: 3}
	admin := hemera.Identity{UID: 3, GID: 3, Admin: true}
	for _, c := range []struct {
		name string
		who  hemera.Identity
		mode uint32
		do   Action
		want bool
	}{
		{"owner reads", owner, 0o400, Read, true},
		{"owner writes", owner, 0o400, Write, false},
		{"the first class that fits decides", owner, 0o077, Read, false},
		{"group reads", member, 0o040, Read, true},
		{"group is not other", member, 0o007, Read, false},
		{"other lists", other, 0o004, List, true},
		{"other traverses", other, 0o001, Traverse, true},
		{"list is not traverse", other, 0o004, Traverse, false},
		{"create needs write and traverse", other, 0o002, CreateIn, false},
		{"create", other, 0o003, CreateIn, true},
		{"delete", other, 0o003, DeleteIn, true},
		{"owner changes attributes of a mode-0 file", owner, 0, ChangeAttributes, true},
		{"others do not, whatever the mode", other, 0o777, ChangeAttributes, false},
		{"admin", admin, 0, Write, true},
		{"unknown action", owner, 0o777, 0, false},
	} {
		d := Decide(c.who, Object{Mode: c.mode, UID: 1, GID: 10}, c.do)
		if d.Allowed != c.want || d.Rule == "" {
			t.Errorf("%s: got %+v", c.name, d)
		}
	}
}

// TestARefusalSaysAsWhomTheClientIsServed: a refusal tells root of another machine that the bits of the user "nobody"
// count.
func TestARefusalSaysAsWhomTheClientIsServed(t *testing.T) {
	who := hemera.Identity{Name: "nobody", UID: hemera.NobodyID, GID: hemera.NobodyID, Host: "10.99.0.6", Claimed: "root"}
	if d := Decide(who, Object{Mode: 0o755}, CreateIn); !strings.HasSuffix(d.Rule, "; root of 10.99.0.6 is nobody here") {
		t.Error(d.Rule)
	}
	who.Name, who.Claimed = "bob", "bob"
	if d := Decide(who, Object{Mode: 0o755}, CreateIn); strings.Contains(d.Rule, "here") {
		t.Error(d.Rule)
	}
}

func TestDecideRemoveInStickyDirectory(t *testing.T) {
	dir := Object{Mode: 0o1777, UID: 0, GID: 0}
	mine := Object{UID: 5}
	for _, c := range []struct {
		uid   uint32
		admin bool
		want  bool
	}{{5, false, true}, {6, false, false}, {6, true, true}, {0, false, true}} {
		d := DecideRemove(hemera.Identity{UID: c.uid, GID: 77, Admin: c.admin}, dir, mine)
		if d.Allowed != c.want {
			t.Errorf("uid %d: got %+v", c.uid, d)
		}
	}
	if d := DecideRemove(hemera.Identity{UID: 6, GID: 77}, dir, mine); !strings.Contains(d.Rule, "sticky") {
		t.Errorf("the rule does not say why: %+v", d)
	}
}

func TestDecideOwner(t *testing.T) {
	o := Object{UID: 1, GID: 1}
	who := hemera.Identity{UID: 1, GID: 1, Groups: []uint32{7}}
	for _, c := range []struct {
		who      hemera.Identity
		uid, gid int64
		want     bool
	}{
		{who, -1, 7, true}, {who, 1, 7, true}, {who, 2, -1, false}, {who, -1, 8, false},
		{hemera.Identity{UID: 2, Groups: []uint32{7}}, -1, 7, false},
		{hemera.Identity{UID: 2, Admin: true}, 9, 9, true},
	} {
		if d := DecideOwner(c.who, o, c.uid, c.gid); d.Allowed != c.want {
			t.Errorf("%+v: got %+v", c, d)
		}
	}
}

// TestMoreBitsNeverTakeAway: within one class, an added bit never removes a right.
func TestMoreBitsNeverTakeAway(t *testing.T) {
	who := hemera.Identity{UID: 3, GID: 3}
	for mode := range uint32(8) {
		for extra := range uint32(8) {
			for a := Read; a <= ChangeAttributes; a++ {
				if Decide(who, Object{Mode: mode}, a).Allowed && !Decide(who, Object{Mode: mode | extra}, a).Allowed {
					t.Errorf("%s: %o allows, %o does not", a, mode, mode|extra)
				}
			}
		}
	}
}
