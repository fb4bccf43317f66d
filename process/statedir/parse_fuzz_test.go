package statedir

import (
	"os"
	"path/filepath"
	"testing"

	"hemera/words/tapeapi"
)

// FuzzParse: files of the state directory may have any content.
func FuzzParse(f *testing.F) {
	f.Add([]byte("00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n"))
	f.Add([]byte(`{"Version": 1, "Nodes": 1, "Disks": 2, "Grace": "1m0s"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := ParseTapeSecret(text); err == nil && len(s) != tapeapi.SecretSize {
			t.Errorf("a secret of %d bytes", len(s))
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, shapeFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, ok, err := LoadUpShape(dir); err == nil && (!ok || s.Nodes < 1 || s.Disks < s.Nodes || s.Grace <= 0) {
			t.Errorf("%+v", s)
		}
	})
}
