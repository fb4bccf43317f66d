package shape

import (
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Package is the size of a package and who imports it. Tests are left out of both.
type Package struct {
	Path      string
	Name      string
	Lines     int      // of all its files
	Importers []string // paths, sorted
	Doc       string   // the package comment
}

// Packages returns the packages in the order in which they were loaded.
func Packages(loaded []*packages.Package) (all []Package) {
	importers := map[string][]string{}
	for _, p := range loaded {
		for path := range p.Imports {
			importers[path] = append(importers[path], p.PkgPath)
		}
	}
	for _, p := range loaded {
		next := Package{Path: p.PkgPath, Name: p.Name, Importers: slices.Sorted(slices.Values(importers[p.PkgPath]))}
		for _, f := range p.Syntax {
			file := p.Fset.File(f.Package)
			if strings.HasSuffix(filepath.Base(file.Name()), "_test.go") {
				continue
			}
			next.Lines += file.LineCount()
			if f.Doc != nil {
				next.Doc += f.Doc.Text()
			}
		}
		all = append(all, next)
	}
	return all
}
