package lint

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDocuments(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	decisions := read("docs/DECISIONS.md")
	bad := append(Modules(read("go.mod"), decisions), Skips(read("scripts/conformance-skips"), decisions)...)
	bad = append(bad, Pictures("../..")...)
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "docs/*/*/*.md", "*/DESIGN.md", "*/*/DESIGN.md", "*/*/*/DESIGN.md"} {
		names, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: no document (%v)", pattern, err)
		}
		for _, n := range names {
			n, _ = filepath.Rel("../..", n)
			n = filepath.ToSlash(n)
			bad = append(bad, References("../..", n, read(n))...)
			bad = append(bad, Lines(n, read(n))...)
			bad = append(bad, Paragraphs(n, read(n))...)
			if n != "docs/STYLE.md" { // it shows what not to write
				bad = append(bad, Prose(n, read(n))...)
			}
		}
	}
	for _, b := range bad {
		t.Error(b)
	}
}

func TestDocumentRulesCanFail(t *testing.T) {
	const goMod = "module x\n\nrequire (\n\ta.org/b v1.0.0\n\ta.org/c/v2 v2.0.0 // indirect\n\ta.org/d v0.1.0\n)\n"
	for table, want := range map[string]int{
		"| a.org/b, a.org/d | why |\n":                       0,
		"| a.org/b | why |\n":                                1,
		"| a.org/b, a.org/d |  |\n":                          2,
		"| a.org/b, a.org/d | why |\n| a.org/c/v2 | why |\n": 1,
		"| a.org/b, a.org/d | why |\n| a.org/gone | why |\n": 1,
	} {
		if bad := Modules(goMod, "\n## Modules\n"+table); len(bad) != want {
			t.Errorf("%q: %v, want %d", table, bad, want)
		}
	}
	if bad := Skips("# names\nopen.shows_at_once # visible at close\nother\n", "| open.shows_at_once | visible at close |"); len(bad) != 1 {
		t.Errorf("skips: %v", bad)
	}
	long := strings.Repeat("ä", 161)
	if bad := Lines("x.md", long+"\n"+long[:320]+"\n|"+long+"\n    "+long+"\n```\n"+long+"\n```\n"+long+"\n"); len(bad) != 2 || !strings.HasPrefix(bad[1], "x.md:8 ") {
		t.Errorf("lines: %v", bad)
	}
	root := t.TempDir()
	for name, text := range map[string]string{"docs/diagrams/a.dot": "a", "docs/diagrams/b.dot": "b", "docs/img/a.svg": fmt.Sprintf("<!-- sha256 %x -->", sha256.Sum256([]byte("a")))} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755), os.WriteFile(filepath.Join(root, name), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if bad := Pictures(root); len(bad) != 1 || !strings.Contains(bad[0], "b.svg") {
		t.Errorf("pictures: %v", bad)
	}
	if bad := Paragraphs("x.md", strings.Repeat("a\n", 7)+"\n"+strings.Repeat("- a\n", 9)+"\n```\n"+strings.Repeat("a\n", 9)+"```\n- b\n"+strings.Repeat("  a\n", 7)); len(bad) != 1 {
		t.Errorf("paragraphs: %v", bad)
	}
	if bad := Prose("x.md", "It begins anew.\n    Whoever\n```\nanew\n```\n"); len(bad) != 1 || !strings.HasPrefix(bad[0], "x.md:1: ") {
		t.Errorf("prose: %v", bad)
	}
	text := "[a](lint.md) [b](documents.go#x) [c](https://example.org/x.md) see test/lint/documents.go: References, " +
		"test/lint/sizes.go: References and test/lint/gone.go"
	if bad := References("../..", "test/lint/x.md", text); len(bad) != 3 {
		t.Errorf("references: %v", bad)
	}
}
