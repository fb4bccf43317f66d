package node

import (
	"os"
	"path/filepath"
	"testing"

	"hemera/words/errs"
)

// FuzzState checks that node.json is either read again as it is saved, or Invalid with a remedy.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"id": 1, "disks": [{"path": "/d//1", "uuid": "a", "id": 2}, {"path": "/d/2", "uuid": "a"}], "running": true}`))
	f.Add([]byte(`{"disks": null}`))
	f.Add([]byte(`{"disks": [{"path": "/d"}]}`))
	f.Add([]byte(`{"id": -1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "node.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := openState(dir)
		if err != nil {
			if errs.KindOf(err) != errs.Invalid || errs.RemedyOf(err) == "" {
				t.Error(err)
			}
			return
		}
		saved, err := s.text()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.write(saved); err != nil {
			t.Fatal(err)
		}
		again, err := openState(dir)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := again.text(); err != nil || string(back) != string(saved) {
			t.Errorf("%s is saved as\n%s, %v", saved, back, err)
		}
	})
}
