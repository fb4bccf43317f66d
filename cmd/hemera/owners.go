package main

import (
	"hemera/errs"

	"os/user"
	"strconv"

	"hemera"
)

// nameOf is the name this machine knows for an id, or its number.
func nameOf(id uint32, numeric bool, lookup func(string) (string, error)) string {
	if id == hemera.QuotaDefault {
		return "default"
	}
	digits := strconv.FormatUint(uint64(id), 10)
	if !numeric {
		if name, err := lookup(digits); err == nil {
			return name
		}
	}
	return digits
}

func userName(id string) (string, error) {
	u, err := user.LookupId(id)
	if err != nil {
		return "", err
	}
	return u.Username, nil
}

func groupName(id string) (string, error) {
	g, err := user.LookupGroupId(id)
	if err != nil {
		return "", err
	}
	return g.Name, nil
}

// owners remembers the names of ids: a listing asks for the same few again and again.
type owners map[ownerKey]string

type ownerKey struct {
	kind string
	id   uint32
}

func (o owners) name(kind string, id uint32, lookup func(string) (string, error)) string {
	key := ownerKey{kind, id}
	name, ok := o[key]
	if !ok {
		name = nameOf(id, false, lookup)
		o[key] = name
	}
	return name
}

func lookupUser(name string) (string, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return "", err
	}
	return u.Uid, nil
}

func lookupGroup(name string) (string, error) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return "", err
	}
	return g.Gid, nil
}

func parseID(s string, lookup func(string) (string, error)) (int64, error) {
	if s == "" {
		return -1, nil
	}
	id, err := strconv.ParseUint(s, 10, 32)
	if err == nil {
		return int64(id), nil
	}
	found, err := lookup(s)
	if err != nil {
		return 0, usage(errs.New(errs.Invalid, "read owner", s, "this machine does not know the name").WithRemedy("give its number"))
	}
	return strconv.ParseInt(found, 10, 64)
}
