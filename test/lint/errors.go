package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
)

// operation is the form of an error's operation: package and verb, with subjects of a command in between.
var operation = regexp.MustCompile(`^[a-z][a-z0-9]*(\.[a-z][a-z0-9-]*)*\.[A-Z][A-Za-z0-9]*$`)

// logMethods are the methods of a logger that take keys and values.
var logMethods = map[string]bool{"Debug": true, "Info": true, "Warn": true, "Error": true, "Log": true, "With": true}

// logKeys are keys that were used for an error beside "error".
var logKeys = map[string]bool{"err": true, "cause": true, "reason": true}

// Errors names each error whose operation has another form than package.Verb, and each log line that gives an error
// under another key than "error".
// The source is not type-checked: the names of the package and of the methods decide.
func Errors(files []*File) (bad []string) {
	for _, f := range files {
		if f.Test {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok {
				if op, ok := opOf(lit); ok && !operation.MatchString(op) {
					bad = append(bad, fmt.Sprintf("%s: the operation %q is not of the form package.Verb", f.at(n), op))
				}
			}
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			// Of New the second argument is the operation, and of Wrap too.
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "errs" && (sel.Sel.Name == "New" || sel.Sel.Name == "Wrap") && len(call.Args) > 1 {
				// An operation that is computed cannot be judged here.
				if op, ok := literal(call.Args[1]); ok && !operation.MatchString(op) {
					bad = append(bad, fmt.Sprintf("%s: the operation %q is not of the form package.Verb", f.at(n), op))
				}
			}
			// Any type with such a method is taken for a logger: few others take a text and pairs of arguments.
			if logMethods[sel.Sel.Name] && len(call.Args) > 2 {
				for _, a := range call.Args[1:] { // behind the message
					if key, ok := literal(a); ok && logKeys[key] {
						bad = append(bad, fmt.Sprintf("%s: a log line has the key %q; an error's key is \"error\"", f.at(n), key))
					}
				}
			}
			return true
		})
	}
	return bad
}

// opOf returns the operation that a literal of errs.Error gives.
// An operation that is computed is not judged.
func opOf(lit *ast.CompositeLit) (string, bool) {
	sel, ok := lit.Type.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Error" {
		return "", false
	}
	if x, ok := sel.X.(*ast.Ident); !ok || x.Name != "errs" {
		return "", false
	}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Op" {
				return literal(kv.Value)
			}
		}
	}
	return "", false
}

// literal returns the value of a string literal.
// Constants and expressions are no literals.
func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(l.Value)
	return s, err == nil
}
