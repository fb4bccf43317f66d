package cluster

import "testing"

// FuzzTables: a store may hold any records, in any order; they are refused, or taken with all that they refer to missing.
func FuzzTables(f *testing.F) {
	f.Add([]byte(`{"ID": 1}`), []byte(`{"ID": 1, "Node": 1}`))
	f.Add([]byte(`{"Node": 1, "Disk": 7, "UUID": "a"}`), []byte(`[]`))
	f.Add([]byte(`null`), []byte(`{"Removed": true}`))
	kinds := []string{"node", "disk", "space", "attach", "removed", "key", "next", "history", "authority", "survey", "backup", "running", "rebuild", "later"}
	f.Fuzz(func(_ *testing.T, one, two []byte) {
		for _, first := range kinds {
			for _, second := range kinds {
				c := newTables()
				_ = c.decode(first+"/1", one)
				_ = c.decode(second+"/1", two)
			}
		}
	})
}
