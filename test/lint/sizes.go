package lint

import (
	"fmt"
	"go/ast"
	"path"
	"strings"
)

// What fits a reader: a file of one idea, a function on one screen, an interface one can remember.
// The limits are far above the median of the tree (113 lines a file, 9 a function): only what has grown past one idea
// reaches them.
const (
	fileLinesMax        = 900 // lines
	functionLinesMax    = 90  // lines, with the signature
	interfaceMethodsMax = 8   // with those of embedded interfaces
	parametersMax       = 5   // without a leading context
	mainLinesMax        = 70  // of a main.go below cmd
)

// Sizes names each file, function and parameter list that is too long. Parameters of
// tests and methods do not count a context.
// Lines include comments, so that a limit is no reason to leave them out.
func Sizes(files []*File) (bad []string) {
	for _, f := range files {
		// Tests count too: they are read as well.
		if f.Lines > fileLinesMax {
			bad = append(bad, fmt.Sprintf("%s has %d lines, the most is %d: it has more than one idea", f.Path, f.Lines, fileLinesMax))
		}
		if strings.HasPrefix(f.Path, "cmd/") && path.Base(f.Path) == "main.go" && f.Lines > mainLinesMax {
			bad = append(bad, fmt.Sprintf("%s has %d lines, the most is %d: a main only assembles", f.Path, f.Lines, mainLinesMax))
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			at := func() string { return f.at(n) } // only findings pay for the position
			switch n := n.(type) {
			case *ast.FuncDecl:
				if lines := f.line(n.End()) - f.line(n.Pos()) + 1; lines > functionLinesMax {
					bad = append(bad, fmt.Sprintf("%s: %s has %d lines, the most is %d", at(), n.Name.Name, lines, functionLinesMax))
				}
				// Test helpers may take what they want.
				if count := parameters(n.Type); count > parametersMax && !f.Test {
					bad = append(bad, fmt.Sprintf("%s: %s has %d parameters, the most is %d: use an options struct", at(), n.Name.Name, count, parametersMax))
				}
			}
			return true
		})
	}
	return bad
}

// parameters counts all but a leading context.
// Names that share a type count one by one; a parameter without a name counts as one.
func parameters(t *ast.FuncType) (count int) {
	for i, p := range t.Params.List {
		if s, ok := p.Type.(*ast.SelectorExpr); ok && i == 0 && s.Sel.Name == "Context" {
			continue
		}
		count += max(1, len(p.Names))
	}
	return count
}
