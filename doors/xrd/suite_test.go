package xrd

import (
	"testing"

	"hemera/test/conform/service"
	"hemera/words/hemera"
)

// TestMemoryIsLikeAManager runs the suites of a manager on the memory of this package's tests.
func TestMemoryIsLikeAManager(t *testing.T) {
	make := func(t *testing.T) *memory {
		m := newMemory()
		m.addr = "node:1095"
		if _, err := m.Mkdir(t.Context(), tester, "/suite", 0o777, false); err != nil {
			t.Fatal(err)
		}
		return m
	}
	service.Names(t, func(t *testing.T) service.NamesOptions {
		m := make(t)
		return service.NamesOptions{Names: m, Who: tester, Dir: "/suite", MakeFile: func(_ *testing.T, path string) { m.put(path, "") }}
	})
	service.Files(t, func(t *testing.T) service.FilesOptions {
		m := make(t)
		return service.FilesOptions{
			Files: memoryFiles{m}, Names: m, Who: tester, Other: hemera.Identity{Name: "other", UID: 1001}, Barred: hemera.Identity{UID: hemera.NobodyID},
			Dir: "/suite", AlwaysUnchanged: true, End: service.AtNode(func(hemera.NodeID) hemera.Node { return m }),
		}
	})
}
