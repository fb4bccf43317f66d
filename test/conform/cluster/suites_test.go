package cluster

import (
	"testing"

	"hemera/test/conform/service"
	"hemera/words/hemera"
)

// TestControlSuite runs the suite through the rpc client and server, as a node that joined.
func TestControlSuite(t *testing.T) {
	service.Control(t, func(t *testing.T) service.ControlOptions {
		r := startManager(t).rogue()
		return service.ControlOptions{Control: r.Client, Node: r.credentials.Node(), Context: (*testing.T).Context}
	})
}

// TestFilesSuite runs the suite with a manager whose nodes store what is written.
func TestFilesSuite(t *testing.T) {
	r := start(t, t.TempDir(), 2, 2)
	service.Files(t, func(t *testing.T) service.FilesOptions {
		dir := "/" + t.Name()
		if _, err := r.up.Manager.Names.Mkdir(t.Context(), hemera.SystemIdentity(), dir, 0o777, true); err != nil {
			t.Fatal(err)
		}
		bob := hemera.Identity{Name: "bob", UID: 1001, GID: 100, Host: "laptop"}
		return service.FilesOptions{
			Files: r.up.Manager.Files, Names: r.up.Manager.Names, Who: hemera.Identity{Name: "alice", UID: 1000, GID: 100, Host: "laptop"},
			Other: bob, Barred: bob, Dir: dir, End: service.AtNode(func(id hemera.NodeID) hemera.Node { return r.up.Nodes[id-1] }),
		}
	})
}
