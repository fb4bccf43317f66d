package xrd

import (
	"testing"

	"hemera"
	"hemera/test/conform/service"
)

// TestMemoryIsLikeAManager: what stands for a manager in the tests of this door passes the suite of one.
func TestMemoryIsLikeAManager(t *testing.T) {
	service.Names(t, func(t *testing.T) service.NamesOptions {
		m := newMemory()
		who := hemera.SystemIdentity()
		if _, err := m.Mkdir(t.Context(), who, "/suite", 0o755, false); err != nil {
			t.Fatal(err)
		}
		return service.NamesOptions{Names: m, Who: who, Dir: "/suite", MakeFile: func(t *testing.T, path string) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.entries[path] = &memoryEntry{Entry: m.entry(path, hemera.KindFile, 0o644)}
		}}
	})
}
