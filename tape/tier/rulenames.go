package tier

import (
	"os/user"
	"strconv"

	"hemera/tape/tapeconfig"
)

// lookUpNames looks up the users and groups that mount rules name. It reads files of the machine.
func lookUpNames(rules map[string]tapeconfig.Rule) tapeconfig.RuleNames {
	n := tapeconfig.RuleNames{Users: map[uint32]string{}, Groups: map[uint32]string{}}
	for _, r := range rules {
		if r.Requester != "" && r.Requester != tapeconfig.DefaultName {
			noteName(n.Users, r.Requester, func(name string) (string, error) {
				u, err := user.Lookup(name)
				if err != nil {
					return "", err
				}
				return u.Uid, nil
			})
		}
		if r.Group != "" {
			noteName(n.Groups, r.Group, func(name string) (string, error) {
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

// noteName adds a name. Where the machine does not know it and it is a number, it
// is that of a user or group which another rule may have by name.
func noteName(to map[uint32]string, name string, lookup func(string) (string, error)) {
	number, err := lookup(name)
	if err != nil {
		number = name
	}
	id, bad := strconv.ParseUint(number, 10, 32)
	if _, there := to[uint32(id)]; bad == nil && (err == nil || !there) {
		to[uint32(id)] = name
	}
}
