package lint

import (
	"fmt"
	"go/ast"
	"sort"
)

// Docs names each package and exported name without a doc comment. A comment over a group of
// constants or variables speaks for all of it.
func Docs(files []*File) (bad []string) {
	documented := map[string]bool{} // packages with a doc comment in any of their files
	packages := map[string]bool{}   // all packages that are more than tests
	for _, f := range files {
		if f.Test {
			continue
		}
		packages[f.Package] = true
		if f.AST.Doc != nil {
			documented[f.Package] = true
		}
		for _, d := range f.AST.Decls {
			bad = append(bad, f.undocumented(d)...)
		}
	}
	// One file of a package is enough.
	for p := range packages {
		if !documented[p] {
			bad = append(bad, fmt.Sprintf("package %s has no doc comment", p))
		}
	}
	sort.Strings(bad)
	return bad
}

// undocumented names what a declaration exports without a comment. Of a group, the comment over the group is enough, or
// one behind a constant: lists of error codes would not gain from a comment on each.
func (f *File) undocumented(d ast.Decl) (bad []string) {
	report := func(n ast.Node, name string) {
		bad = append(bad, fmt.Sprintf("%s: %s has no doc comment", f.at(n), name))
	}
	// Imports have nothing to say, and function literals have no names.
	switch d := d.(type) {
	case *ast.FuncDecl:
		// A method counts if its type is exported.
		if d.Doc == nil && d.Name.IsExported() && receiverExported(d) && !wellKnown[d.Name.Name] {
			report(d, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
					report(s, s.Name.Name)
				}
			case *ast.ValueSpec:
				// A comment behind a constant says as much as one above it.
				for _, name := range s.Names {
					if name.IsExported() && s.Doc == nil && d.Doc == nil && s.Comment == nil {
						report(s, name.Name)
					}
				}
			}
		}
	}
	return bad
}

// wellKnown are methods of the standard library's interfaces, whose contract is known.
var wellKnown = map[string]bool{
	"Error": true, "Unwrap": true, "String": true, "Len": true, "Less": true, "Swap": true, "Write": true, "Read": true, "Close": true,
	"MarshalText": true, "UnmarshalText": true, "Format": true, "LogValue": true,
}

// receiverExported reports whether a reader of the package's documentation sees the method at all.
func receiverExported(d *ast.FuncDecl) bool { return d.Recv == nil || ast.IsExported(receiverName(d)) }
