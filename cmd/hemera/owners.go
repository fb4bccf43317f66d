package main

import (
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
