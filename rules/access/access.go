// Package access is the rule of who may do what: identity, owner and mode bits in, a decision and
// the rule that made it out. It is pure; the caller finds the entries and acts on the answer.
//
// The rule is POSIX's (IEEE 1003.1, 4.7 File Access Permissions), with an admin role above it:
// exactly one class (owner, group, other) applies, the first that fits, and only its bits count.
package access

import (
	"fmt"
	"slices"
	"strings"

	"hemera/words/hemera"
)

// Action is what someone wants to do with one entry.
type Action uint8

// The actions. Those ending in In are asked of a directory about a name in it.
const (
	Read             Action = 1 + iota // read a file's content
	Write                              // give a file new content
	List                               // read a directory's names
	Traverse                           // go through a directory
	CreateIn                           // make a name in a directory
	DeleteIn                           // remove a name from a directory
	ChangeAttributes                   // change mode or times
)

// actionNames are for errors, in the order of the actions.
var actionNames = [...]string{"?", "read", "write", "list", "traverse", "create in", "delete in", "change attributes of"}

// String is the action in words.
func (a Action) String() string {
	if int(a) >= len(actionNames) {
		return actionNames[0]
	}
	return actionNames[a]
}

// needs are the mode bits (of one class) an action asks for. ChangeAttributes goes by ownership.
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

// Object is what the rule needs to know of an entry.
type Object struct {
	Mode     uint32
	UID, GID uint32
}

// Of takes an entry's part in the rule.
func Of(e hemera.Entry) Object { return Object{Mode: e.Mode, UID: e.UID, GID: e.GID} }

// Decision is the answer, and the rule that gave it, in words a user understands.
type Decision struct {
	Allowed bool
	Rule    string
}

// Decide says whether who may do the action on the object.
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

// Rights are the bits (read 4, write 2, execute 1) that the object gives who. An admin reads and writes all, and
// executes what anybody may.
func Rights(who hemera.Identity, o Object) uint32 {
	if who.Admin {
		return 6 | (o.Mode|o.Mode>>3|o.Mode>>6)&1
	}
	_, bits := classOf(who, o)
	return bits
}

// Attributes are those of the entry that who may see: the users' own need the right to read it, the system's
// do not. The entry's own map is returned where nothing is left out; it is not to be changed.
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

// DecideRemove says whether who may take the victim's name out of the directory: DeleteIn, and in a
// sticky directory the directory or the victim must be the caller's own.
func DecideRemove(who hemera.Identity, dir, victim Object) Decision {
	d := Decide(who, dir, DeleteIn)
	if !d.Allowed || who.Admin || dir.Mode&Sticky == 0 || who.UID == dir.UID || who.UID == victim.UID {
		return d
	}
	return Decision{false, fmt.Sprintf("the directory is sticky, and neither it (uid %d) nor the entry (uid %d) belongs to uid %d",
		dir.UID, victim.UID, who.UID)}
}

// DecideOwner says whether who may give the object to uid and gid; -1 leaves one as it is. Only the
// admin role changes the user; an owner may choose among the groups it is in.
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

// class is which of a mode's bits count.
type class string

const (
	owner class = "owner"
	group class = "group"
	other class = "other"
)

// rule is the rule that allowed something. It is asked at every step along a path: nothing is made.
func (c class) rule() string {
	switch c {
	case owner:
		return "owner bits of its mode"
	case group:
		return "group bits of its mode"
	}
	return "other bits of its mode"
}

// classOf returns the class that a user is in, and its three permission bits. POSIX uses the first class that fits: an owner
// whom the owner's bits refuse gets nothing from the group's. This is the one home of the rule.
func classOf(who hemera.Identity, o Object) (class, uint32) {
	switch {
	case who.UID == o.UID:
		return owner, o.Mode >> 6 & 7
	case inGroup(who, o.GID):
		return group, o.Mode >> 3 & 7
	}
	return other, o.Mode & 7
}

// inGroup reports whether a user has a group as the primary one or another.
func inGroup(who hemera.Identity, gid uint32) bool {
	return who.GID == gid || slices.Contains(who.Groups, gid)
}

// letters writes three permission bits as ls does.
func letters(bits uint32) string {
	out := []byte("---")
	for i, c := range []byte("rwx") {
		if bits&(4>>i) != 0 {
			out[i] = c
		}
	}
	return string(out)
}
