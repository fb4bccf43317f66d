// Package access decides who may do what. Its input is an identity, an owner and mode bits; its output is a decision and
// the rule that made it. It is pure: the caller finds the entries and acts on the answer.
//
// The rule is POSIX's (IEEE 1003.1, 4.7 File Access Permissions), with an admin role above it: exactly one class (owner,
// group, other) applies, the first that fits, and only its bits count.
package access

import (
	"fmt"
	"slices"
	"strings"

	"hemera/words/hemera"
)

// Action is an operation on one entry that needs permission.
type Action uint8

// The actions. Those that end in In apply to a directory and a name in it.
const (
	Read             Action = 1 + iota // read a file's content
	Write                              // give a file new content
	List                               // read a directory's names
	Traverse                           // go through a directory
	CreateIn                           // make a name in a directory
	DeleteIn                           // remove a name from a directory
	ChangeAttributes                   // change mode or times
)

// actionNames has the words for errors, in the order of the actions.
var actionNames = [...]string{"?", "read", "write", "list", "traverse", "create in", "delete in", "change attributes of"}

// String returns the action in words.
func (a Action) String() string {
	if int(a) >= len(actionNames) {
		return actionNames[0]
	}
	return actionNames[a]
}

// needs returns the mode bits (of one class) that an action requires. ChangeAttributes requires ownership instead.
func (a Action) needs() uint32 {
	switch a {
	case Read, List:
		return 4
	case Write:
		return 2
	case Traverse:
		return 1
	case CreateIn, DeleteIn:
		return 3
	}
	return 0
}

// Sticky is the mode bit of a directory in which only owners may remove names.
const Sticky = 0o1000

// Object has the fields of an entry on which access depends.
type Object struct {
	Mode     uint32
	UID, GID uint32
}

// Of returns the fields of e on which access depends.
func Of(e hemera.Entry) Object { return Object{Mode: e.Mode, UID: e.UID, GID: e.GID} }

// Decision is the answer, and the rule that led to it, in words that a user understands.
type Decision struct {
	Allowed bool
	Rule    string
}

// Decide decides whether the user may do the action on the object.
func Decide(who hemera.Identity, o Object, a Action) Decision {
	if who.Admin {
		return Decision{true, "the admin role may do anything"}
	}
	if a == ChangeAttributes {
		if who.UID == o.UID {
			return Decision{true, fmt.Sprintf("uid %d owns it", who.UID)}
		}
		return Decision{false, fmt.Sprintf("only its owner, uid %d, may; the caller is uid %d", o.UID, who.UID)}
	}
	class, bits := classOf(who, o)
	need := a.needs()
	if need != 0 && bits&need == need {
		return Decision{true, class.rule()}
	}
	rule := fmt.Sprintf("mode %04o of uid %d gid %d gives %s (uid %d gid %d) %s, and to %s it takes %s",
		o.Mode, o.UID, o.GID, class, who.UID, who.GID, letters(bits), a, letters(need))
	if mapped := who.Mapped(); mapped != "" {
		rule += "; " + mapped
	}
	return Decision{false, rule}
}

// Rights returns the permission bits (read 4, write 2, execute 1) that the user has on the object. An admin reads and
// writes all, and executes what at least one class may execute.
func Rights(who hemera.Identity, o Object) uint32 {
	if who.Admin {
		return 6 | (o.Mode|o.Mode>>3|o.Mode>>6)&1
	}
	_, bits := classOf(who, o)
	return bits
}

// Attributes returns the extended attributes of the entry that the user may see. Those of users (user.*) need the right
// to read the entry, the system's do not. If nothing is left out, the result is the entry's own map: the caller must not
// change it.
func Attributes(who hemera.Identity, e *hemera.Entry) map[string][]byte {
	if len(e.Xattrs) == 0 || Rights(who, Of(*e))&4 != 0 {
		return e.Xattrs
	}
	seen := map[string][]byte{}
	for name, value := range e.Xattrs {
		if !strings.HasPrefix(name, "user.") {
			seen[name] = value
		}
	}
	return seen
}

// DecideRemove decides whether the user may remove the victim's name from the directory. This needs DeleteIn; in a sticky
// directory, the user must also own the directory or the victim.
func DecideRemove(who hemera.Identity, dir, victim Object) Decision {
	d := Decide(who, dir, DeleteIn)
	if !d.Allowed || who.Admin || dir.Mode&Sticky == 0 || who.UID == dir.UID || who.UID == victim.UID {
		return d
	}
	return Decision{false, fmt.Sprintf("the directory is sticky, and neither it (uid %d) nor the entry (uid %d) belongs to uid %d",
		dir.UID, victim.UID, who.UID)}
}

// DecideOwner decides whether the user may give the object to uid and gid; -1 leaves one as it is. Only the admin role
// changes the user; an owner may choose among the groups that it is in.
func DecideOwner(who hemera.Identity, o Object, uid, gid int64) Decision {
	switch {
	case who.Admin:
		return Decision{true, "the admin role may do anything"}
	case uid >= 0 && uid != int64(o.UID):
		return Decision{false, "only the admin role may change the owner"}
	case who.UID != o.UID:
		return Decision{false, fmt.Sprintf("only its owner, uid %d, may change the group", o.UID)}
	case gid >= 0 && gid != int64(o.GID) && !inGroup(who, uint32(gid)):
		return Decision{false, fmt.Sprintf("uid %d is not in group %d", who.UID, gid)}
	}
	return Decision{true, "an owner may choose among its groups"}
}

// class names the bits of a mode that apply to a user.
type class string

const (
	owner class = "owner"
	group class = "group"
	other class = "other"
)

// rule returns the rule in words. Access asks for it at every step along a path, so it does not allocate.
func (c class) rule() string {
	switch c {
	case owner:
		return "owner bits of its mode"
	case group:
		return "group bits of its mode"
	}
	return "other bits of its mode"
}

// classOf returns the class of a user, and the three permission bits of that class. POSIX uses the first class that fits:
// an owner whom the owner's bits refuse gets nothing from the group's bits.
func classOf(who hemera.Identity, o Object) (class, uint32) {
	switch {
	case who.UID == o.UID:
		return owner, o.Mode >> 6 & 7
	case inGroup(who, o.GID):
		return group, o.Mode >> 3 & 7
	}
	return other, o.Mode & 7
}

// inGroup reports whether a group is the user's primary group or one of the others.
func inGroup(who hemera.Identity, gid uint32) bool {
	return who.GID == gid || slices.Contains(who.Groups, gid)
}

// letters formats three permission bits as ls does.
func letters(bits uint32) string {
	out := []byte("---")
	for i, c := range []byte("rwx") {
		if bits&(4>>i) != 0 {
			out[i] = c
		}
	}
	return string(out)
}
