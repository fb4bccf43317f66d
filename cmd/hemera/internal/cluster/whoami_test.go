package cluster

import (
	"strings"
	"testing"

	"hemera/words/hemera"
)

// TestWhoamiSaysWhy: whoami tells each kind of caller its identity, and a caller without a name the reason.
func TestWhoamiSaysWhy(t *testing.T) {
	nobody := hemera.Identity{Name: "nobody", UID: hemera.NobodyID, GID: hemera.NobodyID, Host: "10.99.0.6"}
	as := func(protocol, name string) hemera.Identity {
		who := nobody
		who.Protocol, who.Name = protocol, name
		return who
	}
	asRoot, number, itself := as("unix", "nobody"), as("unix", "7777"), as("unix", "nobody")
	itself.Claimed = "nobody"
	asRoot.Claimed, number.Claimed, number.UID = "root", "dave", 7777
	for want, who := range map[string]hemera.Identity{
		"you are nobody (uid 65534, gid 65534), from 10.99.0.6: root and the server's own user of other machines are nobody here": as("unix", "nobody"),
		"you are nobody (uid 65534, gid 65534), from 10.99.0.6: your client said root, and root and the server's own user":        asRoot,
		"you are nobody (uid 65534, gid 65534), from 10.99.0.6: your client said nobody (unix)":                                   itself,
		"you are 7777 (uid 7777, gid 65534), from 10.99.0.6: your client said dave, an account":                                   number,
		"you are nobody (uid 65534, gid 65534), from 10.99.0.6: this connection proved no name":                                   as("host", "nobody"),
		"you are bob (uid 65534, gid 65534), from 10.99.0.6: the manager's machine has no account":                                as("unix", "bob"),
		"you are ann (uid 7, gid 8, groups 8,9): your client said the name":                                                       {Name: "ann", UID: 7, GID: 8, Groups: []uint32{8, 9}, Protocol: "unix"},
		"you are root (uid 0, gid 0), an admin, from localhost: you own this end of the connection":                               {Name: "root", Admin: true, Protocol: "socket", Host: "localhost"},
	} {
		if got := whoamiText(who); !strings.HasPrefix(got, want) {
			t.Errorf("it says %q, not %q", got, want)
		}
	}
}
