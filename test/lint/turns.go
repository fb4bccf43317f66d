package lint

import (
	"go/ast"
	"go/token"
	"slices"
)

// Turns returns the deferred receives that release a lock made of a channel with one slot. A wait for such a lock ends with a context only
// where each caller writes a select for it, and the analyzer of locks does not know it: platform/turn is for that.
func Turns(files []*File) (bad []string) {
	slots := map[string]bool{} // channels with one slot, by "directory.name"
	for _, f := range files {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				slots[f.Package+"."+lastName(n.Key)] = slots[f.Package+"."+lastName(n.Key)] || isSlot(n.Value)
			case *ast.AssignStmt:
				for i, value := range n.Rhs {
					if i < len(n.Lhs) && isSlot(value) {
						slots[f.Package+"."+lastName(n.Lhs[i])] = true
					}
				}
			}
			return true
		})
	}
	for _, f := range files {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if d, ok := n.(*ast.DeferStmt); ok {
				if name := received(d.Call); name != "" && slots[f.Package+"."+name] {
					bad = append(bad, f.at(d)+": "+name+" is a lock made of a channel: use platform/turn, whose wait ends with a context")
				}
			}
			return true
		})
	}
	slices.Sort(bad)
	return bad
}

// isSlot reports whether an expression makes a channel of empty structs with one slot.
func isSlot(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 2 || lastName(call.Fun) != "make" {
		return false
	}
	of, ok := call.Args[0].(*ast.ChanType)
	if !ok {
		return false
	}
	empty, ok := of.Value.(*ast.StructType)
	size, one := call.Args[1].(*ast.BasicLit)
	return ok && len(empty.Fields.List) == 0 && one && size.Value == "1"
}

// received returns the name of the channel that a function literal receives from, if it does nothing else.
func received(call *ast.CallExpr) string {
	fn, ok := call.Fun.(*ast.FuncLit)
	if !ok || len(fn.Body.List) != 1 {
		return ""
	}
	statement, ok := fn.Body.List[0].(*ast.ExprStmt)
	if !ok {
		return ""
	}
	receive, ok := statement.X.(*ast.UnaryExpr)
	if !ok || receive.Op != token.ARROW {
		return ""
	}
	return lastName(receive.X)
}

// lastName returns the name of a variable or a field.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
