package translate

import (
	"maps"
	"slices"
	"strings"

	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// UserPrefix is the part of the attributes' namespace that clients name without prefix.
const UserPrefix = "user."

// AttributeName is the stored name of a client's: "x" is "user.x", "sys.x" is itself.
func AttributeName(name string) string {
	if strings.HasPrefix(name, "sys.") {
		return name
	}
	return UserPrefix + name
}

// OfUser reports whether a client's name is of an attribute that only readers of the entry may see.
func OfUser(name string) bool { return strings.HasPrefix(AttributeName(name), UserPrefix) }

// ShownAttributes lists attributes under the names clients use for them. Of files only the users'
// own are shown, so that a copy of all of them can be made by anyone.
func ShownAttributes(all map[string][]byte, system bool) []wire.FattrResult {
	var list []wire.FattrResult
	for _, name := range slices.Sorted(maps.Keys(all)) { // in a fixed order, so that listings can be compared
		short, ok := strings.CutPrefix(name, UserPrefix) // clients get the name that they set
		if ok || system && strings.HasPrefix(name, "sys.") {
			list = append(list, wire.FattrResult{Name: short, Value: all[name]})
		}
	}
	return list
}

// LookupAttributes answers a get from a set of attributes.
func LookupAttributes(all map[string][]byte, names []string) []wire.FattrResult {
	results := make([]wire.FattrResult, len(names))
	for i, name := range names {
		value, ok := all[AttributeName(name)]
		results[i] = wire.FattrResult{Name: name, Value: value} // under the client's name, not the stored one
		if !ok {
			results[i].Code = wire.AttrNotFound
		}
	}
	return results
}

// ApplyAttributes makes changes to a set of attributes; a nil value removes one.
// It changes known, and keeps the values of changes.
func ApplyAttributes(known, changes map[string][]byte) {
	for name, value := range changes {
		if value == nil {
			delete(known, name)
		} else {
			known[name] = value
		}
	}
}

// ChecksumKind is the kind a client names, or the failure that says which are known.
func ChecksumKind(name string) (hemera.ChecksumKind, error) {
	if name == "" || name == "default" {
		return hemera.ChecksumNone, nil
	}
	k, err := hemera.ParseChecksumKind(name)
	if err != nil || k == hemera.ChecksumNone {
		var known []string
		for _, k := range hemera.ChecksumKinds() {
			known = append(known, k.String())
		}
		return 0, errs.New(errs.Unsupported, "xrd.Checksum", name, "checksum not supported").
			WithRemedy("ask for one of " + strings.Join(known, ", "))
	}
	return k, nil
}
