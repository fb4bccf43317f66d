package lint

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// Goroutines returns the places in sequential packages that start a goroutine. The tests of such packages need no race detector, which makes
// exhaustive tests ten times slower: scripts/test.sh runs them without. Tests that use a rule from several goroutines have Concurrent
// in their name, and run under the race detector too.
func Goroutines(files []*File) (findings []string) {
	for _, f := range files {
		if !sequential(f.Package) {
			continue
		}
		// Each function with its body, so that the name of a test is known.
		for _, d := range f.AST.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if f.Test && ok && strings.Contains(fn.Name.Name, "Concurrent") {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if starts(n) {
					findings = append(findings, fmt.Sprintf("%s: this package starts no goroutine, and a test that does has Concurrent in its name: "+
						"the others run without the race detector", f.at(n)))
				}
				return true
			})
		}
	}
	slices.Sort(findings)
	return findings
}

// sequential reports true for packages without goroutines: rules, which are pure functions, and those that compute and draw results. The function
// unit of scripts/test.sh has the same list.
func sequential(dir string) bool {
	level, _, ok := placeOf(dir)
	return ok && rows[level].name == "rules" || slices.Contains([]string{"measure/report", "measure/reference", "measure/stats"}, dir)
}

// starts reports true for a go statement, for Go of a group, and for tests that run at the same time.
func starts(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		selected, ok := n.Fun.(*ast.SelectorExpr)
		return ok && (selected.Sel.Name == "Go" || selected.Sel.Name == "Parallel")
	}
	return false
}
