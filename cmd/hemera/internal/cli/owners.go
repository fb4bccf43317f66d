package cli

import (
	"os/user"
	"strconv"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// NameOf returns this machine's name for an id, or the number. The manager knows only numbers. Two machines may have
// different names for one number.
func NameOf(id uint32, numeric bool, lookup func(string) (string, error)) string {
	if id == hemera.QuotaDefault {
		return "default"
	}
	digits := strconv.FormatUint(uint64(id), 10)
	// An unknown name is shown as its number.
	if !numeric {
		if name, err := lookup(digits); err == nil {
			return name
		}
	}
	return digits
}

// UserName returns this machine's name for the number of a user.
func UserName(id string) (string, error) {
	u, err := user.LookupId(id)
	if err != nil {
		return "", err
	}
	return u.Username, nil
}

// GroupName returns this machine's name for the number of a group.
func GroupName(id string) (string, error) {
	g, err := user.LookupGroupId(id)
	if err != nil {
		return "", err
	}
	return g.Name, nil
}

// Owners caches the names of ids for one listing, which has few different ones. Without it a listing of a million files
// would make two million queries to the system's database. It is not safe for concurrent use.
type Owners map[ownerKey]string

// ownerKey is the key of an Owners cache: a user and a group may have the same number.
type ownerKey struct {
	kind string // "owner" or "group"
	id   uint32 // uid or gid
}

// Name returns the name of an id, which lookup finds at its first use. kind distinguishes users and groups.
func (o Owners) Name(kind string, id uint32, lookup func(string) (string, error)) string {
	key := ownerKey{kind, id}
	name, ok := o[key]
	if !ok {
		name = NameOf(id, false, lookup)
		o[key] = name
	}
	return name
}

// LookupUser returns this machine's number for the name of a user.
func LookupUser(name string) (string, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return "", err
	}
	return u.Uid, nil
}

// LookupGroup returns this machine's number for the name of a group.
func LookupGroup(name string) (string, error) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return "", err
	}
	return g.Gid, nil
}

// ParseID parses the number of a user or group, or its name, which lookup resolves. It returns -1 for an empty text. It
// fails with Invalid for a name that this machine does not know. A text of digits is always a number, as in chown(1).
func ParseID(s string, lookup func(string) (string, error)) (int64, error) {
	if s == "" {
		return -1, nil
	}
	id, err := strconv.ParseUint(s, 10, 32)
	if err == nil {
		return int64(id), nil
	}
	found, err := lookup(s)
	if err != nil {
		return 0, Usage(errs.New(errs.Invalid, "hemera.ReadOwner", s, "this machine does not know the name").WithRemedy("give its number"))
	}
	return strconv.ParseInt(found, 10, 64)
}
