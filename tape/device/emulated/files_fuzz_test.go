package emulated

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzFiles: the files of a library may hold anything.
func FuzzFiles(f *testing.F) {
	f.Add([]byte(`{"format": 1, "elements": []}`))
	f.Add([]byte(`{"faults": [{"op": "read", "at": 1}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		base := filepath.Join(t.TempDir(), "V00001L8")
		if err := os.WriteFile(base+".json", text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = readAttributes(base)
		_, _ = readPlan(base + ".json")
	})
}
