package energy_test

import (
	"os"
	"path/filepath"
	"testing"

	"hemera/measure/energy"
)

// FuzzReadPlan: the directory of a run may hold anything.
func FuzzReadPlan(f *testing.F) {
	f.Add([]byte(`{"meters": [{"file": "energy-power-a.csv"}]}`), []byte("time,watts\n2026-01-01T00:00:00Z,10\n"))
	f.Add([]byte(`{"meters": [{"file": "../energy-power-a.csv"}], "idle": [{}]}`), []byte("a\n"))
	f.Fuzz(func(t *testing.T, plan, log []byte) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "raw"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{"energy-plan.json": plan, "energy-power-a.csv": log} {
			if err := os.WriteFile(filepath.Join(dir, "raw", name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = energy.ReadPlan(dir)
	})
}
