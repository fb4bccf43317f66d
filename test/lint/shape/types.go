package shape

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Type is a named struct of the tree.
type Type struct {
	Name    string // with its package, as "manager.Manager"
	Pos     token.Position
	Methods int    // of its pointer, with those of embedded fields
	Shell   string // the embedded pointer that is its only field, or ""
}

// Types returns the structs of the packages, largest method sets first. Types of tests are left out, and so are those that are declared
// within functions.
func Types(loaded []*packages.Package) (all []Type) {
	for _, p := range loaded {
		scope := p.Types.Scope()
		for _, name := range scope.Names() {
			o, ok := scope.Lookup(name).(*types.TypeName)
			if !ok || o.IsAlias() {
				continue
			}
			s, ok := o.Type().Underlying().(*types.Struct)
			pos := p.Fset.Position(o.Pos())
			if !ok || strings.HasSuffix(pos.Filename, "_test.go") {
				continue
			}
			all = append(all, Type{Name: p.Name + "." + name, Pos: pos, Methods: types.NewMethodSet(types.NewPointer(o.Type())).Len(), Shell: shell(p.Types, s)})
		}
	}
	slices.SortFunc(all, func(a, b Type) int { return cmp.Or(cmp.Compare(b.Methods, a.Methods), cmp.Compare(a.Name, b.Name)) })
	return all
}

// shell returns the name of the only field of a struct, where that is an embedded pointer to a struct of the same package.
func shell(p *types.Package, s *types.Struct) string {
	if s.NumFields() != 1 || !s.Field(0).Embedded() {
		return ""
	}
	pointer, ok := s.Field(0).Type().(*types.Pointer)
	if !ok {
		return ""
	}
	named, ok := pointer.Elem().(*types.Named)
	if !ok || named.Obj().Pkg() != p {
		return ""
	}
	return fmt.Sprintf("*%s", named.Obj().Name())
}
