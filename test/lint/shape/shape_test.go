package shape

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/tools/go/packages"
)

// load type-checks one package of files by their names.
func load(t *testing.T, files map[string]string) []*packages.Package {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module m\n\ngo 1.26\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
		packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps}, "./...")
	if err != nil || len(loaded) != 1 || len(loaded[0].Errors) > 0 {
		t.Fatal(err, loaded)
	}
	return loaded
}

func TestArrows(t *testing.T) {
	for _, test := range []struct {
		name   string
		files  map[string]string
		order  []string
		arrows int
		up     []string
	}{
		{name: "one way", files: map[string]string{
			"a.go": "package m\nfunc A() { B() }", "b.go": "package m\nfunc B() { c() }", "c.go": "package m\nfunc c() {}",
		}, order: []string{"a.go", "b.go", "c.go"}, arrows: 2},
		{name: "a circle has one arrow up", files: map[string]string{
			"a.go": "package m\nfunc A() { B() }", "b.go": "package m\nfunc B() { C() }", "c.go": "package m\nfunc C() { A() }",
		}, arrows: 3, up: []string{"a.go"}},
		{name: "fields and methods count, the receiver does not", files: map[string]string{
			"a.go": "package m\ntype T struct { x int }", "b.go": "package m\nfunc (t *T) m() {}", "c.go": "package m\nfunc (t *T) n() int { t.m(); return t.x }",
		}, arrows: 2},
		{name: "tests do not count", files: map[string]string{
			"a.go": "package m\nfunc A() {}", "a_test.go": "package m\nfunc b() { A() }",
		}, order: []string{"a.go"}},
	} {
		o := Arrows(load(t, test.files)[0])
		if test.order != nil && !slices.Equal(o.Files, test.order) || len(o.Arrows) != test.arrows || len(o.Up) != len(test.up) {
			t.Errorf("%s: %v", test.name, o)
		}
	}
}

func TestTypes(t *testing.T) {
	got := Types(load(t, map[string]string{"a.go": `package m
type inner struct { x int }
func (*inner) A() {}
func (inner) B() {}
type shell struct { *inner }
type outer struct { *inner; y int }
func (outer) C() {}
`}))
	want := map[string]Type{"m.inner": {Methods: 2}, "m.shell": {Methods: 2, Shell: "*inner"}, "m.outer": {Methods: 3}}
	if len(got) != len(want) || got[0].Name != "m.outer" {
		t.Fatal(got)
	}
	for _, g := range got {
		if w := want[g.Name]; w.Methods != g.Methods || w.Shell != g.Shell {
			t.Errorf("%+v", g)
		}
	}
}

func TestPackages(t *testing.T) {
	got := Packages(load(t, map[string]string{"a.go": "// Package m is small.\npackage m\n", "b.go": "package m\n\n"}))
	if len(got) != 1 || got[0].Lines < 3 || got[0].Doc != "Package m is small.\n" || got[0].Importers != nil {
		t.Fatalf("%+v", got)
	}
}
