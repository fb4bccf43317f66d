package shape

import (
	"cmp"
	"go/ast"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Arrow says that file From uses what file To declares. Both are base names of files of one package.
type Arrow struct {
	From, To string
	Names    []string // what is used, sorted
}

// Order is the files of a package from the top down, and the arrows between them.
type Order struct {
	Files  []string
	Arrows []Arrow // by From, then To
	Up     []Arrow // those of them that run against the order of Files
}

// Share returns the part of the arrows that runs up, from 0 to 1.
func (o Order) Share() float64 {
	if len(o.Arrows) == 0 {
		return 0
	}
	return float64(len(o.Up)) / float64(len(o.Arrows))
}

// Arrows returns the arrows between the files of a package, tests left out. The doc comment's file counts where it declares something.
// Files of other systems and architectures than those of the packages that were loaded are not seen.
func Arrows(p *packages.Package) Order {
	declared := map[types.Object]string{}
	files := map[string]bool{}
	base := func(f *ast.File) string { return filepath.Base(p.Fset.Position(f.Package).Filename) }
	for _, f := range p.Syntax {
		name := base(f)
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files[name] = true
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if o := p.TypesInfo.Defs[id]; o != nil && shared(o) {
					declared[o] = name
				}
			}
			return true
		})
	}
	uses := map[[2]string]map[string]bool{}
	for _, f := range p.Syntax {
		name := base(f)
		if !files[name] {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			o := p.TypesInfo.Uses[id]
			if o == nil {
				return true
			}
			if to := declared[origin(o)]; to != "" && to != name && !receiver(f, id) {
				key := [2]string{name, to}
				if uses[key] == nil {
					uses[key] = map[string]bool{}
				}
				uses[key][id.Name] = true
			}
			return true
		})
	}
	var order Order
	for key, names := range uses {
		order.Arrows = append(order.Arrows, Arrow{key[0], key[1], slices.Sorted(maps.Keys(names))})
	}
	slices.SortFunc(order.Arrows, func(a, b Arrow) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	order.Files = arrange(slices.Sorted(maps.Keys(files)), order.Arrows)
	at := map[string]int{}
	for i, f := range order.Files {
		at[f] = i
	}
	for _, a := range order.Arrows {
		if at[a.From] > at[a.To] {
			order.Up = append(order.Up, a)
		}
	}
	return order
}

// shared reports true for names that other files of a package can use: those of the package, methods, and fields.
func shared(o types.Object) bool {
	switch o := o.(type) {
	case *types.Var:
		return o.IsField() || o.Parent() == o.Pkg().Scope()
	case *types.Func:
		return true
	case *types.TypeName, *types.Const:
		return o.Parent() == o.Pkg().Scope()
	}
	return false
}

// origin returns the declared object of a field or a method of an instance of a generic type, and every other object itself.
func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Var:
		return o.Origin()
	case *types.Func:
		return o.Origin()
	}
	return o
}

// receiver reports true for the type in the receiver of a method: a type whose methods are in several files is no use of the file that declares the
// type, but what the methods touch is.
func receiver(f *ast.File, id *ast.Ident) bool {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && fn.Recv != nil && fn.Recv.Pos() <= id.Pos() && id.Pos() < fn.Recv.End() {
			return true
		}
	}
	return false
}

// arrange puts files in an order with few arrows up. Sinks go to the end and sources to the front, as long as there are some; of what is left,
// the file with most arrows out and fewest in is next. Then files change their places as long as that makes fewer arrows up.
func arrange(files []string, arrows []Arrow) []string {
	left := slices.Clone(files)
	var front, back []string
	degree := func(f string) (out, in int) {
		for _, a := range arrows {
			if slices.Contains(left, a.From) && slices.Contains(left, a.To) {
				if a.From == f {
					out++
				}
				if a.To == f {
					in++
				}
			}
		}
		return out, in
	}
	for len(left) > 0 {
		best, most, sink := 0, -1<<30, false
		for i, f := range left {
			out, in := degree(f)
			if out == 0 {
				best, sink = i, true
				break
			}
			if d := out - in; in == 0 || d > most {
				best, most = i, d
				if in == 0 {
					most = 1 << 30
				}
			}
		}
		f := left[best]
		left = slices.Delete(left, best, best+1)
		if sink {
			back = append(back, f)
		} else {
			front = append(front, f)
		}
	}
	slices.Reverse(back)
	return settle(append(front, back...), arrows)
}

// settle moves single files to better places until none has one.
func settle(order []string, arrows []Arrow) []string {
	up := func(order []string) (n int) {
		at := make(map[string]int, len(order))
		for i, f := range order {
			at[f] = i
		}
		for _, a := range arrows {
			if at[a.From] > at[a.To] {
				n++
			}
		}
		return n
	}
	now := up(order)
	for better := true; better && now > 0; {
		better = false
		for i := range order {
			for j := range order {
				moved := slices.Clone(order)
				f := moved[i]
				moved = slices.Insert(slices.Delete(moved, i, i+1), j, f)
				if n := up(moved); n < now {
					order, now, better = moved, n, true
				}
			}
		}
	}
	return order
}
