// Package rulenames looks up the users and groups that mount rules of tape name: rules have names, requests have numbers.
package rulenames

import (
	"os/user"
	"strconv"

	"hemera/tape/tapeconfig"
)

// Names are the users and groups of mount rules by number.
type Names struct{ Users, Groups map[uint32]string }

// In looks up the names in rules. It reads files of the machine.
func In(rules map[string]tapeconfig.Rule) Names {
	n := Names{map[uint32]string{}, map[uint32]string{}}
	for _, r := range rules {
		if r.Requester != "" && r.Requester != tapeconfig.DefaultName {
			note(n.Users, r.Requester, func(name string) (string, error) {
				u, err := user.Lookup(name)
				if err != nil {
					return "", err
				}
				return u.Uid, nil
			})
		}
		if r.Group != "" {
			note(n.Groups, r.Group, func(name string) (string, error) {
				g, err := user.LookupGroup(name)
				if err != nil {
					return "", err
				}
				return g.Gid, nil
			})
		}
	}
	return n
}

// note adds a name. Where the machine does not know it and it is a number, it
// is that of a user or group which another rule may have by name.
func note(to map[uint32]string, name string, lookup func(string) (string, error)) {
	number, err := lookup(name)
	if err != nil {
		number = name
	}
	id, bad := strconv.ParseUint(number, 10, 32)
	if _, there := to[uint32(id)]; bad == nil && (err == nil || !there) {
		to[uint32(id)] = name
	}
}
