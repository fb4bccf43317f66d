package policy

import (
	"iter"
	"slices"
	"strings"

	"hemera/words/hemera"
)

// An attribute acts with the rights of the user or admin who set it. What an admin sets in a directory holds for everything
// below. What any other user sets holds for entries of that user alone, and ends at the first directory below that belongs
// to another: nobody steers what others own. So a directory's entry has, for each attribute that steers, who set it.

// userVersions is the attribute with which the owner of a directory has versions kept in it; package recycle reads it.
const userVersions = "user.versioning"

// Steers reports whether an attribute of a directory says what becomes of entries in it. Other attributes are notes
// of users, which the system only keeps.
func Steers(name string) bool {
	return strings.HasPrefix(name, "sys.") || strings.HasPrefix(name, "user.forced.") || name == userVersions
}

// Setting is the value of an attribute of one of several directories, that of an index.
type Setting struct {
	Dir   int
	Value []byte
	By    hemera.Setter
}

// setterOf returns who set an attribute of the directory. An earlier version did not note that: then it counts as set by
// the directory's owner.
func setterOf(dir *hemera.Entry, name string) hemera.Setter {
	if by, ok := dir.Setters[name]; ok {
		return by
	}
	return hemera.Setter{UID: dir.UID}
}

// Holding visits the values of an attribute that hold for entries of the owner in the last of dirs, from the nearest
// directory up. Dirs are those from the root down.
func Holding(dirs []*hemera.Entry, owner uint32, name string) iter.Seq[Setting] {
	return func(yield func(Setting) bool) {
		own := true // all directories from here down are the owner's
		for i, dir := range slices.Backward(dirs) {
			own = own && dir.UID == owner
			value, ok := dir.Xattrs[name]
			if !ok {
				continue
			}
			by := setterOf(dir, name)
			if (by.Admin || own && by.UID == owner) && !yield(Setting{i, value, by}) {
				return
			}
		}
	}
}

// Nearest returns the nearest value of an attribute that holds for entries of the owner in the last of dirs, and is not
// empty.
func Nearest(dirs []*hemera.Entry, owner uint32, name string) (Setting, bool) {
	for s := range Holding(dirs, owner, name) {
		if len(s.Value) > 0 {
			return s, true
		}
	}
	return Setting{}, false
}

// InForce returns the attributes that hold for entries of the owner in the last of dirs: the sys.* ones of all directories,
// where the nearest wins, and the user.* ones of the last directory that steer. Nil maps, the usual case, are empty.
func InForce(dirs []*hemera.Entry, owner uint32) Attributes {
	var a Attributes
	own := true
	for i, dir := range slices.Backward(dirs) {
		own = own && dir.UID == owner
		for name, value := range dir.Xattrs {
			to := &a.Sys
			if !strings.HasPrefix(name, "sys.") {
				if i != len(dirs)-1 || !Steers(name) {
					continue
				}
				to = &a.User
			}
			if _, nearer := (*to)[name]; nearer {
				continue
			}
			if by := setterOf(dir, name); by.Admin || own && by.UID == owner {
				if *to == nil {
					*to = make(map[string][]byte)
				}
				(*to)[name] = value
				a.OwnSpace = a.OwnSpace || !by.Admin && strings.HasSuffix(name, ".forced.space")
				a.OwnLayout = a.OwnLayout || !by.Admin && (strings.HasSuffix(name, ".forced.layout") || strings.HasSuffix(name, ".forced.nstripes"))
			}
		}
	}
	return a
}

// OfAdmins returns the sys.* attributes in the last of dirs that hold for entries of every owner.
func OfAdmins(dirs []*hemera.Entry) map[string][]byte {
	var out map[string][]byte
	for _, dir := range dirs {
		for name, value := range dir.Xattrs {
			if strings.HasPrefix(name, "sys.") && setterOf(dir, name).Admin {
				if out == nil {
					out = make(map[string][]byte)
				}
				out[name] = value
			}
		}
	}
	return out
}
