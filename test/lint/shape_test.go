package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hemera/test/lint/locks"
)

// TestShape: method sets, shells and small packages of the whole tree.
func TestShape(t *testing.T) {
	for _, b := range Shape(tree(t)) {
		t.Error(b)
	}
}

func TestShapeIsFound(t *testing.T) {
	var wide strings.Builder
	wide.WriteString("// Package w is wide.\npackage w\n\ntype inner struct{ x int }\n\n// Outer embeds.\ntype Outer struct {\n\t*inner\n\ty int\n}\n\n")
	for i := range methodSetMax + 1 {
		fmt.Fprintf(&wide, "func (*inner) m%d() {}\n", i)
	}
	for _, test := range []struct {
		name  string
		files map[string]string
		want  []string // a part of each finding
	}{
		{"a method set counts what is embedded", map[string]string{"w/w.go": wide.String()}, []string{"w.Outer (w.go:7) has 61", "w.inner (w.go:4) has 61"}},
		{"a shell", map[string]string{"s/s.go": "package s\n\ntype inner struct{ x int }\n\ntype shell struct{ *inner }\n\nvar _ shell\n"}, []string{"s.shell (s.go:5) is nothing but an embedded *inner"}},
		{"a small package with one importer", map[string]string{"a/a.go": "package a\n\nimport _ \"m/b\"\n", "b/b.go": "// Package b is small.\npackage b\n"}, []string{"package m/b has 2 lines and only m/a"}},
		{"one that says why", map[string]string{"a/a.go": "package a\n\nimport _ \"m/b\"\n", "b/b.go": "// Package b is small. It is a package\n// of its own, as it is a test.\npackage b\n"}, nil},
		{"a small one with two importers", map[string]string{"a/a.go": "package a\n\nimport _ \"m/b\"\n", "b/b.go": "package b\n", "c/c.go": "package c\n\nimport _ \"m/b\"\n"}, nil},
	} {
		dir := t.TempDir()
		test.files["go.mod"] = "module m\n\ngo 1.26\n"
		for name, text := range test.files {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		loaded, err := locks.Load(dir, "./...")
		if err != nil {
			t.Fatal(err)
		}
		bad := Shape(loaded)
		for i, b := range bad {
			if len(bad) != len(test.want) || !strings.Contains(b, test.want[i]) {
				t.Errorf("%s: %q, want %q", test.name, bad, test.want)
			}
		}
		if len(bad) != len(test.want) {
			t.Errorf("%s: %d findings, want %d", test.name, len(bad), len(test.want))
		}
	}
}
