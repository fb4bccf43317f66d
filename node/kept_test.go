package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeptFiles checks that records are loaded as they were saved, and that other files are ignored.
func TestKeptFiles(t *testing.T) {
	k := keptFiles{filepath.Join(t.TempDir(), "kept")}
	check := func(want ...string) {
		t.Helper()
		got, err := k.Load()
		if err != nil || len(got) != len(want) {
			t.Fatalf("%q, %v; want %q", got, err, want)
		}
		for _, name := range want {
			if string(got[name]) != "record "+name {
				t.Errorf("%s: %q", name, got[name])
			}
		}
	}
	check()
	for _, text := range []string{"earlier", "record a"} {
		if err := k.Save("a", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Save("b", []byte("record b")); err != nil {
		t.Fatal(err)
	}
	check("a", "b")
	for name, text := range map[string]string{"c.json.new": "cut short", "other": "", "large.json": strings.Repeat(" ", keptFileMax+1)} {
		if err := os.WriteFile(filepath.Join(k.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(k.dir, "dir.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	check("a", "b")
	for range 2 {
		if err := k.Remove("a"); err != nil {
			t.Fatal(err)
		}
	}
	check("b")
}
