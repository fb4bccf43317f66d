package lint

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
)

// hostWords are parts of names of what an address is made of, and portWord of what it ends in.
var (
	hostWords = regexp.MustCompile(`(?i)(host|addr|port|^ip$)`)
	portWord  = regexp.MustCompile(`(?i)port`)
)

// joined are formats that put two values together with a colon.
var joined = regexp.MustCompile(`%[sv]:%[dsv]`)

// Addresses returns the places that put host and port together by hand. An IPv6 address needs brackets, which
// net.JoinHostPort adds.
func Addresses(files []*File) (findings []string) {
	for _, f := range files {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			byHand := false
			switch n := n.(type) {
			case *ast.BinaryExpr:
				// a + ":" + b is (a + ":") + b.
				left, ok := n.X.(*ast.BinaryExpr)
				byHand = ok && n.Op == token.ADD && left.Op == token.ADD && isText(left.Y, ":") && (named(lastOf(left.X), hostWords) || named(n.Y, portWord))
			case *ast.CallExpr:
				if len(n.Args) > 1 {
					format, ok := literal(n.Args[0])
					byHand = ok && joined.MatchString(format) && slices.ContainsFunc(n.Args[1:], func(e ast.Expr) bool { return named(e, hostWords) })
				}
			}
			if byHand {
				findings = append(findings, f.at(n)+": host and port are put together by hand: net.JoinHostPort has brackets for IPv6")
			}
			return true
		})
	}
	slices.Sort(findings)
	return findings
}

// isText reports whether an expression is this text.
func isText(e ast.Expr, want string) bool {
	text, ok := literal(e)
	return ok && text == want
}

// lastOf returns the last part of a sum.
func lastOf(e ast.Expr) ast.Expr {
	if sum, ok := e.(*ast.BinaryExpr); ok {
		return sum.Y
	}
	return e
}

// named reports true for a variable, a field or a call whose name, or that of an argument, has one of the words.
func named(e ast.Expr, words *regexp.Regexp) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return words.MatchString(e.Name)
	case *ast.SelectorExpr:
		return words.MatchString(e.Sel.Name)
	case *ast.CallExpr:
		return named(e.Fun, words) || slices.ContainsFunc(e.Args, func(a ast.Expr) bool { return named(a, words) })
	}
	return false
}
