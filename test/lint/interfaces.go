package lint

import (
	"fmt"
	"go/ast"
)

// Interfaces names each interface with too many methods, those of embedded interfaces of the tree included.
// The sources are not type-checked; packages are found by the names under which a file imports them.
func Interfaces(files []*File) (bad []string) {
	declared := map[string]*ast.InterfaceType{} // by "directory.Name"
	for _, f := range files {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			// Interfaces within functions count as well.
			if s, ok := n.(*ast.TypeSpec); ok {
				if i, ok := s.Type.(*ast.InterfaceType); ok {
					declared[f.Package+"."+s.Name.Name] = i
				}
			}
			return true
		})
	}
	// count follows embedding into other packages of the tree. Interfaces of other modules count as none: their size is
	// not ours to choose.
	var count func(f *File, pkg string, i *ast.InterfaceType) int
	count = func(f *File, pkg string, i *ast.InterfaceType) (n int) {
		for _, m := range i.Methods.List {
			n += len(m.Names) // none for an embedded interface
			switch t := m.Type.(type) {
			case *ast.Ident: // embedded, of this package
				if e := declared[pkg+"."+t.Name]; e != nil {
					n += count(f, pkg, e)
				}
			case *ast.SelectorExpr: // embedded, of another package
				if p, ok := t.X.(*ast.Ident); ok {
					if dir, ok := f.imported(p.Name); ok && declared[dir+"."+t.Sel.Name] != nil {
						n += count(f, dir, declared[dir+"."+t.Sel.Name])
					}
				}
			}
		}
		return n
	}
	for _, f := range files {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if i, ok := n.(*ast.InterfaceType); ok {
				if got := count(f, f.Package, i); got > interfaceMethodsMax {
					bad = append(bad, fmt.Sprintf("%s: an interface has %d methods with those it embeds, the most is %d", f.at(n), got, interfaceMethodsMax))
				}
			}
			return true
		})
	}
	return bad
}

// receiverName returns the name of a method's type, without pointer and type parameters.
// It is "" for a form that no valid program has.
func receiverName(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	// A method's type may be a pointer to an instance of a generic type.
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
