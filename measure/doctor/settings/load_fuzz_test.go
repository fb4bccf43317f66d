package settings

import (
	"os"
	"path/filepath"
	"testing"

	"hemera/words/errs"
)

// FuzzLoad: an undo file is a list, or Invalid.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`[{"path": "/sys/x", "before": "1", "after": "2"}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "undo")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := load(path); err != nil && errs.KindOf(err) != errs.Invalid {
			t.Error(err)
		}
	})
}
