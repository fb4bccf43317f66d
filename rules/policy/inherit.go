package policy

import (
	"iter"
	"slices"
	"strings"

	"hemera/words/hemera"
)

// An attribute acts with the rights of the user or admin who set it. If an admin sets it in a directory, it applies to
// everything below. If any other user sets it, it applies to entries of that user alone, and ends at the first directory
// below with another owner: users cannot control the entries of others. So a directory's entry records for each attribute
// with an effect who set it.

// userVersions is the attribute with which the owner of a directory keeps versions in it; package recycle reads it.
const userVersions = "user.versioning"

// Steers reports whether an attribute of a directory has an effect on entries in it. The system only stores other
// attributes.
func Steers(name string) bool {
	return strings.HasPrefix(name, "sys.") || strings.HasPrefix(name, "user.forced.") || name == userVersions
}

// Setting is the value of an attribute in one of several directories, given by its index.
type Setting struct {
	Dir   int
	Value []byte
	By    hemera.Setter
}

// setterOf returns who set an attribute of the directory. An earlier version did not record that: then the directory's
// owner counts.
func setterOf(dir *hemera.Entry, name string) hemera.Setter {
	if by, ok := dir.Setters[name]; ok {
		return by
	}
	return hemera.Setter{UID: dir.UID}
}

// Holding visits the values of an attribute that apply to entries of the owner in the last of dirs, from the nearest
// directory up. dirs begin at the root.
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

// Nearest returns the nearest value of an attribute that applies to entries of the owner in the last of dirs and is not
// empty.
func Nearest(dirs []*hemera.Entry, owner uint32, name string) (Setting, bool) {
	for s := range Holding(dirs, owner, name) {
		if len(s.Value) > 0 {
			return s, true
		}
	}
	return Setting{}, false
}

// InForce returns the attributes that apply to entries of the owner in the last of dirs: the sys.* ones of all
// directories, where the nearest wins, and the user.* ones of the last directory that have an effect. Usually there
// are none, and the maps are nil.
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

// OfAdmins returns the sys.* attributes in the last of dirs that apply to entries of every owner.
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
