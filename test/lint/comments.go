package lint

import (
	"fmt"
	"sort"
)

const (
	// taughtLinesMin is the size of a package whose doc comment must teach, and taughtDocMin how many lines that takes.
	taughtLinesMin = 1000
	taughtDocMin   = 15
)

// Comments names each large package whose doc comment is too short to teach.
//
// A share of comments is not asked for: it was filled up with lines that say nothing. Whether a comment is worth reading remains for people.
func Comments(files []*File) (bad []string) {
	type size struct{ lines, doc int } // doc is the length of the package's doc comment
	packages := map[string]*size{}
	for _, f := range files {
		// Names and failures of tests say what they prove.
		if f.Test {
			continue
		}
		p := packages[f.Package]
		if p == nil {
			p = &size{}
			packages[f.Package] = p
		}
		p.lines += f.Lines
		// A doc comment may be spread over files; all of it counts.
		if f.AST.Doc != nil {
			p.doc += f.line(f.AST.Doc.End()) - f.line(f.AST.Doc.Pos()) + 1
		}
	}
	for name, p := range packages {
		if p.lines >= taughtLinesMin && p.doc < taughtDocMin {
			bad = append(bad, fmt.Sprintf("package %s has %d lines and a doc comment of %d, the least is %d: teach the problem, the invariants, the locks",
				name, p.lines, p.doc, taughtDocMin))
		}
	}
	// Maps have no order.
	sort.Strings(bad)
	return bad
}
