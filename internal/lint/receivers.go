package lint

import (
	"fmt"
	"go/ast"
	"sort"
)

// A type that a reader can hold in mind: its methods on a page or two of documentation, told in a few files.
const (
	receiverMethodsMax = 30   // exported or not
	receiverFilesMax   = 5    // as many as a reader can have open
	packageLinesMax    = 6000 // without tests
)

// Receivers names each type with too many methods or with methods in too many files, and each package with too many
// lines. Tests do not count: they may add helpers to the types that they test.
func Receivers(files []*File) (bad []string) {
	type receiver struct {
		methods int
		files   map[string]bool
	}
	receivers := map[string]*receiver{}
	lines := map[string]int{} // by package
	for _, f := range files {
		if f.Test {
			continue
		}
		lines[f.Package] += f.Lines
		for _, d := range f.AST.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil {
				continue
			}
			name := f.Package + "." + receiverName(fn) // two packages may have types of one name
			if receivers[name] == nil {
				receivers[name] = &receiver{files: map[string]bool{}}
			}
			receivers[name].methods++
			receivers[name].files[f.Path] = true // a set: several methods may be in a file
		}
	}
	// Methods of embedded types belong to those.
	for name, r := range receivers {
		if r.methods > receiverMethodsMax || len(r.files) > receiverFilesMax {
			bad = append(bad, fmt.Sprintf("%s has %d methods in %d files, the most is %d in %d: give some of its work to a type of its own",
				name, r.methods, len(r.files), receiverMethodsMax, receiverFilesMax))
		}
	}
	for p, n := range lines {
		if n > packageLinesMax {
			bad = append(bad, fmt.Sprintf("package %s has %d lines, the most is %d", p, n, packageLinesMax))
		}
	}
	sort.Strings(bad)
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
