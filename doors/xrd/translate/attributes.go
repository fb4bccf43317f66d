package translate

import (
	"maps"
	"slices"
	"strings"

	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// UserPrefix is the stored prefix of attributes that clients name without a prefix.
const UserPrefix = "user."

// AttributeName returns the stored name for a client's name: "user.x" for "x", and "sys.x" for "sys.x".
func AttributeName(name string) string {
	if strings.HasPrefix(name, "sys.") {
		return name
	}
	return UserPrefix + name
}

// OfUser reports whether a client's name belongs to an attribute that only readers of the entry may see.
func OfUser(name string) bool { return strings.HasPrefix(AttributeName(name), UserPrefix) }

// ShownAttributes returns attributes under their names for clients. Attributes with the prefix sys. are included only if
// system is set: of files only the users' own attributes are shown, so that any user can copy all of them.
func ShownAttributes(all map[string][]byte, system bool) []wire.FattrResult {
	var list []wire.FattrResult
	for _, name := range slices.Sorted(maps.Keys(all)) { // in a fixed order, so that listings can be compared
		short, ok := strings.CutPrefix(name, UserPrefix) // clients get the name that they have set
		if ok || system && strings.HasPrefix(name, "sys.") {
			list = append(list, wire.FattrResult{Name: short, Value: all[name]})
		}
	}
	return list
}

// LookupAttributes returns the results of a get of the names.
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

// ApplyAttributes applies changes to the set known; a nil value removes an attribute. It keeps the values of changes
// without a copy.
func ApplyAttributes(known, changes map[string][]byte) {
	for name, value := range changes {
		if value == nil {
			delete(known, name)
		} else {
			known[name] = value
		}
	}
}

// ChecksumKind returns the kind with a client's name. It fails with a list of the known kinds.
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
